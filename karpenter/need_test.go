package karpenter

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/pvesim"
)

// offered counts the offerings of a zone that can be had.
func (l *lab) offered(zone string) (n int) {
	l.t.Helper()
	types, err := l.instanceTypes(l.t.Context(), l.class())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, it := range types {
		for _, o := range it.Offerings {
			if o.Zone() == zone && o.Available {
				n++
			}
		}
	}
	return n
}

// Devices of nodes are given to one machine each: what all have isn't promised to another one.
func TestPCIDevicesThatAreTakenArentPromised(t *testing.T) {
	w := labWorld()
	w.Nodes[0].PCI = map[string]string{"0000:01:00.0": "10de:2204", "0000:02:00.0": "10de:2204"}
	o := fromYAML(t, page)
	o.Spec.PCIDevices = []api.PCIDevice{{Mapping: "gpu"}}
	inLab(t, w, append(talos()[2:], o, class(api.KindTemplate)), func(t *testing.T, l *lab) {
		l.sim.Do(func(s *pvesim.State) {
			s.HardwareMaps["pci"] = map[string]*pvesim.HardwareMap{"gpu": {Map: []string{"id=10de:2204,node=pve1,path=0000:01:00.0", "id=10de:2204,node=pve1,path=0000:02:00.0"}}}
		})
		l.settle()
		if zones := l.class().Status.SelectedZones; len(zones) != 1 || !strings.HasPrefix(zones[0], "lab/pve1/") {
			t.Errorf("selected are %v: only pve1 has such devices", zones)
		}
		for _, name := range []string{"a", "b"} {
			if l.offered("pve1") == 0 {
				t.Fatalf("nothing is offered for %s", name)
			}
			if conf := l.config(vmidOf(t, l.create(l.claim(name)))); !strings.Contains(conf["hostpci0"], "mapping=gpu") {
				t.Errorf("hostpci0 is %q", conf["hostpci0"])
			}
		}
		if n := l.offered("pve1"); n > 0 {
			t.Errorf("%d machines are promised, and no device is left", n)
		}
		_, err := l.Create(t.Context(), l.claim("c"))
		if !cloudprovider.IsInsufficientCapacityError(err) || !strings.Contains(err.Error(), "0 of 2 devices of mapping gpu free") {
			t.Errorf("got %v", err)
		}
	})
}

// A storage without thin provisioning gives a disk all of its size at once.
func TestAStorageThatIsFullIsntPromised(t *testing.T) {
	w := labWorld()
	w.Storages = append(w.Storages, pvesim.WorldStorage{Name: "thick", Type: "lvm", Size: 70 << 30, Content: []string{"images"}, Options: map[string]string{"vgname": "thick"}})
	c := class(api.KindUnmanagedTemplate)
	c.Spec.BootDevice.Storage = "thick"
	objects := talos()
	objects[1] = c
	inLab(t, w, objects, func(t *testing.T, l *lab) {
		large := Grid()[0]
		large.Name, large.Capacity = "db.1VCPU-2GB", large.Capacity.DeepCopy()
		large.Capacity[corev1.ResourceEphemeralStorage] = resource.MustParse("100Gi")
		l.sizes = append(l.sizes, large)
		l.settle()
		zones, err := l.zones(t.Context(), l.class())
		if err != nil || len(zones) != 2 {
			t.Fatal(zones, err)
		}
		if why := zones[0].unfit(large.in(l.class())); !strings.Contains(why, "storage thick has 70") || zones[0].unfit(l.sizes[0].in(l.class())) != "" {
			t.Errorf("a disk of 100 GiB: %q", why)
		}
		for _, name := range []string{"a", "b"} {
			l.create(l.claim(name, zoneIs("pve1")))
		}
		if n := l.offered("pve1"); n > 0 {
			t.Errorf("%d machines are promised on pve1, whose storage is full", n)
		}
		if l.offered("pve2") == 0 {
			t.Error("nothing is promised on pve2")
		}
		_, err = l.Create(t.Context(), l.claim("c", zoneIs("pve1")))
		if !cloudprovider.IsInsufficientCapacityError(err) || !strings.Contains(err.Error(), "storage thick has") {
			t.Errorf("got %v", err)
		}
	})
}

// A bridge that one node doesn't have is no reason against the others.
func TestAZoneWithoutTheBridgeIsntSelected(t *testing.T) {
	w := labWorld()
	w.Nodes[0].Bridges = append(w.Nodes[0].Bridges, pvesim.WorldBridge{Name: "vmbr7"})
	o := fromYAML(t, page)
	o.Spec.Network[0].Bridge = "vmbr7"
	inLab(t, w, append(talos()[2:], o, class(api.KindTemplate)), func(t *testing.T, l *lab) {
		l.settle()
		if zones := l.class().Status.SelectedZones; len(zones) != 1 || !strings.HasPrefix(zones[0], "lab/pve1/") {
			t.Fatalf("selected are %v: only pve1 has the bridge", zones)
		}
		l.create(l.claim("a"))
	})
}
