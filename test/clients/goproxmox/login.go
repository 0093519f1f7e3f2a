package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	proxmox "github.com/luthermonson/go-proxmox"

	"github.com/proxplane/proxplane/test/clients/rawapi"
)

const tokenName = "goproxmox"

func (s *story) loginSteps() []step {
	return []step{
		{"refuse a wrong password", s.wrongPassword},
		{"log in with the password", s.login},
		{"renew the ticket", func(ctx context.Context) error { return s.client.RefreshTicket(ctx) }},
		{"make an API token and use it", s.token},
		{"read permissions", s.permissions},
		{"list nodes and the cluster", s.cluster},
		{"let a user without rights do nothing", s.powerless},
		{"make a pool", s.pool},
	}
}

func (s *story) wrongPassword(ctx context.Context) error {
	c := proxmox.NewClient(s.url+"/api2/json", proxmox.WithInsecureSkipVerify(),
		proxmox.WithCredentials(&proxmox.Credentials{Username: s.user, Password: "not " + s.password}))
	if _, err := c.Version(ctx); !errors.Is(err, proxmox.ErrNotAuthorized) {
		return fmt.Errorf("got %v, expected %w", err, proxmox.ErrNotAuthorized)
	}
	return nil
}

func (s *story) login(ctx context.Context) error {
	s.client = proxmox.NewClient(s.url+"/api2/json", proxmox.WithInsecureSkipVerify(),
		proxmox.WithCredentials(&proxmox.Credentials{Username: s.user, Password: s.password}))
	version, err := s.client.Version(ctx)
	if err != nil {
		return err
	}
	var raw rawapi.Object
	if err := s.raw.Get(ctx, "/version", &raw); err != nil {
		return err
	}
	if version.Release == "" || version.Release != raw.Text("release") {
		return fmt.Errorf("release %q, over the plain API %q", version.Release, raw.Text("release"))
	}
	return nil
}

func (s *story) token(ctx context.Context) error {
	user, err := s.client.User(ctx, s.user)
	if err != nil {
		return err
	}
	token, err := user.NewAPIToken(ctx, proxmox.Token{TokenID: tokenName, Comment: "for a test & more"})
	if err != nil {
		return err
	}
	var raw rawapi.Object
	if err := s.raw.Get(ctx, "/access/users/"+s.user+"/token/"+tokenName, &raw); err != nil {
		return err
	}
	if raw.Text("comment") != "for a test & more" || raw.Text("privsep") != "0" {
		return fmt.Errorf("the token is %v", raw)
	}
	s.client = proxmox.NewClient(s.url+"/api2/json", proxmox.WithInsecureSkipVerify(),
		proxmox.WithAPIToken(token.FullTokenID, token.Value))
	_, err = s.client.Version(ctx)
	return err
}

func (s *story) permissions(ctx context.Context) error {
	all, err := s.client.Permissions(ctx, nil)
	if err != nil {
		return err
	}
	if !all["/"]["VM.Allocate"] {
		return fmt.Errorf("root's token lacks VM.Allocate on /: %v", all["/"])
	}
	return nil
}

func (s *story) cluster(ctx context.Context) error {
	nodes, err := s.client.Nodes(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, n := range nodes {
		if n.Status != "online" {
			return fmt.Errorf("node %s is %s", n.Node, n.Status)
		}
		names = append(names, n.Node)
	}
	slices.Sort(names)
	if s.node, err = s.client.Node(ctx, names[0]); err != nil {
		return err
	}
	if s.node.Memory.Total == 0 || s.node.CPUInfo.CPUs == 0 || len(s.node.LoadAvg) != 3 {
		return fmt.Errorf("node %s has no figures: %+v", names[0], s.node)
	}
	cluster, err := s.client.Cluster(ctx)
	if err != nil {
		return err
	}
	if len(cluster.Nodes) != len(names) || cluster.Quorate != 1 {
		return fmt.Errorf("cluster with %d nodes, quorate %d", len(cluster.Nodes), cluster.Quorate)
	}
	resources, err := cluster.Resources(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(resources, func(r *proxmox.ClusterResource) bool { return r.ID == "node/"+name }) {
			return fmt.Errorf("node %s is not among the cluster's resources", name)
		}
	}
	return nil
}

func (s *story) powerless(ctx context.Context) error {
	const id, password = "powerless@pve", "correct horse battery"
	if err := s.client.NewUser(ctx, &proxmox.NewUser{UserID: id, Password: password, Enable: true}); err != nil {
		return err
	}
	user, err := s.client.User(ctx, id)
	if err != nil {
		return err
	}
	c := proxmox.NewClient(s.url+"/api2/json", proxmox.WithInsecureSkipVerify(),
		proxmox.WithCredentials(&proxmox.Credentials{Username: id, Password: password}))
	node := (&proxmox.Node{}).New(c, s.node.Name)
	if _, err := node.NewVirtualMachine(ctx, 999, proxmox.VirtualMachineOption{Name: "memory", Value: 512}); !errors.Is(err, proxmox.ErrNotAuthorized) {
		return fmt.Errorf("create got %v, expected %w", err, proxmox.ErrNotAuthorized)
	}
	vms, err := node.VirtualMachines(ctx)
	if err != nil {
		return err
	}
	if len(vms) != 0 {
		return fmt.Errorf("it sees %d VMs", len(vms))
	}
	return user.Delete(ctx)
}

func (s *story) pool(ctx context.Context) error {
	if err := s.client.NewPool(ctx, "goproxmox", "a pool"); err != nil {
		return err
	}
	var raw []rawapi.Object
	if err := s.raw.Get(ctx, "/pools?poolid=goproxmox", &raw); err != nil {
		return err
	}
	if len(raw) != 1 || raw[0].Text("comment") != "a pool" {
		return fmt.Errorf("the pool is %v", raw)
	}
	return nil
}
