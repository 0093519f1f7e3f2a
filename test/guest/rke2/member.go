//go:build linux

package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// etcdURL is where a control plane reaches its own etcd.
const etcdURL = "http://127.0.0.1:2379"

// peerURL is where the members of etcd reach each other.
func peerURL(address string) string { return "http://" + address + ":2380" }

// etcd starts the member of this machine: the first one, one that joins, or one that has been there before.
func (c *config) etcd(f *family, own string) error {
	all, state := c.Name+"="+peerURL(own), "new"
	_, err := os.Stat(etcdData + "/member")
	joins := err != nil && c.Server != ""
	if joins {
		state = "existing"
		again(func() error { return c.supervisor(c.Server, "/member/"+c.Name+"/"+own, &all) })
	}
	f.start("etcd", "--data-dir", etcdData, "--name", c.Name, "--listen-client-urls", etcdURL+",http://"+own+":2379", "--advertise-client-urls", "http://"+own+":2379",
		"--listen-peer-urls", peerURL(own), "--initial-advertise-peer-urls", peerURL(own), "--initial-cluster", all, "--initial-cluster-state", state,
		"--heartbeat-interval=500", "--election-timeout=5000", "--log-level=warn")
	if joins {
		again(func() error { return c.supervisor(c.Server, "/promote/"+c.Name, new(string)) })
	}
	return nil
}

// inherit gets the cluster's authority from the control plane that is there.
func (c *config) inherit() error {
	var files map[string]string
	if err := c.supervisor(c.Server, "/authority", &files); err != nil {
		return err
	}
	errs := []error{os.MkdirAll(certs, 0o700)}
	for name, text := range files {
		errs = append(errs, os.WriteFile(file(name), []byte(text), 0o600))
	}
	return errors.Join(errs...)
}

// authority is what all control planes have in common.
func authority() (map[string]string, error) {
	files := map[string]string{}
	for _, name := range []string{"service.key", "server-ca.key", "server-ca.crt"} {
		text, err := os.ReadFile(file(name))
		if err != nil {
			return nil, err
		}
		files[name] = string(text)
	}
	return files, nil
}

// member is a member of etcd.
type member struct {
	ID        string   `json:"ID"`
	Name      string   `json:"name"`
	PeerURLs  []string `json:"peerURLs"`
	IsLearner bool     `json:"isLearner"`
}

// etcdCall asks the etcd of this machine.
func etcdCall(what string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: time.Minute}
	res, err := client.Post(etcdURL+"/v3/cluster/member/"+what, "application/json", bytes.NewReader(text))
	if err != nil {
		return err
	}
	return decode(res, into)
}

// decode reads an answer in JSON.
func decode(res *http.Response, into any) error {
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return err
	case res.StatusCode >= http.StatusMultipleChoices:
		return fmt.Errorf("%s: %s", res.Status, text)
	case into == nil:
		return nil
	}
	return json.Unmarshal(text, into)
}

func members() ([]member, error) {
	var all struct {
		Members []member `json:"members"`
	}
	return all.Members, etcdCall("list", struct{}{}, &all)
}

// addMember lets a machine be a member that doesn't vote yet, and gives all members as etcd is told them when it starts. A machine that
// asks again is the member that it was to be.
func addMember(name, address string) (string, error) {
	all, err := members()
	if err != nil {
		return "", err
	}
	at := peerURL(address)
	if i := slices.IndexFunc(all, func(m member) bool { return m.Name == name && !slices.Contains(m.PeerURLs, at) }); i >= 0 {
		return "", fmt.Errorf("etcd has a member %s already, at %s", name, all[i].PeerURLs)
	}
	if !slices.ContainsFunc(all, func(m member) bool { return slices.Contains(m.PeerURLs, at) }) {
		var added struct {
			Members []member `json:"members"`
		}
		if err := etcdCall("add", map[string]any{"peerURLs": []string{at}, "isLearner": true}, &added); err != nil {
			return "", err
		}
		all = added.Members
	}
	var list []string
	for _, m := range all {
		if slices.Contains(m.PeerURLs, at) {
			m.Name = name // it says so itself once it has started
		}
		list = append(list, m.Name+"="+m.PeerURLs[0])
	}
	return strings.Join(list, ","), nil
}

// promote has a member vote once it has what the others have.
func promote(name string) (string, error) {
	all, err := members()
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(all, func(m member) bool { return m.Name == name })
	switch {
	case i < 0:
		return "", fmt.Errorf("etcd on %s hasn't started", name)
	case all[i].IsLearner:
		err = etcdCall("promote", map[string]string{"ID": all[i].ID}, nil)
	}
	return name, err
}

// finalizer keeps the node of a control plane until its member of etcd is gone, as RKE2's does.
const finalizer = "wrangler.cattle.io/managed-etcd-controller"

// watchMembers removes the members of etcd whose nodes are deleted, and lets the nodes go.
func (c *config) watchMembers() {
	for {
		time.Sleep(3 * time.Second)
		if err := c.dropDeleted(); err != nil {
			fmt.Println("members of etcd:", err)
		}
	}
}

func (c *config) dropDeleted() error {
	var list struct {
		Items []struct {
			Metadata struct {
				Name              string
				DeletionTimestamp string
				Finalizers        []string
			}
		}
	}
	if err := api(http.MethodGet, "/api/v1/nodes", "", "", &list); err != nil {
		return err
	}
	for _, n := range list.Items {
		name := n.Metadata.Name
		if n.Metadata.DeletionTimestamp == "" || !slices.Contains(n.Metadata.Finalizers, finalizer) || name == c.Name {
			continue
		}
		all, err := members()
		if err != nil {
			return err
		}
		for _, m := range all {
			if m.Name == name {
				fmt.Println("removing a member of etcd:", name)
				if err := etcdCall("remove", map[string]string{"ID": m.ID}, nil); err != nil {
					return err
				}
			}
		}
		if err := api(http.MethodPatch, "/api/v1/nodes/"+name, "application/merge-patch+json", `{"metadata": {"finalizers": null}}`, nil); err != nil {
			return err
		}
	}
	return nil
}

// api asks the API server of this machine as an administrator: a kubectl takes seconds to start in an emulated machine.
func api(method, path, kind, body string, into any) error {
	cert, err := tls.LoadX509KeyPair(file("client-admin.crt"), file("client-admin.key"))
	if err != nil {
		return err
	}
	req, err := http.NewRequest(method, "https://127.0.0.1:6443"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", kind)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{cert}}, DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	return decode(res, into)
}
