package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	proxmox "github.com/luthermonson/go-proxmox"
)

func (s *story) cloneSteps() []step {
	return []step{
		{"clone the template", s.cloneTemplate},
		{"start the clone and wait for its agent", s.agent},
		{"read its address from the agent", s.address},
		{"run a command in it", s.exec},
		{"shut it down", s.shutdown},
		{"make a template of it", s.makeTemplate},
		{"make a linked clone", s.linkedClone},
		{"keep a template that is in use", s.templateInUse},
		{"migrate a VM to another node", s.migrate},
		{"migrate it back while it runs", s.migrateLive},
	}
}

// findTemplate looks for the template by name, wherever it is.
func (s *story) findTemplate(ctx context.Context) (*proxmox.VirtualMachine, error) {
	cluster, err := s.client.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	resources, err := cluster.Resources(ctx, "vm")
	if err != nil {
		return nil, err
	}
	for _, r := range resources {
		if r.Name == s.template && r.Template == 1 {
			node, err := s.client.Node(ctx, r.Node)
			if err != nil {
				return nil, err
			}
			return node.VirtualMachine(ctx, int(r.VMID))
		}
	}
	return nil, fmt.Errorf("no template %q", s.template)
}

func (s *story) cloneTemplate(ctx context.Context) error {
	template, err := s.findTemplate(ctx)
	if err != nil {
		return err
	}
	id, task, err := template.Clone(ctx, &proxmox.VirtualMachineCloneOptions{
		Name: "clone", Description: "a full one", Full: true, Pool: "goproxmox", Storage: "nfs", Format: "qcow2",
	})
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	node, err := s.client.Node(ctx, template.Node)
	if err != nil {
		return err
	}
	if s.clone, err = node.VirtualMachine(ctx, id); err != nil {
		return err
	}
	return s.config(ctx, s.clone, map[string]string{"name": "clone", "description": "a full one", "template": "", "lock": ""})
}

func (s *story) agent(ctx context.Context) error {
	err := s.clone.ConfigSync(ctx, options{
		{Name: "agent", Value: 1}, {Name: "net0", Value: "virtio,bridge=vmbr0"},
		{Name: "ipconfig0", Value: "ip=192.0.2.31/24,gw=192.0.2.1"},
	}...)
	if err != nil {
		return err
	}
	task, err := s.clone.Start(ctx)
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	return s.clone.WaitForAgent(ctx, 120)
}

func (s *story) address(ctx context.Context) error {
	ifaces, err := s.clone.AgentGetNetworkIFaces(ctx)
	if err != nil {
		return err
	}
	for _, iface := range ifaces {
		if slices.ContainsFunc(iface.IPAddresses, func(a *proxmox.AgentNetworkIPAddress) bool { return a.IPAddress == "192.0.2.31" }) {
			_, err := s.clone.AgentOsInfo(ctx)
			return err
		}
	}
	return fmt.Errorf("the agent reports %+v", ifaces)
}

func (s *story) exec(ctx context.Context) error {
	pid, err := s.clone.AgentExec(ctx, []string{"true"}, "")
	if err != nil {
		return err
	}
	status, err := s.clone.WaitForAgentExecExit(ctx, pid, 30)
	if err != nil {
		return err
	}
	if status.ExitCode != 0 {
		return fmt.Errorf("`true` exited with %d", status.ExitCode)
	}
	return nil
}

func (s *story) shutdown(ctx context.Context) error {
	task, err := s.clone.Shutdown(ctx)
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	return s.status(ctx, s.clone, "stopped")
}

func (s *story) makeTemplate(ctx context.Context) error {
	task, err := s.clone.ConvertToTemplate(ctx)
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	s.golden = s.clone
	return s.config(ctx, s.golden, map[string]string{"template": "1"})
}

func (s *story) linkedClone(ctx context.Context) error {
	id, task, err := s.golden.Clone(ctx, &proxmox.VirtualMachineCloneOptions{NewID: 7001, Name: "linked"})
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	node, err := s.client.Node(ctx, s.golden.Node)
	if err != nil {
		return err
	}
	if s.clone, err = node.VirtualMachine(ctx, id); err != nil {
		return err
	}
	config, err := s.raw.VM(ctx, s.clone.Node, id)
	if err != nil {
		return err
	}
	want := fmt.Sprintf("nfs:%[1]d/base-%[1]d-disk-0.qcow2/%[2]d/vm-%[2]d-disk-0.qcow2,", s.golden.VMID, id)
	if !strings.HasPrefix(config.Text("scsi0"), want) {
		return fmt.Errorf("scsi0 is %q, expected %s…", config.Text("scsi0"), want)
	}
	return nil
}

func (s *story) templateInUse(ctx context.Context) error {
	task, err := s.golden.Delete(ctx, &proxmox.VirtualMachineDeleteOptions{})
	if err := wait(ctx, task, err); err == nil {
		return fmt.Errorf("it was destroyed under its linked clone")
	}
	return s.config(ctx, s.golden, map[string]string{"template": "1", "lock": ""})
}

func (s *story) migrate(ctx context.Context) error {
	nodes, err := s.client.Nodes(ctx)
	if err != nil {
		return err
	}
	target := ""
	for _, n := range nodes {
		if n.Node != s.vm.Node {
			target = n.Node
		}
	}
	// The ISO with its cloud-init data is on this node only.
	if err := s.vm.ConfigSync(ctx, proxmox.VirtualMachineOption{Name: "ide0", Value: "none,media=cdrom"}); err != nil {
		return err
	}
	task, err := s.vm.Migrate(ctx, &proxmox.VirtualMachineMigrateOptions{Target: target, WithLocalDisks: true})
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	return s.moved(ctx, target)
}

func (s *story) migrateLive(ctx context.Context) error {
	task, err := s.vm.Start(ctx)
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	task, err = s.vm.Migrate(ctx, &proxmox.VirtualMachineMigrateOptions{Target: s.node.Name, Online: true, WithLocalDisks: true})
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	if err := s.moved(ctx, s.node.Name); err != nil {
		return err
	}
	return s.status(ctx, s.vm, "running")
}

// moved checks that the VM is on the target and nowhere else.
func (s *story) moved(ctx context.Context, target string) error {
	node, err := s.client.Node(ctx, target)
	if err != nil {
		return err
	}
	old := s.vm.Node
	if s.vm, err = node.VirtualMachine(ctx, int(s.vm.VMID)); err != nil {
		return err
	}
	if _, err := s.raw.VM(ctx, old, int(s.vm.VMID)); err == nil {
		return fmt.Errorf("VM %d is still on %s", s.vm.VMID, old)
	}
	return s.config(ctx, s.vm, map[string]string{"name": "renamed"})
}
