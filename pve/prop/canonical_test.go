package prop_test

import (
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/pve/schema"
	_ "github.com/proxplane/proxplane/test/kit/chance"
)

func TestValuesHaveOneCanonicalSpelling(t *testing.T) {
	cases := []struct {
		key, value, want string
		reason           string
	}{
		{"agent", "enabled=0,type=isa", "", "no agent is what an absent one is"},
		{"agent", "enabled=true,type=virtio,fstrim_cloned_disks=1", "1,fstrim_cloned_disks=1", "the default type goes"},
		{"agent", "1,freeze-fs=0", "1,freeze-fs-on-backup=0", "the name that both 8 and 9 know"},
		{"amd-sev", "type=std,allow-smt=on,no-debug=0", "std", "defaults go"},
		{"audio0", "device=AC97,driver=spice", "device=AC97", "default driver"},
		{"balloon", "0", "0", "no balloon isn't the default"},
		{"bios", "seabios", "", "default"},
		{"bios", "ovmf", "ovmf", "not the default"},
		{"boot", "order=scsi0; net0", "order=scsi0;net0", "the order stays"},
		{"boot", "cdn", "", "what an absent one means"},
		{"boot", "", " ", "boots from nothing"},
		{"boot", "c,order=scsi0", "order=scsi0", "order overrides the letters"},
		{"cicustom", "vendor=local:snippets/v,user=local:snippets/u", "user=local:snippets/u,vendor=local:snippets/v", "by key"},
		{"ciuser", "x y", "x y", "a plain text"},
		{"cores", "01", "", "default"},
		{"cores", "4", "4", "not the default"},
		{"cpu", "cputype=kvm64", "", "default"},
		{"cpu", "flags=-pcid;+aes,cputype=host,reported-model=kvm64", "host,flags=+aes;-pcid", "flags are a set"},
		{"cpulimit", "1.50", "1.5", "needless digit"},
		{"description", "  two  words ", "  two  words ", "texts stay"},
		{"efidisk0", "lvm:vm-1-disk-0,pre-enrolled-keys=on,efitype=4m", "lvm:vm-1-disk-0,efitype=4m,pre-enrolled-keys=1", "by key, booleans"},
		{"hostpci0", "host=01:00.0,rombar=1,driver=vfio,vendor-id=0x10DE", "0000:01:00.0,vendor-id=0x10de", "domain, defaults, case"},
		{"hotplug", "usb;network,disk", "", "default"},
		{"hotplug", "1", "", "default"},
		{"hotplug", "", "0", "nothing"},
		{"hotplug", "memory,cpu,network", "network,cpu,memory", "in one order"},
		{"ipconfig0", "ip6=FD00:0::5/64,gw=10.0.0.1,ip=10.0.0.5/24", "gw=10.0.0.1,ip=10.0.0.5/24,ip6=fd00::5/64", "by key, usual addresses"},
		{"machine", "type=q35", "q35", "without key"},
		{"machine", "pc", "", "default"},
		{"memory", "current=2048", "2048", "without key"},
		{"memory", "512", "", "default"},
		{"nameserver", " 8.8.8.8\t2001:DB8::0001 ", "8.8.8.8 2001:db8::1", "spaces, usual addresses"},
		{"net0", "bridge=vmbr0,model=virtio,macaddr=bc:24:11:00:00:01,firewall=0,rate=2.0", "virtio=BC:24:11:00:00:01,bridge=vmbr0,rate=2", "as Proxmox prints it"},
		{"net0", "virtio,tag=5,bridge=vmbr0", "virtio,bridge=vmbr0,tag=5", "without address"},
		{"numa", "1", "1", "not numa0"},
		{"numa0", "memory=512.0,cpus=0-1", "cpus=0-1,memory=512", "not numa"},
		{"onboot", "false", "", "default"},
		{"onboot", "true", "1", "as Proxmox writes it"},
		{"ostype", "other", "", "default"},
		{"scsi0", "volume=lvm:vm-1-disk-0,ssd=on,discard=ignore,iothread=1,backup=1,size=1024M,mbps_rd=3.50", "lvm:vm-1-disk-0,iothread=1,mbps_rd=3.5,size=1G,ssd=1", "defaults go"},
		{"scsihw", "lsi", "", "default"},
		{"serial0", "socket", "socket", "nothing to spell"},
		{"shares", "1000", "", "default"},
		{"smbios1", "base64=1,serial=YWI=,uuid=03AA68F8-FAF5-4140-A19B-D81AF128EA89", "serial=ab,uuid=03aa68f8-faf5-4140-a19b-d81af128ea89", "base64 only where withoutWhich"},
		{"smbios1", "base64=1,serial=YSBi", "base64=1,serial=YSBi", "has a space"},
		{"spice_enhancements", "foldersharing=off,videostreaming=off", "", "all default"},
		{"sshkeys", "ssh-ed25519%20AAAA%20a%0A%0Assh-rsa%20BBBB%0A", "ssh-ed25519 AAAA a\nssh-rsa BBBB", "decoded"},
		{"sshkeys", "ssh-ed25519 AAAA a%20b\n", "ssh-ed25519 AAAA a%20b", "was plain already"},
		{"startup", "up=5,1", "order=1,up=5", "by key"},
		{"tags", "B a;b", "a;b", "a set"},
		{"tpmstate0", "lvm:vm-1-disk-0,version=v1.2", "lvm:vm-1-disk-0", "default"},
		{"usb0", "host=1A2B:5678,usb3=0", "1a2b:5678", "case"},
		{"vcpus", "0", "", "default"},
		{"vga", "type=virtio,memory=64", "virtio,memory=64", "without key"},
		{"virtiofs0", "share,expose-acl=1,expose-xattr=1,cache=auto", "share,expose-acl=1", "ACLs include xattr"},
		{"vmgenid", "03AA68F8-FAF5-4140-A19B-D81AF128EA89", "03aa68f8-faf5-4140-a19b-d81af128ea89", "case"},
		{"watchdog", "model=i6300esb", "i6300esb", "a default watchdog isn't none"},
		{"watchdog", "model=i6300esb,action=reset", "action=reset", "default model"},
		{"net0", "virtio,tag=nonsense", "virtio,tag=nonsense", "isn't understood"},
		{"something-new", "a, b", "a, b", "isn't known"},
	}
	for _, c := range cases {
		if got := prop.Canonical(c.key, c.value); got != c.want {
			t.Errorf("%s=%s is %q, want %q: %s", c.key, c.value, got, c.want, c.reason)
		}
		checkCanonical(t, c.key, c.value)
	}
}

func TestPropertiesHaveFullKeysAndNoDefaults(t *testing.T) {
	got := prop.Properties("scsi0", "lvm:vm-1-disk-0,size=1024M,backup=1,discard=on")
	if want := map[string]string{"file": "lvm:vm-1-disk-0", "size": "1G", "discard": "on"}; !maps.Equal(got, want) {
		t.Errorf("disk: %v", got)
	}
	got = prop.Properties("net0", "virtio=bc:24:11:00:00:01,bridge=vmbr0,firewall=0")
	if want := map[string]string{"model": "virtio", "macaddr": "BC:24:11:00:00:01", "bridge": "vmbr0"}; !maps.Equal(got, want) {
		t.Errorf("network: %v", got)
	}
	for _, key := range []string{"cores", "numa", "scsi", "agent0", "something"} {
		if got := prop.Properties(key, "1"); got != nil {
			t.Errorf("%s: %v", key, got)
		}
	}
}

// checkCanonical checks all that holds for any value.
func checkCanonical(t interface {
	Helper()
	Errorf(string, ...any)
}, key, value string,
) {
	t.Helper()
	canonical := prop.Canonical(key, value)
	if again := prop.Canonical(key, canonical); again != canonical && canonical != "" {
		t.Errorf("%s=%q is %q, and that is %q", key, value, canonical, again)
	}
	k, ok := kindByKey(key)
	if !ok || canonical == "" || k.name == "SSHKeys" {
		return
	}
	v, err := k.parse(value)
	if err != nil {
		return
	}
	if c, err := k.parse(canonical); err != nil || !v.equal(c.any) {
		t.Errorf("%s=%q is %q, which means something else (%v)", key, value, canonical, err)
	}
}

func TestWhatProxmoxStoresIsWhatWasSent(t *testing.T) {
	tried := 0
	for _, l := range lines(t, "testdata/recorded.txt") {
		key, sent, result := l[0], l[1], l[2]
		if result[0] != '=' || newVolume.MatchString(sent) || key == "cipassword" {
			continue // refused, or Proxmox makes something up
		}
		stored := result[1:]
		if strings.HasPrefix(key, "net") && !strings.Contains(sent, ":") {
			stored = strings.Replace(stored, randomMAC.FindString(stored), "", 1)
		}
		if strings.HasPrefix(sent, "local:iso/") {
			stored, _, _ = strings.Cut(stored, ",size=")
		}
		tried++
		if a, b := prop.Canonical(key, sent), prop.Canonical(key, stored); a != b {
			t.Errorf("%s=%s is %q, stored it is %q", key, sent, a, b)
		}
	}
	if tried < 40 {
		t.Errorf("only %d values tried", tried)
	}
	for _, l := range lines(t, "testdata/stored.txt") {
		checkCanonical(t, l[0], l[1])
	}
}

// Defaults of the schema that don't make a value the same as none.
var notDroppedDefaults = map[string]string{
	"cpuunits":              "depends on the node",
	"vmgenid":               "Proxmox makes one up when it is told to",
	"intel-tdx.attestation": "has to be written",
	"ipconfig.ip":           "Proxmox configures no DHCP when it is left out",
	"ipconfig.ip6":          "Proxmox configures no DHCP when it is left out",
	"watchdog.model":        "tested above",
	"boot.legacy":           "tested above",
	"agent.enabled":         "tested above",
	"memory.current":        "tested above",
}

// withoutWhich are the values without which a property string is none.
var withoutWhich = map[string]string{
	"agent": "enabled=1", "amd-sev": "type=std", "audio0": "device=AC97", "efidisk0": "lvm:vm-1-disk-0", "hostpci0": "01:00.0",
	"ide0": "lvm:vm-1-disk-0", "intel-tdx": "type=tdx,attestation=0", "ivshmem": "size=1", "net0": "virtio", "numa0": "cpus=0",
	"rng0": "source=/dev/urandom", "sata0": "lvm:vm-1-disk-0", "scsi0": "lvm:vm-1-disk-0", "tpmstate0": "lvm:vm-1-disk-0",
	"unused0": "lvm:vm-1-disk-0", "usb0": "spice", "virtio0": "lvm:vm-1-disk-0", "virtiofs0": "share", "cpu": "host", "vga": "memory=8",
}

func TestDefaultsOfTheSchemaAreLeftOut(t *testing.T) {
	tried := 0
	for _, release := range schema.Releases() {
		s, err := schema.Load(release)
		if err != nil {
			t.Fatal(err)
		}
		for name, p := range s.Lookup("POST", "/nodes/{node}/qemu/{vmid}/config").Params {
			family := strings.TrimRight(strings.TrimSuffix(name, "[n]"), "0")
			key := strings.Replace(name, "[n]", "0", 1)
			if p.FormatProps == nil {
				if _, known := notDroppedDefaults[name]; p.Default == "" || known {
					continue
				}
				tried++
				if got := prop.Canonical(key, p.Default); got != "" {
					t.Errorf("%s: the default %s=%s is %q", release, key, p.Default, got)
				}
				continue
			}
			if name == "cdrom" { // never stored
				continue
			}
			for _, inner := range p.FormatProps.Keys() {
				def := p.FormatProps.Key(inner).Default
				if _, known := notDroppedDefaults[family+"."+inner]; def == "" || known {
					continue
				}
				tried++
				full, short := strings.TrimPrefix(withoutWhich[key]+","+inner+"="+def, ","), withoutWhich[key]
				if strings.HasPrefix(short, inner+"=") || inner == "cputype" {
					full, short = inner+"="+def, ""
				}
				a, b := prop.Canonical(key, full), ""
				if short != "" {
					b = prop.Canonical(key, short)
				}
				if a != b {
					t.Errorf("%s: %s=%s is %q, without the default %q", release, key, full, a, b)
				}
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d defaults tried", tried)
	}
}

var canonicalTestKeys = []string{
	"agent", "amd-sev", "audio0", "boot", "cicustom", "cpu", "efidisk0", "hostpci0", "hotplug", "ipconfig0", "intel-tdx", "ivshmem", "machine",
	"memory", "nameserver", "net0", "numa", "numa0", "onboot", "rng0", "scsi0", "searchdomain", "smbios1", "spice_enhancements", "sshkeys",
	"startup", "tags", "tpmstate0", "usb0", "vga", "virtiofs0", "watchdog", "cpulimit", "cores", "vmgenid", "args", "serial0",
}

func TestCanonicalValuesStayAsTheyAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom(canonicalTestKeys).Draw(t, "key")
		word := rapid.OneOf(
			rapid.StringMatching(`[a-z0-9+;%. :/=-]{0,12}`),
			rapid.SampledFrom([]string{"1", "0", "on", "off", "lvm:vm-1-disk-0", "virtio", "type=std", "bridge=vmbr0", "ip=10.0.0.1/24", "host", "order=1", "size=3M", "size=1024K", "driver=vfio", "base64=1", "serial=YWI=", "serial=YSBi"}),
		)
		checkCanonical(t, key, strings.Join(rapid.SliceOfN(word, 0, 5).Draw(t, "words"), ","))
	})
}

func FuzzCanonical(f *testing.F) {
	for _, file := range []string{"testdata/recorded.txt", "testdata/stored.txt"} {
		for _, l := range lines(f, file) {
			f.Add(l[0], l[1])
		}
	}
	for _, key := range canonicalTestKeys {
		f.Add(key, "%2525, =a")
	}
	f.Fuzz(func(t *testing.T, key, value string) { checkCanonical(t, key, value) })
}
