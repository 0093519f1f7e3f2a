package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	proxmox "github.com/luthermonson/go-proxmox"

	"github.com/proxplane/proxplane/test/clients/rawapi"
)

type options = []proxmox.VirtualMachineOption

func (s *story) vmSteps() []step {
	return []step{
		{"create a VM", s.create},
		{"see that its id is taken", s.taken},
		{"change its config in a task", s.change},
		{"change its config at once", s.changeSync},
		{"add and remove a tag", s.tags},
		{"add a disk", s.addDisk},
		{"grow a disk", s.resize},
		{"move a disk to the shared storage", s.moveDisk},
		{"detach and remove a disk", s.unlink},
		{"put it into the pool", s.join},
		{"attach cloud-init data as an ISO", s.cloudInit},
		{"read the cloud-init drive", s.cloudInitDump},
	}
}

func (s *story) create(ctx context.Context) error {
	cluster, err := s.client.Cluster(ctx)
	if err != nil {
		return err
	}
	vmid, err := cluster.NextID(ctx)
	if err != nil {
		return err
	}
	task, err := s.node.NewVirtualMachine(ctx, vmid, options{
		{Name: "name", Value: "goproxmox"},
		{Name: "memory", Value: 2048},
		{Name: "cores", Value: 2},
		{Name: "cpu", Value: "host"},
		{Name: "ostype", Value: "l26"},
		{Name: "scsihw", Value: "virtio-scsi-single"},
		{Name: "scsi0", Value: "local-lvm:8,iothread=1,discard=on"},
		{Name: "ide2", Value: "local-lvm:cloudinit"},
		{Name: "ide3", Value: "local:iso/" + uploaded + ",media=cdrom"},
		{Name: "net0", Value: "virtio=BC:24:11:00:10:01,bridge=vmbr0,firewall=1"},
		{Name: "ipconfig0", Value: "ip=192.0.2.30/24,gw=192.0.2.1"},
		{Name: "ciuser", Value: "ubuntu"},
		{Name: "cipassword", Value: "secret = & ;"},
		{Name: "sshkeys", Value: proxmox.EncodeSSHKeys("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPQ1bxyrPUVnAGJtsGWAN/hhyCZvOlPRzHZ4kp1yfSL a+b@example.com")},
		{Name: "boot", Value: "order=scsi0"},
		{Name: "onboot", Value: false},
		{Name: "description", Value: "first line\nsecond ä & = ;"},
		{Name: "tags", Value: "Zeta,alpha"},
	}...)
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	if s.vm, err = s.node.VirtualMachine(ctx, vmid); err != nil {
		return err
	}
	if s.vm.Name != "goproxmox" || !s.vm.IsStopped() || s.vm.VirtualMachineConfig.Memory != 2048 {
		return fmt.Errorf("the library sees %q, %q, %d MiB", s.vm.Name, s.vm.Status, s.vm.VirtualMachineConfig.Memory)
	}
	return s.config(ctx, s.vm, map[string]string{
		"name": "goproxmox", "memory": "2048", "cores": "2", "cpu": "host", "onboot": "0",
		"scsi0":       fmt.Sprintf("local-lvm:vm-%d-disk-0,discard=on,iothread=1,size=8G", vmid),
		"net0":        "virtio=BC:24:11:00:10:01,bridge=vmbr0,firewall=1",
		"ipconfig0":   "ip=192.0.2.30/24,gw=192.0.2.1",
		"cipassword":  "**********",
		"description": "first line\nsecond ä & = ;",
		"tags":        "alpha;zeta",
	})
}

func (s *story) taken(ctx context.Context) error {
	cluster, err := s.client.Cluster(ctx)
	if err != nil {
		return err
	}
	free, err := cluster.CheckID(ctx, int(s.vm.VMID))
	if err != nil {
		return err
	}
	if free {
		return fmt.Errorf("id %d is said to be free", s.vm.VMID)
	}
	_, err = s.node.NewVirtualMachine(ctx, int(s.vm.VMID))
	if err == nil || !strings.Contains(err.Error(), "already exists") {
		return fmt.Errorf("a second create got %v", err)
	}
	return nil
}

func (s *story) change(ctx context.Context) error {
	task, err := s.vm.Config(ctx, options{{Name: "cores", Value: 4}, {Name: "memory", Value: "4096"}, {Name: "balloon", Value: 1024}}...)
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	return s.config(ctx, s.vm, map[string]string{"cores": "4", "memory": "4096", "balloon": "1024"})
}

func (s *story) changeSync(ctx context.Context) error {
	err := s.vm.ConfigSync(ctx, options{
		{Name: "name", Value: "renamed"}, {Name: "delete", Value: "description,ide3"}, {Name: "agent", Value: "enabled=1,fstrim_cloned_disks=1"},
	}...)
	if err != nil {
		return err
	}
	if err := s.vm.Ping(ctx); err != nil {
		return err
	}
	if s.vm.Name != "renamed" {
		return fmt.Errorf("the library sees the name %q", s.vm.Name)
	}
	return s.config(ctx, s.vm, map[string]string{"name": "renamed", "description": "", "ide3": "", "agent": "enabled=1,fstrim_cloned_disks=1"})
}

func (s *story) tags(ctx context.Context) error {
	task, err := s.vm.AddTag(ctx, "more")
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	if err := s.config(ctx, s.vm, map[string]string{"tags": "alpha;more;zeta"}); err != nil {
		return err
	}
	task, err = s.vm.RemoveTag(ctx, "zeta")
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	return s.config(ctx, s.vm, map[string]string{"tags": "alpha;more"})
}

func (s *story) addDisk(ctx context.Context) error {
	task, err := s.vm.Config(ctx, proxmox.VirtualMachineOption{Name: "scsi1", Value: "local-lvm:2"})
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	// The cloud-init drive has a name of its own, so this is disk 1.
	return s.config(ctx, s.vm, map[string]string{"scsi1": fmt.Sprintf("local-lvm:vm-%d-disk-1,size=2G", s.vm.VMID)})
}

func (s *story) resize(ctx context.Context) error {
	task, err := s.vm.ResizeDisk(ctx, "scsi0", "+4G")
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	if err := s.diskSize(ctx, "scsi0", "12G"); err != nil {
		return err
	}
	task, err = s.vm.ResizeDisk(ctx, "scsi0", "16G")
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	if task, err = s.vm.ResizeDisk(ctx, "scsi0", "1G"); err == nil {
		err = wait(ctx, task, nil)
	}
	if err == nil {
		return fmt.Errorf("a disk shrank")
	}
	return s.diskSize(ctx, "scsi0", "16G")
}

func (s *story) diskSize(ctx context.Context, disk, want string) error {
	config, err := s.raw.VM(ctx, s.vm.Node, int(s.vm.VMID))
	if err != nil {
		return err
	}
	if !slices.Contains(strings.Split(config.Text(disk), ","), "size="+want) {
		return fmt.Errorf("%s is %q, expected size %s", disk, config.Text(disk), want)
	}
	return nil
}

func (s *story) moveDisk(ctx context.Context) error {
	task, err := s.vm.MoveDisk(ctx, "scsi1", &proxmox.VirtualMachineMoveDiskOptions{Storage: "nfs", Format: "qcow2", Delete: true})
	if err := wait(ctx, task, err); err != nil {
		return err
	}
	return s.config(ctx, s.vm, map[string]string{
		"scsi1": fmt.Sprintf("nfs:%d/vm-%d-disk-0.qcow2,size=2G", s.vm.VMID, s.vm.VMID), "unused0": "",
	})
}

func (s *story) unlink(ctx context.Context) error {
	// Proxmox answers at once here, so there is no task to wait for.
	if _, err := s.vm.UnlinkDisk(ctx, "scsi1", false); err != nil {
		return err
	}
	volume := fmt.Sprintf("nfs:%d/vm-%d-disk-0.qcow2", s.vm.VMID, s.vm.VMID)
	if err := s.config(ctx, s.vm, map[string]string{"scsi1": "", "unused0": volume}); err != nil {
		return err
	}
	if _, err := s.vm.UnlinkDisk(ctx, "unused0", true); err != nil {
		return err
	}
	if err := s.config(ctx, s.vm, map[string]string{"unused0": ""}); err != nil {
		return err
	}
	var content []rawapi.Object
	if err := s.raw.Get(ctx, fmt.Sprintf("/nodes/%s/storage/nfs/content?vmid=%d", s.vm.Node, s.vm.VMID), &content); err != nil {
		return err
	}
	if len(content) != 0 {
		return fmt.Errorf("still on the storage: %v", content)
	}
	return nil
}

func (s *story) join(ctx context.Context) error {
	pool, err := s.client.Pool(ctx, "goproxmox")
	if err != nil {
		return err
	}
	if err := pool.Update(ctx, &proxmox.PoolUpdateOption{VirtualMachines: fmt.Sprint(uint64(s.vm.VMID)), Comment: "with a VM"}); err != nil {
		return err
	}
	if pool, err = s.client.Pool(ctx, "goproxmox"); err != nil {
		return err
	}
	if len(pool.Members) != 1 || pool.Members[0].VMID != uint64(s.vm.VMID) || pool.Comment != "with a VM" {
		return fmt.Errorf("the pool is %+v", pool)
	}
	return nil
}

func (s *story) cloudInit(ctx context.Context) error {
	if err := s.vm.Ping(ctx); err != nil {
		return err
	}
	err := s.vm.CloudInit(ctx, "ide0", "#cloud-config\nhostname: story\n", "instance-id: story\n", "", "", proxmox.WithCloudInitStorage("local"))
	if err != nil {
		return err
	}
	config, err := s.raw.VM(ctx, s.vm.Node, int(s.vm.VMID))
	if err != nil {
		return err
	}
	volume := fmt.Sprintf("local:iso/user-data-%d.iso", s.vm.VMID)
	if !strings.HasPrefix(config.Text("ide0"), volume+",") || config.Text("boot") != "order=scsi0;ide0" {
		return fmt.Errorf("ide0 is %q, boot is %q", config.Text("ide0"), config.Text("boot"))
	}
	return nil
}

func (s *story) cloudInitDump(ctx context.Context) error {
	if err := s.vm.CloudInitRegenerate(ctx); err != nil {
		return err
	}
	user, err := s.vm.CloudInitDump(ctx, "user")
	if err != nil {
		return err
	}
	network, err := s.vm.CloudInitDump(ctx, "network")
	if err != nil {
		return err
	}
	if !strings.Contains(user, "user: ubuntu") || !strings.Contains(network, "192.0.2.30") {
		return fmt.Errorf("user data is\n%s\nnetwork is\n%s", user, network)
	}
	return nil
}
