package spec_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
)

func owner(door, name string) model.Owner {
	return model.Owner{Door: door, Set: "shop", Key: model.Key{Kind: "VirtualMachine", Name: name}}
}

func quantity(text string) *resource.Quantity {
	q := resource.MustParse(text)
	return &q
}

// small is a machine that nothing is wrong with.
func small(door, name string) spec.Machine {
	return spec.Machine{
		Owner:    owner(door, name),
		Class:    &spec.Class{Name: "small", CPUs: 2, Memory: *quantity("2Gi")},
		Source:   spec.Source{Template: "debian-13"},
		Networks: []spec.Network{{Name: "lan"}},
		Disks:    []spec.Disk{{Name: "root", Size: quantity("20Gi")}},
	}
}

func ExampleVM() {
	vm, image, err := spec.VM(&spec.Cluster{}, spec.Machine{
		Owner:  model.Owner{Door: "terraform", Set: "shop", Key: model.Key{Kind: "VirtualMachine", Name: "web"}},
		Class:  &spec.Class{CPUs: 2, Memory: resource.MustParse("2Gi")},
		Source: spec.Source{Template: "debian-13"},
	})
	fmt.Println(vm.Name, vm.Options["cores"], vm.Options["memory"], image.Template, err)

	_, _, err = spec.VM(&spec.Cluster{}, spec.Machine{
		Owner: model.Owner{Door: "terraform", Set: "shop", Key: model.Key{Kind: "VirtualMachine", Name: "web"}},
		Class: &spec.Class{CPUs: 2, Memory: resource.MustParse("2")},
		Disks: []spec.Disk{{Name: "root", Storage: "local-lvm"}},
	})
	fmt.Println(err)
	// Output:
	// web 2 2048 debian-13 <nil>
	// VirtualMachine web: class.memory: want at least 16Mi, have 2; did you mean 2Gi?
	// VirtualMachine web: disks[0].size: is missing
}

// Machines of different doors are different owners, so they have VMIDs and addresses of
// their own.
func TestTheDoorIsAnArgument(t *testing.T) {
	a, imageA, errA := spec.VM(&spec.Cluster{}, small("terraform", "web"))
	b, imageB, errB := spec.VM(&spec.Cluster{}, small("karpenter", "web"))
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	if a.Owner.Door != "terraform" || imageA.Owner.Door != "terraform" || b.Owner.Door != "karpenter" || imageB.Owner.Door != "karpenter" {
		t.Errorf("the owners are %+v, %+v, %+v and %+v", a.Owner, imageA.Owner, b.Owner, imageB.Owner)
	}
	if a.NICs[0].MAC == b.NICs[0].MAC || a.NICs[0].MAC != spec.MAC(a.Owner, "lan") {
		t.Errorf("the addresses are %s and %s", a.NICs[0].MAC, b.NICs[0].MAC)
	}
	b.Owner, b.NICs[0].MAC = a.Owner, a.NICs[0].MAC
	if !reflect.DeepEqual(a, b) {
		t.Errorf("they differ otherwise, too:\n%+v\n%+v", a, b)
	}
}

// An error names the field of the Go value that it is about.
func TestErrorsNameTheirFields(t *testing.T) {
	no := false
	for _, c := range []struct {
		change func(*spec.Machine)
		field  string
		text   string
	}{
		{func(m *spec.Machine) { m.Name = "not a name" }, "name", "want a host name"},
		{func(m *spec.Machine) { m.VMID = 7 }, "vmid", "want a number from 100"},
		{func(m *spec.Machine) { m.Class.CPUs = 0 }, "class.cpus", "want a number from 1"},
		{func(m *spec.Machine) { m.Class.BIOS = "efi" }, "class.bios", "did you mean"},
		{func(m *spec.Machine) { m.Class.ExtraConfig = map[string]string{"cores": "2"} }, "class.extraConfig.cores", "is for that"},
		{func(m *spec.Machine) { m.Source = spec.Source{Image: &spec.Image{}} }, "image.source", "is missing"},
		{func(m *spec.Machine) { m.Source = spec.Source{} }, "disks[0].storage", "is missing"},
		{func(m *spec.Machine) { m.Source.Template = "7" }, "template", "want a VMID"},
		{func(m *spec.Machine) { m.Power = "on" }, "powerState", "did you mean On?"},
		{func(m *spec.Machine) { m.Networks[0].StaticIP = &spec.StaticIP{Address: "10.0.0.5"} }, "networks[0].staticIP.address", "did you mean 10.0.0.5/24?"},
		{func(m *spec.Machine) { m.Networks[0].MAC = "x" }, "networks[0].mac", "want a MAC address"},
		{func(m *spec.Machine) { m.Disks[0].Slot = "scsi1" }, "disks[0]", "bus and slot are for further disks"},
		{func(m *spec.Machine) { m.ShutdownTimeout = 1 }, "shutdownTimeout", "want a time from 1s"},
		{func(m *spec.Machine) { m.Grace = -1e9 }, "grace", "want a number from 0"},
		{func(m *spec.Machine) { m.Agent = &spec.Agent{Enabled: &no, WaitForAddress: new(true)} }, "agent.waitForAddress", "without the agent"},
		{func(m *spec.Machine) { m.Filesystems = []spec.Filesystem{{Type: "nfs", Source: "/srv", Tag: "data"}} }, "filesystems[0].type", "want virtiofs or 9p"},
		{func(m *spec.Machine) { m.FirstBoot.UserData = &spec.UserData{} }, "userData", "want one of cloudInit"},
		{func(m *spec.Machine) {
			m.FirstBoot.UserData = &spec.UserData{CloudInit: &spec.CloudInit{Text: spec.Text{Content: "#cloud-config\na: [\n"}}}
		}, "userData.cloudInit", "line"},
		{func(m *spec.Machine) { m.FirstBoot.Variables = map[string]string{"no-name": "x"} }, "variables.no-name", ""},
	} {
		m := small("terraform", "web")
		c.change(&m)
		_, _, err := spec.VM(&spec.Cluster{}, m)
		var errs spec.Errors
		if !errors.As(err, &errs) || !slices.ContainsFunc(errs, func(e *spec.Error) bool {
			return e.Field == c.field && strings.Contains(e.Text.String(), c.text) && e.Object == m.Owner.Key
		}) {
			t.Errorf("want an error of %s with %q, have %v", c.field, c.text, err)
		}
	}
}

// What a text that is secret holds isn't repeated.
func TestSecretTextsStaySecret(t *testing.T) {
	m := small("terraform", "web")
	m.FirstBoot.UserData = &spec.UserData{CloudInit: &spec.CloudInit{Text: spec.Text{Content: "#cloud-config\nhunter2: [\n", Secret: true}}}
	_, _, err := spec.VM(&spec.Cluster{}, m)
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("have %v", err)
	}
}

func TestWhatTheClusterForbidsIsMarked(t *testing.T) {
	m := small("terraform", "web")
	m.Pool = "theirs"
	_, _, err := spec.VM(&spec.Cluster{Name: "lab", Allow: &spec.Allow{Pools: []string{"ours"}}}, m)
	var e *spec.Error
	if !errors.As(err, &e) || !e.Forbidden || e.Field != "pool" {
		t.Errorf("have %v", err)
	}
}

// Machines that are wanted together can't have the same addresses or meanings of a name.
func TestMachinesTogetherAreCheckedTogether(t *testing.T) {
	a, b := small("terraform", "a"), small("terraform", "b")
	for _, m := range []*spec.Machine{&a, &b} {
		m.Networks[0].StaticIP = &spec.StaticIP{Address: "10.0.0.5/24"}
		m.Networks[0].MAC = "02:00:00:00:00:01"
		m.Filesystems = []spec.Filesystem{{Type: "virtiofs", Source: "/srv/" + m.Owner.Name, Tag: "data"}}
	}
	_, err := spec.Desired(&spec.Cluster{}, "shop", []spec.Machine{a, b}, nil)
	want := []string{"filesystems[0].tag", "networks[0].mac", "networks[0].staticIP"}
	var errs spec.Errors
	errors.As(err, &errs)
	var have []string
	for _, e := range errs {
		if have = append(have, e.Field); e.Object.Name != "b" {
			t.Errorf("it is said of %s", e.Object)
		}
	}
	if !slices.Equal(have, want) {
		t.Errorf("have %v", err)
	}
	b = small("terraform", "b")
	b.Filesystems = a.Filesystems
	d, err := spec.Desired(&spec.Cluster{Defaults: spec.Defaults{Storage: "local-lvm"}}, "shop", []spec.Machine{a, b}, []spec.Image{{Owner: owner("terraform", "img"), URL: "https://example.com/a.qcow2"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.VMs) != 2 || len(d.Shares) != 1 || d.Shares[0].Path != "/srv/a" || len(d.Images) != 2 || d.Images[0].Storage != "local-lvm" || d.Range != spec.DefaultRange {
		t.Errorf("have %+v", d)
	}
}
