package karpenter

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/yaml"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// changeClass changes the class.
func (l *lab) changeClass(change func(*api.ProxmoxNodeClass)) {
	l.t.Helper()
	c := l.class()
	change(c)
	c.Generation++
	if err := l.client.Update(l.t.Context(), c); err != nil {
		l.t.Fatal(err)
	}
	l.settle()
}

// Tags, pool and security groups of a class are changed in the machines that are there, and replace none.
func TestTagsPoolAndSecurityGroupsAreChangedInPlace(t *testing.T) {
	w := labWorld()
	w.Pools = []pvesim.WorldPool{{ID: "nodes"}}
	inLab(t, w, talos(), func(t *testing.T, l *lab) {
		l.sim.Do(func(s *pvesim.State) { s.Firewall.Groups["kubelet"] = &pvesim.FirewallGroup{} })
		l.settle()
		c := l.create(l.claim("node-1"))
		l.initialized(c)
		id := vmidOf(t, c)
		l.changeClass(func(c *api.ProxmoxNodeClass) {
			c.Spec.Tags, c.Spec.ResourcePool, c.Spec.SecurityGroups = []string{"blue"}, "nodes", []api.SecurityGroup{{Name: "kubelet", Interface: "net0"}}
		})
		if reason, err := l.IsDrifted(t.Context(), c); err != nil || reason != "" {
			t.Errorf("it has drifted: %q, %v", reason, err)
		}
		l.keep(c)
		time.Sleep(time.Minute)
		if _, err := l.regions.all["lab"].Site.Await(t.Context(), l.ownerOf(c), site.Ready); err != nil {
			t.Fatal(err)
		}
		tags := l.config(id)["tags"]
		if !strings.Contains(tags, "blue") || strings.Contains(tags, "nodes") {
			t.Errorf("tags are %q", tags)
		}
		l.sim.Do(func(s *pvesim.State) {
			if p := s.Pools["nodes"]; p == nil || !p.VMs[id] {
				t.Errorf("it isn't in the pool: %+v", p)
			}
			if f := s.Firewall.Files[fmt.Sprintf("vm/%d", id)]; f == nil || len(f.Rules) != 1 || f.Rules[0]["action"] != "kubelet" {
				t.Errorf("the firewall is %+v", f)
			}
			if s.VMs[id].Run == nil || restarted(s) {
				t.Error("it was restarted")
			}
		})
	})
}

// restarted reports whether a machine was stopped.
func restarted(s *pvesim.State) bool {
	for _, list := range s.Tasks {
		for _, task := range list {
			if task.Type == "qmstop" || task.Type == "qmshutdown" || task.Type == "qmreboot" {
				return true
			}
		}
	}
	return false
}

// A class that nodes use stays until the last one is gone, and says why. Nothing new is made by it.
func TestAClassInUseStaysUntilItsNodesAreGone(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		l.settle()
		c := l.create(l.claim("node-1"))
		if err := l.client.Delete(t.Context(), l.class()); err != nil {
			t.Fatal(err)
		}
		r := &classes{client: l.client, provider: l.CloudProvider}
		if _, err := r.Reconcile(t.Context(), request("default")); err != nil {
			t.Fatal(err)
		}
		if ready := l.class().StatusConditions().Get("Ready"); ready.Reason != "Deleting" || !strings.Contains(ready.Message, "NodeClaim node-1 uses it") {
			t.Errorf("it says %+v", ready)
		}
		if _, err := l.Create(t.Context(), l.claim("node-2")); !cloudprovider.IsInsufficientCapacityError(err) || !strings.Contains(err.Error(), "is being deleted") {
			t.Errorf("got %v", err)
		}
		if l.config(vmidOf(t, c)) == nil {
			t.Error("the machine has gone with the class")
		}
		for _, name := range []string{"node-1", "node-2"} {
			if err := l.client.Delete(t.Context(), &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Reconcile(t.Context(), request("default")); err != nil {
			t.Fatal(err)
		}
		var gone api.ProxmoxNodeClass
		if err := l.client.Get(t.Context(), types.NamespacedName{Name: "default"}, &gone); client.IgnoreNotFound(err) != nil || err == nil {
			t.Errorf("it is still there: %v", err)
		}
	})
}

// handmade is the template of the document, as qm config shows it.
const handmade = `
acpi: 1
agent: enabled=0,fstrim_cloned_disks=0,type=virtio
arch: x86_64
bios: seabios
boot: order=scsi0
cicustom: user=local:snippets/common.yaml
cores: 1
cpu: cputype=host
cpuunits: 1024
ide2: local:1002/vm-1002-cloudinit.qcow2,media=cdrom
ipconfig0: ip=dhcp,ip6=auto
keyboard: en-us
machine: q35
memory: 512
meta: creation-qemu=9.2.0,ctime=1754811620
name: talos
nameserver: 1.1.1.1 2001:4860:4860::8888
net0: virtio=BC:24:11:7D:F3:15,bridge=vmbr0,firewall=1,mtu=1500
numa: 1
onboot: 0
ostype: l26
protection: 0
scsi0: local:1002/vm-1002-disk-0.raw,aio=io_uring,backup=1,cache=none,discard=ignore,iothread=1,replicate=1,size=3G
scsihw: virtio-scsi-single
serial0: socket
smbios1: uuid=e536baad-cf78-4543-9034-60295eed2b22
sockets: 1
tablet: 0
template: 1
vga: memory=16,type=serial0
vmgenid: 0f832f6f-eb15-4e94-a44f-03698adee947
`

// unmanagedPage is the ProxmoxUnmanagedTemplate of the document.
const unmanagedPage = `
apiVersion: karpenter.proxmox.sinextra.dev/v1alpha1
kind: ProxmoxUnmanagedTemplate
metadata:
  name: default
spec:
  # The name of the Proxmox template (Required)
  templateName: talos
`

// Nodes are made from the template that the document shows, by the object that it shows.
func TestTheTemplateThatTheDocumentHasPeopleMake(t *testing.T) {
	var conf map[string]any
	if err := yaml.Unmarshal([]byte(handmade), &conf); err != nil {
		t.Fatal(err)
	}
	w := labWorld()
	w.Guests = nil
	g := pvesim.WorldGuest{ID: 1002, Node: "pve2", Template: true, System: pvesim.WithoutAgent, Config: map[string]string{}}
	for key, value := range conf {
		switch key {
		case "template", "meta": // see above; Proxmox writes it itself
		case "scsi0":
			g.Config[key] = "local:3,aio=io_uring,backup=1,cache=none,discard=ignore,iothread=1,replicate=1"
		case "ide2":
			g.Config[key] = "local:cloudinit,media=cdrom"
		default:
			b, err := yaml.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			g.Config[key] = strings.TrimSpace(string(b))
		}
	}
	w.Guests = []pvesim.WorldGuest{g}
	u := &api.ProxmoxUnmanagedTemplate{}
	if err := yaml.UnmarshalStrict([]byte(unmanagedPage), u); err != nil {
		t.Fatal(err)
	}
	u.Generation = 1
	objects := talos()
	objects[0] = u
	inLab(t, w, objects, func(t *testing.T, l *lab) {
		l.settle()
		c := l.create(l.claim("node-1"))
		conf := l.config(vmidOf(t, c))
		if conf["cores"] != "2" || conf["memory"] != "4096" || conf["machine"] != "q35" || !strings.Contains(conf["net0"], "bridge=vmbr0") || !strings.Contains(conf["scsi0"], "size=30G") {
			t.Errorf("it is %v", conf)
		}
		if conf["ide2"] != "" || !strings.Contains(conf["ide0"], "proxplane-") { // without its drive, cicustom is for nobody
			t.Errorf("its first-boot data would be those of the template: %s, %s", conf["ide0"], conf["ide2"])
		}
	})
}

// A node that karpenter-provider-proxmox has made is neither touched nor lost; what is made from then on is ours.
func TestNodesOfTheOriginalAreNeitherTouchedNorLost(t *testing.T) {
	w := labWorld()
	w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 20000, Node: "pve1", Running: true, System: pvesim.WithAgent, Config: map[string]string{
		"name": "default-abcde", "ostype": "l26", "cores": "4", "memory": "8192", "agent": "enabled=1", "scsi0": "local-lvm:30", "net0": "virtio,bridge=vmbr0", "tags": "karpenter", "description": "Karpenter managed",
	}})
	inLab(t, w, talos(), func(t *testing.T, l *lab) {
		l.settle()
		old := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
			Name: "default-abcde", UID: "uid-old", Labels: map[string]string{corev1.LabelTopologyRegion: "lab", corev1.LabelTopologyZone: "pve1", corev1.LabelInstanceTypeStable: "s1.4VCPU-8GB"},
			Annotations: map[string]string{api.AnnotationNodeClassHash: "14095742384", api.AnnotationNodeClassHashVersion: "v1"},
		}, Spec: v1.NodeClaimSpec{NodeClassRef: &v1.NodeClassReference{Group: api.Group, Kind: api.KindNodeClass, Name: "default"}}}
		if err := l.client.Create(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		old.Status.ProviderID = "proxmox://lab/20000"
		old.StatusConditions().SetTrue(v1.ConditionTypeInitialized)
		if err := l.client.Status().Update(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		before := l.digest(20000)
		k := &keeper{client: l.client, provider: l.CloudProvider}
		if _, err := k.Reconcile(t.Context(), request(old.Name)); err != nil {
			t.Fatal(err)
		}
		if err := l.client.Get(t.Context(), types.NamespacedName{Name: old.Name}, old); err != nil || old.Annotations[v1.DoNotDisruptAnnotationKey] != "true" {
			t.Errorf("Karpenter may disrupt it: %v, %v", old.Annotations, err)
		}
		if !l.listed()["proxmox://lab/20000"] {
			t.Error("Karpenter takes it for gone")
		}
		if _, err := l.Get(t.Context(), "proxmox://lab/20000"); err != nil { // it would remove the Node without draining it
			t.Errorf("got %v", err)
		}
		if reason, err := l.IsDrifted(t.Context(), old); err != nil || reason != "" {
			t.Errorf("it has drifted: %q, %v", reason, err)
		}
		if err := l.Delete(t.Context(), old); err == nil || cloudprovider.IsNodeClaimNotFoundError(err) || !strings.Contains(err.Error(), "wasn't made by proxplane") {
			t.Errorf("got %v", err)
		}
		mine := l.create(l.claim("node-1"))
		collect := &collector{direct: l.client, provider: l.CloudProvider, log: l.regions.log}
		for range 3 {
			time.Sleep(time.Minute)
			if err := collect.round(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if l.digest(20000) != before || before == "" {
			t.Error("the machine of the original isn't as it was")
		}
		if l.config(vmidOf(t, mine)) == nil {
			t.Error("ours is gone")
		}
		// Once somebody has destroyed it, its NodeClaim can go.
		l.sim.Do(func(s *pvesim.State) { delete(s.VMs, 20000) })
		time.Sleep(time.Minute)
		if err := l.Delete(t.Context(), old); !cloudprovider.IsNodeClaimNotFoundError(err) {
			t.Errorf("got %v", err)
		}
	})
}

func (l *lab) digest(vmid int) (text string) {
	l.sim.Do(func(s *pvesim.State) {
		if vm := s.VMs[vmid]; vm != nil {
			text = vm.Digest()
		}
	})
	return text
}

// Events tell what happens to templates, classes and nodes.
func TestEventsTellWhatHappens(t *testing.T) {
	inLab(t, labWorld(), managed(t, page), func(t *testing.T, l *lab) {
		recorder := events.NewFakeRecorder(1000)
		l.events = teller{recorder}
		l.settle()
		c := l.create(l.claim("node-1"))
		l.changeClass(func(c *api.ProxmoxNodeClass) { c.Spec.BootDevice.Size = "40G" })
		if reason, err := l.IsDrifted(t.Context(), c); err != nil || reason != NodeClassDrift {
			t.Errorf("drifted: %q, %v", reason, err)
		}
		if _, err := l.Create(t.Context(), l.claim("node-2", zoneIs("pve9"))); !cloudprovider.IsInsufficientCapacityError(err) {
			t.Errorf("got %v", err)
		}
		all := ""
		for len(recorder.Events) > 0 {
			all += <-recorder.Events + "\n"
		}
		for _, want := range []string{
			"Normal Ready the template is in 2 zones", "Normal Ready nodes can be made in 2 zones", "Warning NoCapacity insufficient capacity, no machine can be made for node-2", "Normal Drifted NodeClassDrift: its ProxmoxNodeClass says something else",
		} {
			if !strings.Contains(all, want) {
				t.Errorf("nobody says %q:\n%s", want, all)
			}
		}
		if n := strings.Count(all, "the template is in 2 zones"); n != 1 {
			t.Errorf("it is said %d times that the template is ready", n)
		}
	})
}

// A Proxmox node that is lost keeps a machine from going: that is said, and the machine goes when the node is back.
func TestAMachineOnALostProxmoxNodeGoesWhenItIsBack(t *testing.T) {
	inLab(t, sim.Lab(3, pvesim.WorldNode{CPUs: 32, Memory: 64 << 30}, "talos"), talos(), func(t *testing.T, l *lab) {
		recorder := events.NewFakeRecorder(1000)
		l.events = teller{recorder}
		l.settle()
		c := l.create(l.claim("node-1", zoneIs("pve2")))
		l.initialized(c)
		l.sim.Do(func(s *pvesim.State) { s.Nodes["pve2"].State = pvesim.Offline })
		time.Sleep(time.Minute)
		// Karpenter drains no node whose machine it can't get, and removes one whose machine is gone.
		if is, err := l.Get(t.Context(), c.Status.ProviderID); err != nil || is.Status.ProviderID != c.Status.ProviderID {
			t.Errorf("got %v, %v", is, err)
		}
		for range 5 {
			if err := l.Delete(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
		}
		all := ""
		for len(recorder.Events) > 0 {
			all += <-recorder.Events + "\n"
		}
		if !strings.Contains(all, "Warning NotRemoved VM "+strconv.Itoa(vmidOf(t, c))+" isn't removed yet: ") || !strings.Contains(all, "pve2") {
			t.Errorf("nobody says why:\n%s", all)
		}
		// Others are made meanwhile, and not there.
		if other := l.create(l.claim("node-2")); other.Labels[corev1.LabelTopologyZone] == "pve2" {
			t.Errorf("the next one is on %v", other.Labels)
		}
		l.sim.Do(func(s *pvesim.State) { s.Nodes["pve2"].State = pvesim.Online })
		l.gone(c)
		if n := l.guests(); n != 1 {
			t.Errorf("%d machines are left", n)
		}
	})
}

// The kubelet aligns devices and CPUs by NUMA nodes only if the machine has some.
func TestATopologyPolicyGivesMachinesNUMA(t *testing.T) {
	objects := talos()
	c := class(api.KindUnmanagedTemplate)
	c.Spec.KubeletConfiguration = &api.KubeletConfiguration{TopologyManagerPolicy: "single-numa-node"}
	objects[1] = c
	inLab(t, labWorld(), objects, func(t *testing.T, l *lab) {
		l.settle()
		if conf := l.config(vmidOf(t, l.create(l.claim("node-1")))); conf["numa"] != "1" {
			t.Errorf("numa is %q", conf["numa"])
		}
	})
}

// The disk of a machine is as large as its instance type says, if that is more than the class has.
func TestTheLargerDiskCounts(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		var err error
		if l.sizes, err = parseSizes([]byte(`[{"name": "db.2VCPU-4GB", "capacity": {"cpu": "2", "memory": "4Gi", "ephemeral-storage": "100Gi"}},
			{"name": "c1.2VCPU-5GB", "capacity": {"cpu": "2", "memory": "5Gi", "ephemeral-storage": "10Gi"}, "price": 9}]`)); err != nil {
			t.Fatal(err)
		}
		l.settle()
		for name, want := range map[string]string{"db.2VCPU-4GB": "100G", "c1.2VCPU-5GB": "30G"} {
			c := l.create(l.claim("node-"+want[:2]+"x", v1.NodeSelectorRequirementWithMinValues{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}))
			disk := c.Status.Capacity[corev1.ResourceEphemeralStorage]
			if conf := l.config(vmidOf(t, c)); !strings.Contains(conf["scsi0"], "size="+want) || disk.String() != want+"i" {
				t.Errorf("%s: the disk is %s, and the node's %s", name, conf["scsi0"], disk.String())
			}
		}
	})
}

// Karpenter drains no Node whose machine it can't get: one on a lost Proxmox node counts as existing, also for a process that has never read its config.
func TestAMachineThatCantBeReadCountsAsExisting(t *testing.T) {
	inLab(t, sim.Lab(3, pvesim.WorldNode{CPUs: 32, Memory: 64 << 30}, "talos"), talos(), func(t *testing.T, l *lab) {
		l.settle()
		c := l.create(l.claim("node-1", zoneIs("pve2")))
		l.initialized(c)
		l.regions.close()
		l.sim.Do(func(s *pvesim.State) { s.Nodes["pve2"].State = pvesim.Offline })
		_, end := l.process(0, false)
		defer end()
		recorder := events.NewFakeRecorder(1000)
		l.events = teller{recorder}
		time.Sleep(time.Minute)
		id := c.Status.ProviderID
		if is, err := l.Get(t.Context(), id); err != nil || is.Status.ProviderID != id || is.Name != c.Name {
			t.Errorf("got %v, %v", is, err)
		}
		if !l.listed()[id] {
			t.Error("Karpenter takes it for gone")
		}
		if _, err := l.Get(t.Context(), "proxmox://lab/4711"); !cloudprovider.IsNodeClaimNotFoundError(err) {
			t.Errorf("a machine that nobody has: %v", err)
		}
		if err := l.Delete(t.Context(), c); cloudprovider.IsNodeClaimNotFoundError(err) {
			t.Errorf("it is gone: %v", err)
		}
		all := ""
		for len(recorder.Events) > 0 {
			all += <-recorder.Events + "\n"
		}
		if !strings.Contains(all, "Warning NotRemoved VM "+strconv.Itoa(vmidOf(t, c))+" isn't removed yet: ") || !strings.Contains(all, "pve2") {
			t.Errorf("nobody says why:\n%s", all)
		}
	})
}

// A mistake in the file of instance types is refused at the start, rather than sizes that no NodePool gets.
func TestMistakesInInstanceTypesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                              "there is none",
		`{}`:                              "cannot unmarshal",
		`[{"name": "a", "capacity": {}}]`: "a: capacity.cpu has to be 1 or more",
		`[{"name": "a", "capacity": {"cpu": "1", "memory": "1"}}]`:                                                             "a: capacity.memory has to be 256Mi or more",
		`[{"capacity": {"cpu": "1", "memory": "1Gi"}}]`:                                                                        "entry 0 has no name",
		`[{"name": "my size", "capacity": {"cpu": "1", "memory": "1Gi"}}]`:                                                     "my size: the name has to be one that a label can have",
		`[{"name": "a", "capacity": {"cpu": "1", "memory": "1Gi"}, "capacitytype": "ondemand"}]`:                               `a: capacitytype has to be on-demand or spot, have "ondemand"`,
		`[{"name": "a", "capacity": {"cpu": "1", "memory": "1Gi"}, "price": -1}]`:                                              "a: the price is negative",
		`[{"name": "a", "capacity": {"cpu": "1", "memory": "1Gi"}}, {"name": "a", "capacity": {"cpu": "1", "memory": "1Gi"}}]`: "a is there twice",
	} {
		if _, err := parseSizes([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// Of two sizes with the same CPUs and memory, a machine keeps the one that it was made with; memory is what Proxmox can have.
func TestAMachineKeepsItsSize(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		var err error
		if l.sizes, err = parseSizes([]byte(`[{"name": "a.1", "capacity": {"cpu": "2", "memory": "4G"}}, {"name": "b.1", "capacity": {"cpu": "2", "memory": "4G"}, "price": 9}]`)); err != nil {
			t.Fatal(err)
		}
		l.settle()
		c := l.claim("node-1")
		made, err := l.Create(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.client.Get(t.Context(), request(c.Name).NamespacedName, c); err != nil { // where it is made was written down
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		again, err := l.Create(t.Context(), c)
		if err != nil || again.Labels[corev1.LabelInstanceTypeStable] != "a.1" || made.Labels[corev1.LabelInstanceTypeStable] != "a.1" {
			t.Fatalf("it is %v, and was %v: %v", again, made.Labels, err)
		}
		if memory := again.Status.Capacity.Memory(); l.config(vmidOf(t, again))["memory"] != "3814" || memory.Value() != 3814<<20 {
			t.Errorf("the machine has %s, and the node %v", l.config(vmidOf(t, again))["memory"], memory)
		}
	})
}
