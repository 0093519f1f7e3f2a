package pvesim

import (
	"strings"
	"testing"
)

// grantRole gives ann a role of her own on a path.
func (l *lab) grantRole(path string, privs ...string) {
	l.t.Helper()
	role := "r" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(path)) + "x"
	if r := l.get("/access/roles/" + role); r.status == 200 {
		l.must("PUT", "/access/roles/"+role, "privs", strings.Join(privs, ","), "append", "1")
	} else {
		l.must("POST", "/access/roles", "roleid", role, "privs", strings.Join(privs, ","))
	}
	l.must("PUT", "/access/acl", "path", path, "roles", role, "users", "ann@pve")
}

func TestEachOptionNeedsItsPrivilege(t *testing.T) {
	bothReleases(t, func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1", "serial1", "/dev/ttyS0", "net5", "virtio,bridge=vmbr0,tag=7")
		l.grantRole("/vms/100", "VM.Audit", "VM.Config.Options")
		ann := l.login("ann@pve", "secret")
		for _, c := range []struct {
			reason, want string
			options      []string
		}{
			{"CPU", "Permission check failed (/vms/100, VM.Config.CPU)", []string{"cores", "2"}},
			{"NUMA nodes", "Permission check failed (/vms/100, VM.Config.CPU)", []string{"numa0", "cpus=0"}},
			{"memory", "Permission check failed (/vms/100, VM.Config.Memory)", []string{"memory", "128"}},
			{"hardware", "Permission check failed (/vms/100, VM.Config.HWType)", []string{"vga", "std"}},
			{"network", "Permission check failed (/vms/100, VM.Config.Network)", []string{"net0", "virtio"}},
			{"boot order", "Permission check failed (/vms/100, VM.Config.Disk)", []string{"boot", "order=scsi0"}},
			{"cloud-init", "Permission check failed (/vms/100, VM.Config.Cloudinit|VM.Config.Network)", []string{"ciuser", "x"}},
			{"the host's start order", "Permission check failed (/, Sys.Modify)", []string{"startup", "order=1"}},
			{"freezing", "Permission check failed (/vms/100, VM.PowerMgmt)", []string{"freeze", "1"}},
			{"arguments", "only root can set 'args' config", []string{"args", "-s"}},
			{"hook scripts", "only root can set 'hookscript' config", []string{"hookscript", "local:snippets/hook.sh"}},
			{"locks", "only root can set 'lock' config", []string{"lock", "backup"}},
			{"deletion needs the same", "only root can set 'lock' config", []string{"delete", "lock"}},
			{"a new disk needs its storage", "Permission check failed (/storage/local, Datastore.AllocateSpace)", []string{"scsi1", "local:1"}},
			{"a disk needs more than itself", "Permission check failed (/vms/100, VM.Config.Disk)", []string{"delete", "scsi0"}},
			{"CD-ROM drives", "Permission check failed (/vms/100, VM.Config.CDROM)", []string{"ide2", "none"}},
			{"the host's CD-ROM", "Permission check failed (/, Sys.Console)", []string{"ide2", "cdrom"}},
			{"the cloud-init drive", "Permission check failed (/vms/100, VM.Config.Cloudinit)", []string{"ide2", "local:cloudinit"}},
			{"an ISO", "Permission check failed (/storage/local, Datastore.AllocateSpace|Datastore.Audit)", []string{"ide2", "local:iso/tiny.iso,media=cdrom"}},
			{"serial sockets", "Permission check failed (/vms/100, VM.Config.HWType)", []string{"serial0", "socket"}},
			{"serial ports of the host", "only root can modify 'serial0' config for real devices", []string{"serial0", "/dev/ttyS0"}},
			{"to take one away", "only root can delete 'serial1' config for real devices", []string{"delete", "serial1"}},
			{"USB devices", "Permission check failed (/vms/100, VM.Config.HWType)", []string{"usb0", "host=1-1"}},
			{"PCI devices", "only root can set 'hostpci0' config for non-mapped devices", []string{"hostpci0", "0000:01:00.0"}},
			{"shares", "Permission check failed (/vms/100, VM.Config.Disk)", []string{"virtiofs0", "share"}},
			{"random numbers", "Permission check failed (/vms/100, VM.Config.HWType)", []string{"rng0", "source=/dev/hwrng"}},
		} {
			if r := ann.put(labVM+"/config", c.options...); r.reason != c.want {
				t.Errorf("%s: %d %q %v, want %q", c.reason, r.status, r.reason, r.errors, c.want)
			}
		}
		ann.must("PUT", labVM+"/config", "name", "ann", "tags", "x", "onboot", "1")
		l.grantRole("/vms/100", "VM.Config.HWType", "VM.Config.Disk", "VM.Config.Network", "VM.Config.CDROM")
		for _, c := range []struct {
			reason, want string
			options      []string
		}{
			{"real USB devices", "only root can set 'usb0' config for real devices", []string{"usb0", "host=1-1"}},
			{"mapped ones", "Permission check failed (/mapping/usb/stick, Mapping.Use)", []string{"usb0", "mapping=stick"}},
			{"mapped PCI devices", "Permission check failed (/mapping/pci/gpu, Mapping.Use)", []string{"hostpci0", "mapping=gpu"}},
			{"mapped directories", "Permission check failed (/mapping/dir/share, Mapping.Use)", []string{"virtiofs0", "share"}},
			{"the host's random numbers", "Permission check failed (/mapping/hwrng, Mapping.Use)", []string{"rng0", "source=/dev/hwrng"}},
			{"a bridge", "Permission check failed (/sdn/zones/localnetwork/vmbr0, SDN.Use)", []string{"net0", "virtio,bridge=vmbr0"}},
			{"a VLAN", "Permission check failed (/sdn/zones/localnetwork/vmbr0/7, SDN.Use)", []string{"net0", "virtio,bridge=vmbr0,tag=7"}},
			{"a trunk", "Permission check failed (/sdn/zones/localnetwork/vmbr0/2, SDN.Use)", []string{"net0", "virtio,bridge=vmbr0,trunks=2;5-7"}},
			{"the bridge that it leaves", "Permission check failed (/sdn/zones/localnetwork/vmbr0/7, SDN.Use)", []string{"delete", "net5"}},
			{"paths of the host", "Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line 651.", []string{"scsi2", "/dev/sdb"}},
			{"other VMs' disks", "Permission check failed (/storage/local, Datastore.Audit)", []string{"scsi2", "local:101/vm-101-disk-0.raw"}},
			{"snippets", "missing privileges to access local:snippets/hook.sh", []string{"scsi2", "local:snippets/hook.sh"}},
		} {
			if r := ann.put(labVM+"/config", c.options...); r.reason != c.want {
				t.Errorf("%s: %d %q %v, want %q", c.reason, r.status, r.reason, r.errors, c.want)
			}
		}
		l.grantRole("/sdn/zones/localnetwork/vmbr0/7", "SDN.Use")
		l.grantRole("/mapping/dir/share", "Mapping.Use")
		ann.must("PUT", labVM+"/config", "net0", "virtio,bridge=vmbr0,tag=7", "virtiofs0", "share", "usb0", "spice", "delete", "net5")
		r := ann.put(labVM+"/config", "name", "x", "skiplock", "1")
		if r.status != 400 || r.errors["skiplock"] != "Only root may use this option." {
			t.Errorf("skiplock: %d %v", r.status, r.errors)
		}
	})
}

func TestCreationNeedsAllocateOnTheVMOrThePool(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		ann := l.login("ann@pve", "secret")
		try := func(want string, options ...string) {
			t.Helper()
			if r := ann.post("/nodes/pve1/qemu", append([]string{"vmid", "100"}, options...)...); r.reason != want {
				t.Errorf("POST %v: %d %q %v, want %q", options, r.status, r.reason, r.errors, want)
			}
		}
		try("Permission check failed")
		try("Permission check failed (/vms/100, VM.PowerMgmt)", "start", "1")
		try("Permission check failed (/, Sys.Console)", "ha-managed", "1")
		try("Permission check failed (/storage/local, Datastore.AllocateSpace)", "storage", "local")
		l.grantRole("/pool/team", "VM.Allocate", "VM.Config.CPU")
		try("Permission check failed")
		try("Permission check failed (/vms/100, VM.Config.Memory)", "pool", "team", "memory", "64")
		try("Permission check failed (/storage/local, Datastore.AllocateSpace)", "pool", "team", "scsi0", "local:1")
		try("only root can set 'args' config", "pool", "team", "args", "-s")
		l.grantRole("/storage/local", "Datastore.AllocateSpace")
		try("OK", "pool", "team", "cores", "2", "scsi0", "local:1")
	})
}

func TestRegisteredTagsAreForThePrivileged(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("tags", "old;prod")
		l.must("PUT", "/cluster/options", "registered-tags", "prod")
		l.grantRole("/vms/100", "VM.Audit", "VM.Config.Options")
		ann := l.login("ann@pve", "secret")
		ann.expect(ann.put(labVM+"/config", "tags", "old"), 403, "Permission check failed (/, Sys.Modify for modifying tag 'prod')")
		ann.expect(ann.put(labVM+"/config", "delete", "tags"), 403, "Permission check failed (/, Sys.Modify for modifying tag 'prod')")
		ann.must("PUT", labVM+"/config", "tags", "mine;prod")
		l.must("PUT", "/cluster/options", "user-tag-access", "user-allow=list,user-allow-list=ok")
		ann.expect(ann.put(labVM+"/config", "tags", "mine;prod;new"), 403, "Permission check failed (/, Sys.Modify for modifying tag 'new')")
		ann.must("PUT", labVM+"/config", "tags", "mine;prod;ok")
		l.must("PUT", "/cluster/options", "user-tag-access", "user-allow=existing")
		ann.expect(ann.put(labVM+"/config", "tags", "mine;prod;new"), 403, "Permission check failed (/, Sys.Modify for modifying tag 'new')")
	})
}
