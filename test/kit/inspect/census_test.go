package inspect_test

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/inspect"
)

var ours = model.Owner{Door: "vm", Set: "shop", Key: model.Key{Kind: "VirtualMachine", Name: "web"}}

// add puts a machine of ours into the state, with a disk.
func add(s *pvesim.State, id int, owner model.Owner) {
	volume := "vm-" + owner.Name + "-disk-0.qcow2"
	s.VMs[id] = &pvesim.VM{ID: id, Node: "pve1", Conf: pvesim.Conf{
		"name": owner.Name, "scsi0": "nfs:" + volume, "description": model.Marker{Owner: owner, VMID: id}.String(),
	}}
	s.Spaces[pvesim.SpaceKey{Storage: "nfs"}].Volumes[volume] = &pvesim.Volume{VMID: id, Size: 1 << 30}
}

func TestWhatIsWrongIsFound(t *testing.T) {
	theirs := 9000
	for _, c := range []struct {
		reason string
		change func(*pvesim.State)
		want   string // empty: all is well
	}{
		{"nothing happened", func(*pvesim.State) {}, ""},
		{"theirs has another option", func(s *pvesim.State) { s.VMs[theirs].Conf["cores"] = "64" }, "VM 9000, which isn't ours, was changed: -cores: 2 +cores: 64"},
		{"theirs is gone", func(s *pvesim.State) { delete(s.VMs, theirs) }, "VM 9000, which isn't ours, was changed"},
		{"theirs is under HA", func(s *pvesim.State) { s.HA.Resources["vm:9000"] = map[string]string{"state": "started"} }, "+HA state: started"},
		{"a disk of theirs is gone", func(s *pvesim.State) { clear(s.Spaces[pvesim.SpaceKey{Storage: "nfs"}].Volumes) }, "which isn't ours, was changed"},
		{"ours is there twice", func(s *pvesim.State) { add(s, 101, ours) }, "virtualmachine/web of set shop has 2 machines: [100 101]"},
		{"ours isn't there", func(s *pvesim.State) { s.VMs[100].Conf["description"] = "" }, "virtualmachine/web of set shop has 0 machines"},
		{"a copy of ours is nobody's", func(s *pvesim.State) {
			copied := *s.VMs[100]
			s.VMs[102] = &copied
		}, "VM 102 (web) is nobody's"},
		{"a disk that nobody has", func(s *pvesim.State) { delete(s.VMs[100].Conf, "scsi0") }, "volume /nfs:vm-web-disk-0.qcow2 is left behind"},
		{"an unused disk", func(s *pvesim.State) { s.VMs[100].Conf["unused0"] = "nfs:x" }, "VM 100 has an unused disk"},
		{"a lock", func(s *pvesim.State) { s.VMs[100].Conf["lock"] = "clone" }, "VM 100 is locked (clone)"},
		{"an entry of HA", func(s *pvesim.State) { s.HA.Resources["vm:77"] = map[string]string{} }, "HA still has vm:77"},
		{"a rule of HA", func(s *pvesim.State) { s.HA.Rules["apart"] = map[string]string{"resources": "vm:100,vm:77"} }, "HA still has the rule apart"},
		{"an entry of a pool", func(s *pvesim.State) { s.Pools["team"] = &pvesim.Pool{VMs: map[int]bool{77: true}} }, "pool team still has VM 77"},
	} {
		sim, err := pvesim.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		sim.Do(func(s *pvesim.State) {
			before := inspect.Take(s)
			add(s, 100, ours)
			c.change(s)
			found := strings.Join(append(append(before.Touched(s), before.Wishes(s, ours)...), before.Left(s)...), "\n")
			if c.want == "" && found != "" || !strings.Contains(found, c.want) {
				t.Errorf("%s: found %q, want %q", c.reason, found, c.want)
			}
		})
		sim.Close()
	}
}

func TestWritesToMachinesOfOthersAreFound(t *testing.T) {
	sim, err := pvesim.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	var before *inspect.Census
	sim.Do(func(s *pvesim.State) { before = inspect.Take(s) })
	for request, bad := range map[string]bool{
		"GET /api2/json/nodes/pve1/qemu/9000/config":        false,
		"POST /api2/json/nodes/pve1/qemu/9000/clone":        false,
		"POST /api2/json/nodes/pve1/qemu/100/status/start":  false,
		"POST /api2/json/nodes/pve1/qemu":                   false,
		"PUT /api2/json/nodes/pve1/qemu/9000/config":        true,
		"DELETE /api2/json/nodes/pve1/qemu/9000?purge=1":    true,
		"DELETE /api2/json/cluster/ha/resources/vm:9000":    true,
		"PUT /api2/json/cluster/ha/resources/vm%3A9000":     true,
		"POST /api2/json/nodes/pve1/qemu/9000/status/start": true,
	} {
		method, url, _ := strings.Cut(request, " ")
		if found := before.Written([]pvesim.Request{{N: 7, Method: method, URL: url}}); (len(found) > 0) != bad {
			t.Errorf("%s: found %v", request, found)
		}
	}
}
