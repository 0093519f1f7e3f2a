package prop_test

import (
	"regexp"
	"testing"

	"github.com/proxplane/proxplane/pve/prop"
)

// A kind is one kind of value, made alike for tests that go through all.
type kind struct {
	name  string
	keys  *regexp.Regexp
	parse func(string) (value, error)
}

type value struct {
	any
	text  string
	equal func(any) bool
}

func kindOf[T interface {
	String() string
	Equal(T) bool
}](name, keys string, parse func(string) (T, error)) kind {
	return kind{name, regexp.MustCompile("^(" + keys + ")$"), func(s string) (value, error) {
		v, err := parse(s)
		if err != nil {
			return value{}, err
		}
		return value{v, v.String(), func(o any) bool { return v.Equal(o.(T)) }}, nil
	}}
}

var kinds = []kind{
	kindOf("Agent", `agent`, prop.ParseAgent),
	kindOf("Boot", `boot`, prop.ParseBoot),
	kindOf("CICustom", `cicustom`, prop.ParseCICustom),
	kindOf("CPU", `cpu`, prop.ParseCPU),
	kindOf("Disk", `(scsi|virtio|sata|ide|unused)\d+`, prop.ParseDisk),
	kindOf("EFIDisk", `efidisk0`, prop.ParseEFIDisk),
	kindOf("HostPCI", `hostpci\d+`, prop.ParseHostPCI),
	kindOf("Hotplug", `hotplug`, func(s string) (prop.Hotplug, error) { return prop.ParseHotplug(s), nil }),
	kindOf("IPConfig", `ipconfig\d+`, prop.ParseIPConfig),
	kindOf("Machine", `machine`, prop.ParseMachine),
	kindOf("Memory", `memory`, prop.ParseMemory),
	kindOf("NUMA", `numa\d+`, prop.ParseNUMA),
	kindOf("Net", `net\d+`, prop.ParseNet),
	kindOf("RNG", `rng0`, prop.ParseRNG),
	kindOf("SMBIOS1", `smbios1`, prop.ParseSMBIOS1),
	kindOf("SSHKeys", `sshkeys`, prop.ParseSSHKeys),
	kindOf("Serial", `serial\d+`, simple(prop.ParseSerial)),
	kindOf("Size", `size`, simple(prop.ParseSize)),
	kindOf("Startup", `startup`, prop.ParseStartup),
	kindOf("TPMState", `tpmstate0`, prop.ParseTPMState),
	kindOf("Tags", `tags`, prop.ParseTags),
	kindOf("USB", `usb\d+`, prop.ParseUSB),
	kindOf("VGA", `vga`, prop.ParseVGA),
	kindOf("VirtioFS", `virtiofs\d+`, prop.ParseVirtioFS),
	kindOf("VolumeID", `hookscript`, simple(prop.ParseVolumeID)),
	kindOf("Watchdog", `watchdog`, prop.ParseWatchdog),
}

// A simple value is equal if it is the same.
type simpleValue[T interface {
	comparable
	String() string
}] struct{ v T }

func (s simpleValue[T]) String() string              { return s.v.String() }
func (s simpleValue[T]) Equal(o simpleValue[T]) bool { return s == o }

func simple[T interface {
	comparable
	String() string
}](parse func(string) (T, error)) func(string) (simpleValue[T], error) {
	return func(s string) (simpleValue[T], error) {
		v, err := parse(s)
		return simpleValue[T]{v}, err
	}
}

func kindByKey(key string) (kind, bool) {
	for _, k := range kinds {
		if k.keys.MatchString(key) {
			return k, true
		}
	}
	return kind{}, false
}

// checkRoundTrip checks all that holds for any text that can be parsed.
func checkRoundTrip(t *testing.T, k kind, s string) {
	t.Helper()
	v, err := k.parse(s)
	if err != nil {
		return
	}
	if !v.equal(v.any) {
		t.Errorf("%s %q isn't equal to itself", k.name, s)
	}
	again, err := k.parse(v.text)
	if err != nil {
		t.Fatalf("%s %q prints as %q: %v", k.name, s, v.text, err)
	}
	if again.text != v.text {
		t.Errorf("%s %q prints as %q, and that as %q", k.name, s, v.text, again.text)
	}
	if !again.equal(v.any) || !v.equal(again.any) {
		t.Errorf("%s %q prints as %q, which isn't equal", k.name, s, v.text)
	}
}
