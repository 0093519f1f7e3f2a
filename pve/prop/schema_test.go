package prop_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/pve/schema"
)

// configParam gives Proxmox' own declaration of a key of a VM's config.
func configParam(t *testing.T, release, key string) *schema.Param {
	t.Helper()
	s, err := schema.Load(release)
	if err != nil {
		t.Fatal(err)
	}
	ep := s.Lookup("POST", "/nodes/{node}/qemu/{vmid}/config")
	if ep == nil {
		t.Fatal("no such call in the schema")
	}
	return ep.Param(key)
}

// What Proxmox prints itself rather than stores as given.
var printedByProxmox = []string{"Net", "Disk", "EFIDisk", "TPMState"}

func TestParsingAgreesWithTheSchema(t *testing.T) {
	tried := 0
	for _, file := range []string{"testdata/recorded.txt", "testdata/stored.txt"} {
		for _, l := range lines(t, file) {
			key, text := l[0], l[1]
			k, ok := kindByKey(key)
			p := configParam(t, "9.2", key)
			if !ok || p == nil || p.FormatProps == nil {
				continue
			}
			tried++
			props, refused := p.ParseProps(key, text)
			v, err := k.parse(text)
			if refused != nil {
				if err == nil && notRefusedHere[key+" "+text] == "" {
					t.Errorf("%s=%s: the schema refuses it: %v", key, text, refused)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s=%s: the schema takes it, got error %v", key, text, err)
				continue
			}
			if !slices.Contains(printedByProxmox, k.name) {
				continue
			}
			if text == "none" {
				props.Set("media", "cdrom")
			}
			if want := p.PrintProps(props); v.text != want {
				t.Errorf("%s=%s: printed as %q, by the schema as %q", key, text, v.text, want)
			}
		}
	}
	if tried < 80 {
		t.Errorf("only %d values tried", tried)
	}
}

// The least that makes a value of each kind.
var least = map[string]string{
	"agent": "1", "boot": "cdn", "cicustom": "user=local:snippets/a.yml", "cpu": "host", "scsi0": "lvm:vm-1-disk-0",
	"virtio0": "lvm:vm-1-disk-0", "sata0": "lvm:vm-1-disk-0", "ide0": "lvm:vm-1-disk-0", "efidisk0": "lvm:vm-1-disk-0",
	"tpmstate0": "lvm:vm-1-disk-0", "hostpci0": "01:00.0", "ipconfig0": "ip=dhcp", "machine": "q35",
	"memory": "512", "numa0": "cpus=0", "net0": "virtio", "rng0": "/dev/urandom", "smbios1": "family=YWI=",
	"usb0": "1-1", "vga": "std", "virtiofs0": "share", "watchdog": "i6300esb",
}

// Defaults of the schema that are not what holds when the key is left out.
var otherDefaults = map[string]string{
	"ipconfig0.ip":       "only if there is no IPv6 configuration either",
	"ipconfig0.ip6":      "only if there is no IPv4 configuration either",
	"cpu.reported-model": "of models that an administrator defines; a VM reports its own type",
}

func TestADefaultOfTheSchemaIsTheSameAsNothing(t *testing.T) {
	for _, release := range schema.Releases() {
		for key, min := range least {
			p := configParam(t, release, key)
			if p == nil || p.FormatProps == nil {
				continue
			}
			k, _ := kindByKey(key)
			without, err := k.parse(min)
			if err != nil {
				t.Errorf("%s=%s: %v", key, min, err)
				continue
			}
			for _, name := range p.FormatProps.Keys() {
				decl := p.FormatProps.Key(name)
				if decl.Default == "" || otherDefaults[key+"."+name] != "" || name == p.FormatProps.DefaultKey {
					continue
				}
				with, err := k.parse(min + "," + name + "=" + decl.Default)
				if err != nil {
					t.Errorf("%s: %s=%s: %v", key, name, decl.Default, err)
				} else if !with.equal(without.any) {
					t.Errorf("%s in %s: %s=%s isn't the same as nothing", key, release, name, decl.Default)
				}
			}
		}
	}
}

func TestKeysAreRequiredAndBooleanAsInTheSchema(t *testing.T) {
	for _, release := range schema.Releases() {
		for key, min := range least {
			p := configParam(t, release, key)
			if p == nil || p.FormatProps == nil {
				continue
			}
			k, _ := kindByKey(key)
			if _, err := k.parse("some-key=1"); (err == nil) != (len(needed(p)) == 0) {
				t.Errorf("%s in %s: needs %v, got error %v without", key, release, needed(p), err)
			}
			for _, name := range p.FormatProps.Keys() {
				decl := p.FormatProps.Key(name)
				if decl.Type != "boolean" || name == p.FormatProps.DefaultKey {
					continue
				}
				if v, err := k.parse(min + "," + name + "=True"); err != nil {
					t.Errorf("%s in %s: %v", key, release, err)
				} else if slices.Contains(printedByProxmox, k.name) && !strings.Contains(v.text, name+"=1") {
					t.Errorf("%s in %s: %s is boolean, but printed as %s", key, release, name, v.text)
				}
				if _, err := k.parse(min + "," + name + "=maybe"); err == nil {
					t.Errorf("%s in %s: %s is boolean, but takes anything", key, release, name)
				}
			}
		}
	}
}

func needed(p *schema.Param) []string {
	var names []string
	for _, name := range p.FormatProps.Keys() {
		if decl := p.FormatProps.Key(name); !decl.Optional && decl.Alias == "" {
			names = append(names, name)
		}
	}
	return names
}

// What is made by hand has to be taken by all releases.
func TestPrintedValuesAreTakenByAllReleases(t *testing.T) {
	values := map[string]interface{ String() string }{
		"agent":     prop.Agent{Enabled: true, Type: "isa", FstrimClonedDisks: true, FreezeFS: prop.Some(false)},
		"boot":      prop.Boot{Order: []string{"scsi0", "net0"}},
		"cicustom":  prop.CICustom{User: "local:snippets/a.yml", Vendor: "local:snippets/b.yml"},
		"cpu":       prop.CPU{Type: "host", Flags: []string{"+aes", "-pcid"}, Hidden: true},
		"efidisk0":  prop.EFIDisk{File: "lvm:1", Type: "4m", PreEnrolledKeys: true},
		"hostpci0":  prop.HostPCI{Host: []string{"0000:01:00.0", "0000:01:00.1"}, PCIe: true, ROMBar: prop.Some(false), XVGA: true},
		"ide2":      prop.Disk{File: "none"},
		"ipconfig0": prop.IPConfig{IP: "10.0.0.5/24", GW: "10.0.0.1", IP6: "fd00::5/64", GW6: "fd00::1"},
		"memory":    prop.Memory{MiB: 2048},
		"net0":      prop.Net{Model: "virtio", Bridge: "vmbr0", Tag: 2, Trunks: []string{"3", "4-5"}, Firewall: true, LinkDown: true, MTU: 1, Queues: 4, Rate: 1.5},
		"numa0":     prop.NUMA{CPUs: []string{"0-1"}, Memory: 512, HostNodes: []string{"0"}, Policy: "bind"},
		"rng0":      prop.RNG{Source: "/dev/urandom", MaxBytes: prop.Some(0), Period: prop.Some(500)},
		"scsi0": prop.Disk{File: "lvm:vm-1-disk-0", Size: prop.GiB, Cache: "writeback", AIO: "io_uring", Discard: true, SSD: true, IOThread: true,
			ReadOnly: true, Shared: true, SCSIBlock: true, Backup: prop.Some(false), Replicate: prop.Some(false), DetectZeroes: prop.Some(true),
			Queues: 2, Serial: "a%20b", WWN: "0x0123456789abcdef"},
		"scsi1":     prop.Disk{File: prop.NewVolume("lvm", 0), ImportFrom: "local:import/a.qcow2", Format: "raw"},
		"smbios1":   prop.SMBIOS1{UUID: "03aa68f8-faf5-4140-a19b-d81af128ea89", Serial: "ds=nocloud", Manufacturer: "We & Co, Ltd"},
		"startup":   prop.Startup{Order: prop.Some(0), Up: prop.Some(5), Down: prop.Some(6)},
		"tpmstate0": prop.TPMState{File: "lvm:1", Version: "v2.0"},
		"usb0":      prop.USB{Mapping: "stick", USB3: true},
		"vga":       prop.VGA{Type: "virtio", Memory: 64, Clipboard: "vnc"},
		"virtiofs0": prop.VirtioFS{DirID: "share", Cache: "never", DirectIO: true, ExposeXattr: true, ExposeACL: true},
		"watchdog":  prop.Watchdog{Model: "ib700", Action: "reset"},
		"hotplug":   prop.Hotplug{Network: true, CPU: true, Memory: true, CloudInit: true},
		"machine":   prop.Machine{Type: "q35", VIOMMU: "intel"},
		"serial0":   prop.SerialSocket,
		"sshkeys":   prop.NewSSHKeys("ssh-ed25519 AA+/= it's (me)! ~*@here"),
		"tags":      prop.Tags{"a", "b_c-d.e+f"},
	}
	for _, release := range schema.Releases() {
		for key, v := range values {
			p := configParam(t, release, key)
			if p == nil {
				t.Errorf("%s: not in %s", key, release)
				continue
			}
			if errs := p.Verify(key, v.String()); len(errs) > 0 {
				t.Errorf("%s=%s refused by %s: %v", key, v, release, errors.New(errs[key]))
			}
		}
	}
}
