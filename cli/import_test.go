package cli

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/golden"
)

// byHandMade are machines that somebody has made without proxplane, each with
// something of its own.
var byHandMade = []struct {
	reason string
	config pve.Settings
}{
	{"small and plain", pve.Settings{"name": "plain", "memory": "1024", "scsi0": "local-lvm:8", "net0": "virtio,bridge=vmbr0"}},
	{"what Proxmox' defaults are", pve.Settings{"name": "defaults", "virtio0": "local-lvm:4", "net0": "e1000,bridge=vmbr0"}},
	{"UEFI with secure boot and a TPM", pve.Settings{
		"name": "Secure.Example", "memory": "2048", "cores": "2", "sockets": "2", "bios": "ovmf", "machine": "q35",
		"efidisk0": "local-lvm:1,efitype=4m,pre-enrolled-keys=1", "tpmstate0": "local-lvm:1,version=v2.0",
		"scsi0": "local-lvm:32,discard=on,ssd=1,iothread=1", "scsihw": "virtio-scsi-single", "net0": "virtio,bridge=vmbr0", "cpu": "host", "boot": "order=scsi0",
	}},
	{"several disks on several buses", pve.Settings{
		"name": "disks", "scsi1": "local-lvm:5,cache=writeback", "virtio3": "nfs:6,format=qcow2", "sata0": "local-lvm:2,backup=0", "scsi0": "nfs:10,format=raw",
		"boot": "order=scsi1;net0", "net0": "virtio,bridge=vmbr0",
	}},
	{"several networks", pve.Settings{
		"name": "networks", "scsi0": "local-lvm:4", "net0": "virtio,bridge=vmbr0,tag=20,firewall=1", "net1": "vmxnet3,bridge=vmbr1,rate=12.5", "net2": "virtio,bridge=vmbr2,mtu=1400,queues=4,link_down=1",
		"ipconfig0": "ip=10.0.0.4/24,gw=10.0.0.1,ip6=fd00::4/64", "ipconfig2": "ip6=auto", "nameserver": "1.1.1.1 9.9.9.9", "searchdomain": "lan example.com", "ide2": "local-lvm:cloudinit",
	}},
	{"many options", pve.Settings{
		"name": "options", "scsi0": "local-lvm:4", "net0": "virtio,bridge=vmbr0", "memory": "3000", "balloon": "1500", "cpulimit": "1.5", "cpuunits": "200",
		"onboot": "1", "startup": "order=2,up=10", "protection": "1", "agent": "1", "ostype": "win11", "tablet": "0", "hotplug": "network,disk", "numa": "1",
		"serial0": "socket", "vga": "serial0", "tags": "b;a", "description": "Zeile eins\n\n- a: \"b\"\n", "watchdog": "model=i6300esb,action=reset", "rng0": "source=/dev/urandom",
		"ciuser": "me", "sshkeys": "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIMkbiUWuKQ%2FgILaqiLjoexoAz%2FwhiNMn28Tt6DCaQxF0",
	}},
	{"a user and keys for cloud-init", pve.Settings{
		"name": "cloud", "scsi0": "local-lvm:4", "net0": "virtio,bridge=vmbr0", "ide2": "local-lvm:cloudinit", "ciuser": "me", "sshkeys": "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIMkbiUWuKQ%2FgILaqiLjoexoAz%2FwhiNMn28Tt6DCaQxF0", "ipconfig0": "ip=dhcp",
	}},
	{"CPUs and memory that can be plugged", pve.Settings{
		"name": "pluggable", "scsi0": "local-lvm:4", "net0": "virtio,bridge=vmbr0", "cores": "8", "vcpus": "2", "memory": "2048", "numa": "1", "hotplug": "network,disk,usb,cpu,memory",
	}},
	{"no balloon", pve.Settings{"name": "rigid", "scsi0": "local-lvm:4", "net0": "virtio,bridge=vmbr0", "balloon": "0"}},
	{"neither disks nor interfaces", pve.Settings{"name": "empty", "boot": "order=net0"}},
	{"interfaces with gaps, old cards, and one without a bridge", pve.Settings{
		"name": "gaps", "scsi0": "local-lvm:4", "net1": "ne2k_pci,bridge=vmbr0", "net4": "virtio,bridge=vmbr1,trunks=2;5", "net31": "i82551,bridge=vmbr2", "net2": "virtio",
		"ide2": "local-lvm:cloudinit", "ipconfig1": "ip=10.0.0.9/24", "ipconfig4": "ip6=dhcp", "nameserver": "1.1.1.1",
	}},
	{"drives of all sorts", pve.Settings{
		"name": "drives", "ide0": "local-lvm:4", "ide2": "nfs:1,format=qcow2", "ide1": "none,media=cdrom", "sata3": "none,media=cdrom", "scsi7": "local-lvm:1,serial=abc,aio=threads,mbps_rd=10",
		"virtio15": "nfs:1,format=vmdk", "scsihw": "megasas", "boot": "order=ide0;ide1",
	}},
	{"legacy firmware", pve.Settings{
		"name": "firmware", "bios": "ovmf", "efidisk0": "local-lvm:1,efitype=2m", "tpmstate0": "local-lvm:1,version=v1.2", "virtio0": "local-lvm:4", "net0": "virtio,bridge=vmbr0", "machine": "pc-i440fx-9.0",
	}},
	{"devices of the host", pve.Settings{
		"name": "devices", "scsi0": "local-lvm:4", "machine": "q35", "hostpci0": "0000:01:00.0,pcie=1,rombar=0", "usb0": "host=1234:5678,usb3=1", "usb1": "spice", "serial1": "/dev/ttyS0", "parallel0": "/dev/parport0",
		"audio0": "device=ich9-intel-hda,driver=spice", "args": "-device virtio-balloon", "cpu": "cputype=host,flags=+aes;-pcid", "numa0": "cpus=0-1,memory=512", "numa": "1", "cores": "2",
	}},
}

// edited are settings of machines that Proxmox itself or old versions of it have left,
// by the name of the machine.
var edited = map[string]map[string]string{
	"plain":  {"scsi0": "local-lvm:vm-200-disk-0,size=2252M", "unused0": "local-lvm:vm-200-disk-9"},
	"rigid":  {"scsi0": "local-lvm:vm-208-disk-0,size=4194308K", "scsi1": "local-lvm:vm-208-disk-1,size=528K"},
	"drives": {"scsi3": "/dev/disk/by-id/ata-DISK,size=488386584K", "scsi4": "local-lvm:vm-211-disk-7", "sata2": "/mnt/images/old.raw"},
}

var macs = regexp.MustCompile(`mac: [0-9a-f:]+`)

var diskVolume = regexp.MustCompile(`^(local-lvm|nfs):(?:\d+/)?(?:base-\d+-disk-\d+/)?(vm-(\d+)-[a-z]+(?:-\d+)?(?:\.(qcow2|raw|vmdk))?)`)

// allocate makes the disks that values of configs name, where there are none yet.
func (l *lab) allocate(client *pve.Client, values []string) {
	l.Helper()
	made := map[string]bool{}
	for _, value := range values {
		v := diskVolume.FindStringSubmatch(value)
		if v == nil || made[v[1]+v[2]] {
			continue
		}
		made[v[1]+v[2]] = true
		vmid, err := strconv.Atoi(v[3])
		if err != nil {
			l.Fatal(err)
		}
		format := v[4]
		if format == "" {
			format = "raw"
		}
		_, err = client.Storage("pve2", v[1]).Alloc(l.Context(), pve.AllocOptions{VMID: vmid, Filename: v[2], Size: "4M", Format: format})
		if err != nil && !strings.Contains(err.Error(), "already exists") {
			l.Fatal(err)
		}
	}
}

// client is somebody with a browser.
func (l *lab) client() *pve.Client {
	l.Helper()
	client, err := pve.New(pve.Config{
		Endpoints: []string{l.env["PVE_ENDPOINT"]}, Credentials: pve.Password("root@pam", "proxplane"), TLS: pve.TLS{CA: []byte(l.env["PVE_CA_BUNDLE"])},
	})
	if err != nil {
		l.Fatal(err)
	}
	return client
}

// made makes these machines and returns their VMIDs.
func (l *lab) made() []string {
	l.Helper()
	client := l.client()
	var ids []string
	for i, m := range byHandMade {
		id := 200 + i
		upid, err := client.Node("pve2").Create(l.Context(), pve.CreateOptions{ID: id, Settings: m.config})
		if err == nil {
			_, err = client.Task(upid).Wait(l.Context())
		}
		if err != nil {
			l.Fatalf("%s: %v", m.reason, err)
		}
		ids = append(ids, fmt.Sprint(id))
	}
	for _, conf := range edited {
		l.allocate(client, slices.Collect(maps.Values(conf)))
	}
	l.sim.Do(func(st *pvesim.State) {
		for _, vm := range st.VMs {
			maps.Copy(vm.Conf, edited[vm.Name()])
		}
	})
	upid, err := client.VM("pve1", 9000).Clone(l.Context(), pve.CloneOptions{NewID: 300, Name: "linked"})
	if err == nil {
		_, err = client.Task(upid).Wait(l.Context())
	}
	if err != nil {
		l.Fatal(err)
	}
	return append(ids, "300")
}

func TestImportedManifestsChangeNothing(t *testing.T) {
	l := ownLab(t)
	ids := l.made()
	for i, id := range ids {
		code, out, stderr := l.run("import", id)
		if code != exitOK {
			reason := "a linked clone"
			if i < len(byHandMade) {
				reason = byHandMade[i].reason
			}
			t.Errorf("%s: exit %d\n%s%s", reason, code, stderr, out)
		}
	}
	all := append([]string{"import"}, ids...)
	file := l.write("all.yaml", l.must(all...))
	code, _, stderr := l.run(append(all, "--adopt")...)
	if code != exitFailed {
		t.Errorf("adopt without a yes: exit %d", code)
	}
	wantText(t, stderr, `VM 200 on pve2 becomes vm/plain of set default`, `add --yes`)
	_, out, _ := l.run("plan", "-f", file)
	wantText(t, out, `VMID 200 is taken by "plain"`)

	l.must(append(all, "--adopt", "--yes")...)
	wantText(t, l.must("plan", "-f", file, "--deep"), `^Nothing to do`)
	wantText(t, l.must("plan", "-f", file), `^Nothing to do`)
	again := l.must(all...)
	if text, _ := os.ReadFile(file); again != string(text) {
		t.Errorf("imported again, the manifests are others:\n%s", cmp.Diff(string(text), again))
	}
	_, _, stderr = l.run("import", "200", "--set", "other")
	wantText(t, stderr, `VM 200 is vm/plain of set default`)
	_, _, stderr = l.run("import", "9000")
	wantText(t, stderr, `is a template`)
	wantText(t, l.must("delete", "vm/plain", "--yes"), `✓ vm/plain +released`)
}

func TestImportedManifestsReadWell(t *testing.T) {
	l := ownLab(t)
	ids := l.made()
	out := l.must("import", ids[2], ids[4], ids[1], "300")
	golden.Compare(t, "import.yaml", macs.ReplaceAllString(out, "mac: 00:00:00:00:00:00"))
	if strings.Count(out, "kind: VMClass") != 3 {
		t.Errorf("equal classes should be written once")
	}
}
