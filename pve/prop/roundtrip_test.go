package prop_test

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/proxplane/proxplane/pve/prop"
	_ "github.com/proxplane/proxplane/test/kit/chance"
)

// Values of fields that can't be any word; by the field's name.
var special = map[string]*rapid.Generator[string]{
	"Net.Model":            rapid.SampledFrom([]string{"virtio", "e1000", "rtl8139", "one-of-the-future"}),
	"Net.MAC":              optional(rapid.StringMatching(`[0-9a-fA-F][02468aceACE](:[0-9a-fA-F]{2}){5}`)),
	"IPConfig.IP":          rapid.SampledFrom([]string{"dhcp", "manual", "10.0.0.5/24", "192.168.1.1/32"}),
	"IPConfig.GW":          rapid.SampledFrom([]string{"", "10.0.0.1"}),
	"IPConfig.IP6":         rapid.SampledFrom([]string{"auto", "dhcp", "fd00::5/64", "FD00::5/64"}),
	"IPConfig.GW6":         rapid.SampledFrom([]string{"", "fd00::1"}),
	"Disk.File":            file,
	"EFIDisk.File":         file,
	"TPMState.File":        file,
	"SMBIOS1.UUID":         optional(rapid.StringMatching(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)),
	"SMBIOS1.Manufacturer": rapid.String(),
	"SMBIOS1.Serial":       rapid.String(),
	"CICustom.Meta":        optional(snippet),
	"CICustom.Network":     optional(snippet),
	"CICustom.User":        optional(snippet),
	"CICustom.Vendor":      optional(snippet),
	"Serial":               rapid.SampledFrom([]string{"socket", "/dev/ttyS0"}),
}

var (
	word    = rapid.StringMatching(`[A-Za-z0-9_./+:-][A-Za-z0-9_./+:=-]{0,9}`)
	file    = rapid.SampledFrom([]string{"none", "cdrom", "local:32", "nfs:0.5", "local:cloudinit", "/dev/sdb", "local:iso/a=b.iso", "lvm:vm-100-disk-0", "local:102/base-102-disk-0.qcow2/120/vm-120-disk-0.qcow2"})
	snippet = rapid.StringMatching(`local:snippets/[a-z]{1,5}\.yml`)
)

// Fields without which there is no value.
var required = []string{"VirtioFS.DirID", "RNG.Source", "NUMA.CPUs"}

var integers = map[string][2]int{"Net.Tag": {1, 4094}, "VGA.Memory": {4, 512}, "Memory.MiB": {16, 1 << 40}}

func optional(g *rapid.Generator[string]) *rapid.Generator[string] {
	return rapid.OneOf(rapid.Just(""), g)
}

// draw fills all fields of a value.
func draw[T any](t *rapid.T, label string) T {
	var v T
	rv := reflect.ValueOf(&v).Elem()
	for i := range rv.NumField() {
		name := rv.Type().Name() + "." + rv.Type().Field(i).Name
		if rv.Type().Field(i).IsExported() {
			drawField(t, rv.Field(i), name, label+" "+name)
		}
	}
	return v
}

func drawField(t *rapid.T, f reflect.Value, name, label string) {
	needed := false
	for _, r := range required {
		needed = needed || r == name
	}
	switch p := f.Addr().Interface().(type) {
	case *string:
		g := special[name]
		if g == nil && needed {
			g = word
		} else if g == nil {
			g = optional(word)
		}
		*p = g.Draw(t, label)
	case *[]string:
		low := 0
		if needed {
			low = 1
		}
		*p = rapid.SliceOfN(word, low, 3).Draw(t, label)
		if name == "Hotplug.Other" {
			*p = rapid.SliceOfNDistinct(rapid.StringMatching(`x-[a-z]{1,3}`), 0, 2, rapid.ID).Draw(t, label)
		}
	case *bool:
		*p = rapid.Bool().Draw(t, label)
	case *int:
		*p = drawInt(t, name, label)
	case *float64:
		*p = rapid.Float64Range(0, 1e9).Draw(t, label)
	case *prop.Size:
		*p = prop.Size(rapid.Int64Range(0, 1<<50).Draw(t, label))
	case *prop.Opt[bool]:
		if rapid.Bool().Draw(t, label+" set") {
			*p = prop.Some(rapid.Bool().Draw(t, label))
		}
	case *prop.Opt[int]:
		if rapid.Bool().Draw(t, label+" set") {
			*p = prop.Some(drawInt(t, name, label))
		}
	case *prop.Rest:
		for _, key := range rapid.SliceOfNDistinct(rapid.StringMatching(`x-[a-z]{1,3}`), 0, 2, rapid.ID).Draw(t, label) {
			p.Extra.Set(key, word.Draw(t, label))
		}
	default:
		t.Fatalf("no generator for %s", name)
	}
}

func drawInt(t *rapid.T, name, label string) int {
	if b, ok := integers[name]; ok {
		return rapid.IntRange(b[0], b[1]).Draw(t, label)
	}
	return rapid.IntRange(0, 1000).Draw(t, label)
}

// respell writes a property string differently without changing its meaning, if
// Proxmox would store it as it is given: in another order and with other words for
// booleans.
func respell(t *rapid.T, s string) string {
	parts := rapid.Permutation(strings.Split(s, ",")).Draw(t, "order")
	for i, p := range parts {
		key, v, _ := strings.Cut(p, "=")
		if v == "1" && rapid.Bool().Draw(t, "respell") && key != "order" && key != "up" && key != "down" {
			parts[i] = key + "=" + rapid.SampledFrom([]string{"on", "yes", "True"}).Draw(t, "word")
		}
	}
	return strings.Join(parts, ",")
}

func checkKind[T interface {
	String() string
	Equal(T) bool
}](t *testing.T, parse func(string) (T, error)) {
	name := reflect.TypeFor[T]().Name()
	t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
		x := draw[T](t, "x")
		got, err := parse(x.String())
		if err != nil {
			t.Fatalf("%+v prints as %q: %v", x, x, err)
		}
		if !got.Equal(x) || !x.Equal(got) {
			t.Fatalf("%+v prints as %q, which is %+v", x, x, got)
		}
		if got.String() != x.String() {
			t.Fatalf("%+v prints as %q, and after parsing as %q", x, x, got)
		}

		// Another value that is changed into x, field by field, means x,
		// however it was written.
		given := respell(t, draw[T](t, "given").String())
		if y, err := parse(given); err == nil {
			copyFields(&y, x)
			z, err := parse(y.String())
			if err != nil || !z.Equal(x) {
				t.Fatalf("%q changed into %+v prints as %q, which is %+v (%v)", given, x, y, z, err)
			}
		}
	}))
}

// copyFields copies all but what was remembered when parsing.
func copyFields[T any](to *T, from T) {
	dst, src := reflect.ValueOf(to).Elem(), reflect.ValueOf(from)
	for i := range dst.NumField() {
		if dst.Type().Field(i).Name == "Rest" {
			dst.Field(i).FieldByName("Extra").Set(src.Field(i).FieldByName("Extra"))
		} else if dst.Type().Field(i).IsExported() {
			dst.Field(i).Set(src.Field(i))
		}
	}
}

func TestWhatIsPrintedIsWhatIsParsed(t *testing.T) {
	checkKind(t, prop.ParseAgent)
	checkKind(t, prop.ParseBoot)
	checkKind(t, prop.ParseCICustom)
	checkKind(t, prop.ParseCPU)
	checkKind(t, prop.ParseDisk)
	checkKind(t, prop.ParseEFIDisk)
	checkKind(t, prop.ParseHostPCI)
	checkKind(t, prop.ParseIPConfig)
	checkKind(t, prop.ParseMachine)
	checkKind(t, prop.ParseMemory)
	checkKind(t, prop.ParseNUMA)
	checkKind(t, prop.ParseNet)
	checkKind(t, prop.ParseRNG)
	checkKind(t, prop.ParseSMBIOS1)
	checkKind(t, prop.ParseStartup)
	checkKind(t, prop.ParseTPMState)
	checkKind(t, prop.ParseUSB)
	checkKind(t, prop.ParseVGA)
	checkKind(t, prop.ParseVirtioFS)
	checkKind(t, prop.ParseWatchdog)
	checkKind(t, func(s string) (prop.Hotplug, error) { return prop.ParseHotplug(s), nil })
}

func TestNoTextAddsAProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := prop.Net{Model: "virtio", Bridge: rapid.String().Draw(t, "bridge"), Trunks: []string{rapid.String().Draw(t, "trunk")}}
		n.Extra.Set(rapid.String().Draw(t, "key"), rapid.String().Draw(t, "value"))
		l, err := prop.ParseList(n.String())
		if err != nil || len(l) > 4 || l[0] != (prop.Pair{Value: "virtio"}) {
			t.Fatalf("%+v prints as %q: %v %v", n, n, l, err)
		}
	})
}
