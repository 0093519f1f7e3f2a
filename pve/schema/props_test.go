package schema

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/proxplane/proxplane/test/kit/chance"
)

// vmProps are the property strings of a VM, by parameter name.
func vmProps(t testing.TB) map[string]*Param {
	t.Helper()
	ep := mustLoad(t, "9.2").Lookup("POST", "/nodes/{node}/qemu")
	out := map[string]*Param{}
	for name, p := range ep.Params {
		if p.FormatProps != nil {
			out[strings.Replace(name, "[n]", "0", 1)] = p
		}
	}
	return out
}

func TestPropertyStringsPrintAsProxmoxStoresThem(t *testing.T) {
	ps := vmProps(t)
	for _, c := range []struct{ reason, name, in, want string }{
		{"the model names the MAC address", "net0", "model=virtio,macaddr=BC:24:11:00:00:01,bridge=vmbr0", "virtio=BC:24:11:00:00:01,bridge=vmbr0"},
		{"an alias is resolved", "net0", "virtio=BC:24:11:00:00:01,tag=5,bridge=vmbr0", "virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=5"},
		{"no MAC address, no equal sign", "net0", "bridge=vmbr0,model=e1000", "e1000,bridge=vmbr0"},
		{"a MAC keeps its case", "net0", "virtio=bc:24:11:AA:00:01", "virtio=bc:24:11:AA:00:01"},
		{"a trailing comma is nothing", "net0", "virtio,,bridge=vmbr0,", "virtio,bridge=vmbr0"},
		{"sizes get the largest unit", "scsi0", "local:1,size=1024M,ssd=on", "local:1,size=1G,ssd=1"},
		{"nothing is 0T", "scsi0", "local:1,size=0", "local:1,size=0T"},
		{"old names of keys", "scsi0", "file=local:1,volume=local:2", ""},
		{"booleans become numbers", "agent", "true,fstrim_cloned_disks=Yes", "1,fstrim_cloned_disks=1"},
		{"the default key replaces a false value", "agent", "enabled=0,1", "1"},
		{"keys are sorted", "ipconfig0", "ip6=auto,ip=dhcp", "ip=dhcp,ip6=auto"},
		{"required keys come first", "numa0", "memory=512,cpus=0-1", "cpus=0-1,memory=512"},
	} {
		props, err := ps[c.name].ParseProps(c.name, c.in)
		if err != nil {
			if c.want != "" {
				t.Errorf("%s: %s=%s: %v", c.reason, c.name, c.in, err)
			}
			continue
		}
		if got := ps[c.name].PrintProps(props); got != c.want {
			t.Errorf("%s: %s=%s prints %q, want %q", c.reason, c.name, c.in, got, c.want)
		}
	}
}

func TestPropertyStringErrorsAreProxmoxTexts(t *testing.T) {
	ps := vmProps(t)
	for _, c := range []struct{ name, in, want string }{
		{"net0", "virtio,bridge", "duplicate key in comma-separated list property: model\n"},
		{"net0", "virtio,tag=1,tag=2", "duplicate key in comma-separated list property: tag\n"},
		{"net0", "virtio,e1000=BC:24:11:00:00:01", "key alias 'model' is already defined\n"},
		{"net0", "model=virtio,nope=1", "format error\nnet0.nope: " + unknown + "\n"},
		{"net0", "nope=1", "format error\nnet0.model: " + missing + "\nnet0.nope: " + unknown + "\n"},
		{"boot", "order=", "missing key in comma-separated list property\n"},
		{"boot", "order=scsi99", "format error\nboot.order: invalid format - invalid boot device 'scsi99'\n\n"},
		{"ipconfig0", "dhcp", "value without key, but schema does not define a default key\n"},
		{"ipconfig0", "gw=10.0.0.1", "format error\nipconfig0.ip: missing property required by 'ipconfig0.gw'\n"},
		{"cpu", "flags=+aes", "CPU is missing cputype\n"},
		{"cpu", "host,flags=+vmx", "VM-specific CPU flags must be a subset of: aes, amd-no-ssb, amd-ssbd, hv-evmcs, hv-tlbflush, ibpb, md-clear, nested-virt, pcid, pdpe1gb, spec-ctrl, ssbd, virt-ssbd\n"},
		{"cpu", "host,reported-model=kvm64", "Property 'reported-model' not allowed in VM-specific CPU config.\n"},
	} {
		_, err := ps[c.name].ParseProps(c.name, c.in)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s=%s: got %v, want %q", c.name, c.in, err, c.want)
		}
	}
	if _, err := mustLoad(t, "9.2").Lookup("POST", "/nodes/{node}/qemu").Param("name").ParseProps("name", "x"); err == nil {
		t.Error("a name was read as a property string")
	}
}

// value draws a value that has a good chance to pass.
func value(t *rapid.T, p *Param) string {
	switch {
	case p.Enum != nil:
		return rapid.SampledFrom(p.Enum).Draw(t, "enum")
	case p.Type == "boolean":
		return rapid.SampledFrom([]string{"0", "1", "on", "off", "yes", "No", "TRUE"}).Draw(t, "bool")
	case p.Type == "integer" || p.Type == "number":
		return rapid.SampledFrom([]string{"0", "1", "2", "16", "64", "100", "512", "1024", "4094", "1.5"}).Draw(t, "number")
	case p.Name == "cputype":
		return rapid.SampledFrom([]string{"host", "kvm64", "x86-64-v2-AES", "custom-x"}).Draw(t, "cpu")
	case p.Format == "disk-size":
		return rapid.StringMatching(`[0-9]{1,4}(\.[0-9])?[KMGT]?`).Draw(t, "size")
	}
	return rapid.SampledFrom([]string{"local:1", "local:iso/x.iso", "none", "vmbr0", "BC:24:11:00:00:01", "dhcp", "auto",
		"10.0.0.1/24", "10.0.0.1", "fe80::1", "host", "q35", "scsi0;net0", "0-3", "1234:5678", "0000:01:00.0", "/dev/urandom",
		"abc", "YWI=", "03aa68f8-faf5-4140-a19b-d81af128ea89", "std", "a=b", "2;3-5", "x y"}).Draw(t, "text")
}

func draw(t *rapid.T, f *PropFormat) string {
	keys := f.Keys()
	var parts []string
	if f.DefaultKey != "" && rapid.Bool().Draw(t, "default") {
		parts = append(parts, value(t, f.Key(f.DefaultKey)))
	}
	for _, key := range keys {
		p := f.Key(key)
		if p.Alias != "" {
			continue
		}
		if !p.Optional && key != f.DefaultKey || rapid.IntRange(0, 5).Draw(t, "with") == 0 {
			parts = append(parts, key+"="+value(t, p))
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "alias") == 0 {
		key := rapid.SampledFrom(keys).Draw(t, "key")
		p := f.Key(key)
		if p.Alias != "" {
			p = f.Key(p.Alias)
		}
		parts = append(parts, key+"="+value(t, p))
	}
	return strings.Join(parts, ",")
}

// roundTrip checks parse(print(x)) = x and print(parse(s)) = s for what Proxmox stores.
func roundTrip(t testing.TB, name string, p *Param, text string) (passed bool) {
	first, err := p.ParseProps(name, text)
	if err != nil {
		return false
	}
	f := p.FormatProps
	if strings.Contains(first.Get(f.DefaultKey), "=") {
		return false // Proxmox prints it without its key and can't read it again
	}
	stored := p.PrintProps(first)
	second, err := p.ParseProps(name, stored)
	if err != nil {
		t.Fatalf("%s=%q is stored as %q, which fails: %v", name, text, stored, err)
	}
	plain := func(props *Props) map[string]any {
		out := map[string]any{}
		for _, key := range props.Keys() {
			out[key] = props.Get(key)
			if size, ok := ParseSize(props.Get(key)); ok && f.Key(key).Format == "disk-size" {
				out[key] = size
			}
		}
		return out
	}
	if diff := cmp.Diff(plain(first), plain(second)); diff != "" {
		t.Fatalf("%s=%q is stored as %q and read again differs:\n%s", name, text, stored, diff)
	}
	if again := p.PrintProps(second); again != stored {
		t.Fatalf("%s=%q is stored as %q, then as %q", name, text, stored, again)
	}
	return true
}

func TestPropertyStringsSurviveARoundTrip(t *testing.T) {
	for name, p := range vmProps(t) {
		t.Run(name, func(t *testing.T) {
			passed := 0
			rapid.Check(t, func(rt *rapid.T) {
				if roundTrip(t, name, p, draw(rt, p.FormatProps)) {
					passed++
				}
			})
			if passed == 0 {
				t.Error("not one of the drawn property strings is valid")
			}
		})
	}
}

func TestPropsKeepTheirOrder(t *testing.T) {
	p := NewProps("b", "1", "a", "2")
	p.Set("c", "3")
	p.Set("b", "4")
	c := p.Clone()
	p.Del("a")
	p.Del("nope")
	if got := strings.Join(p.Keys(), " "); got != "b c" || p.Get("b") != "4" || p.Has("a") {
		t.Errorf("keys %q, b=%s", got, p.Get("b"))
	}
	if got := strings.Join(c.Keys(), " "); got != "b a c" {
		t.Errorf("the clone has %q", got)
	}
	var none *Props
	if none.Has("a") || none.Get("a") != "" || none.Keys() != nil {
		t.Error("no Props have something")
	}
}

func FuzzParseProps(f *testing.F) {
	ps := vmProps(f)
	for name, text := range map[string]string{
		"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1", "scsi0": "local:32,format=qcow2,size=32G,ssd=on",
		"ipconfig0": "ip=10.0.0.5/24,gw=10.0.0.1,ip6=auto", "agent": "enabled=1", "boot": "order=scsi0;net0", "cpu": "host,flags=+aes",
	} {
		f.Add(name, text)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		if p := ps[name]; p != nil {
			roundTrip(t, name, p, text)
		}
	})
}
