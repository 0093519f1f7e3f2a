package karpenter

import (
	"crypto/md5" //nolint:gosec // as the page has it
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/pvesim"
)

// page is the ProxmoxTemplate of the document, with a URL, a checksum and storages of the lab.
var page = strings.ReplaceAll(`
apiVersion: karpenter.proxmox.sinextra.dev/v1alpha1
kind: ProxmoxTemplate
metadata:
  name: default
spec:
  sourceImage:
    url: http://127.0.0.1:1/noble-server-cloudimg-amd64.img
    imageName: ubuntu-amd64.qcow2
    checksum: CHECKSUM
    checksumType: md5
  storageIDs:
    - local
    - system
  machine: q35
  cpu:
    type: x86-64-v2-AES
    flags: +pdpe1gb
  vga:
    type: serial0
    memory: 16
  network:
    - name: net0
      model: virtio
      bridge: vmbr0
      mtu: 1500
      vlan: 15
      firewall: true
  tags:
    - talos-k8s-proxmox
    - karpenter
`, "CHECKSUM", md5Of(pvesim.BootableImage()))

func md5Of(b []byte) string {
	sum := md5.Sum(b) //nolint:gosec // as the page has it
	return hex.EncodeToString(sum[:])
}

func fromYAML(t *testing.T, text string) *api.ProxmoxTemplate {
	t.Helper()
	o := &api.ProxmoxTemplate{}
	if err := yaml.UnmarshalStrict([]byte(text), o); err != nil {
		t.Fatal(err)
	}
	o.Generation = 1
	return o
}

func managed(t *testing.T, text string) []client.Object {
	t.Helper()
	return append(talos()[2:], fromYAML(t, text), class(api.KindTemplate))
}

func (l *lab) template() *api.ProxmoxTemplate {
	l.t.Helper()
	var o api.ProxmoxTemplate
	if err := l.client.Get(l.t.Context(), types.NamespacedName{Name: "default"}, &o); err != nil {
		l.t.Fatal(err)
	}
	return &o
}

func TestTheTemplateOfTheDocumentIsOnAllNodesAndAllItsFieldsEndInTheConfig(t *testing.T) {
	inLab(t, labWorld(), managed(t, page), func(t *testing.T, l *lab) {
		l.settle()
		zones := l.template().Status.Zones
		if len(zones) != 2 || !strings.HasPrefix(zones[0], "lab/pve1/") || !strings.HasPrefix(zones[1], "lab/pve2/") {
			t.Fatalf("zones are %q: %+v", zones, l.template().Status.Conditions)
		}
		if l.template().Status.ImageID == "" {
			t.Error("the image has no ID")
		}
		conf := l.config(vmidOf(t, l.create(l.claim("node-1"))))
		for key, want := range map[string]string{
			"machine": "q35", "cpu": "x86-64-v2-AES,flags=+pdpe1gb", "vga": "serial0,memory=16", "cores": "2", "memory": "4096",
		} {
			if conf[key] != want {
				t.Errorf("%s is %q, want %q", key, conf[key], want)
			}
		}
		for _, want := range []string{"bridge=vmbr0", "firewall=1", "mtu=1500", "tag=15"} {
			if !strings.Contains(conf["net0"], want) {
				t.Errorf("net0 is %q, want %s", conf["net0"], want)
			}
		}
		for _, want := range []string{"talos-k8s-proxmox", "karpenter", "nodes"} {
			if !strings.Contains(conf["tags"], want) {
				t.Errorf("tags are %q, want %s", conf["tags"], want)
			}
		}
	})
}

// Another URL is another image, and so is another checksum at the same URL, where somebody has published a new one under the old name.
func TestAnotherURLOrChecksumIsAnotherImageAndNodesDrift(t *testing.T) {
	sum := sha256.Sum256(pvesim.BootableImage())
	for name, change := range map[string]func(*api.SourceImage){
		"URL":      func(s *api.SourceImage) { s.URL = "http://127.0.0.1:1/new/noble-server-cloudimg-amd64.img" },
		"checksum": func(s *api.SourceImage) { s.Checksum, s.ChecksumType = hex.EncodeToString(sum[:]), "sha256" },
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, labWorld(), managed(t, page), func(t *testing.T, l *lab) {
				l.settle()
				c := l.create(l.claim("node-1"))
				l.initialized(c)
				before := l.template().Status.ImageID
				o := l.template()
				change(&o.Spec.SourceImage)
				o.Generation = 2
				if err := l.client.Update(t.Context(), o); err != nil {
					t.Fatal(err)
				}
				for range 60 {
					l.settle()
					if l.template().Status.ImageID != before {
						break
					}
					time.Sleep(10 * time.Second)
				}
				if reason, err := l.IsDrifted(t.Context(), c); err != nil || reason != ImageDrift {
					t.Errorf("drifted: %q, %v; %+v", reason, err, l.template().Status)
				}
				l.keep(c)
				if conf := l.config(vmidOf(t, c)); conf["memory"] != "4096" {
					t.Errorf("the machine has changed: %v", conf)
				}
			})
		})
	}
}

// volumes are those of all storages.
func (l *lab) volumes() (names []string) {
	l.sim.Do(func(s *pvesim.State) {
		for _, space := range s.Spaces {
			names = slices.AppendSeq(names, maps.Keys(space.Volumes))
		}
	})
	slices.Sort(names)
	return names
}

// Each is a condition that says what to do.
func TestWhatCantBeMadeIsACondition(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*api.ProxmoxTemplate, *api.ProxmoxNodeClass)
		world  func(*pvesim.World)
		fault  pvesim.Fault
		want   string // in the message of the template, or of the class
	}{
		"URL that is 404": {change: func(o *api.ProxmoxTemplate, _ *api.ProxmoxNodeClass) {
			o.Spec.SourceImage.URL = "http://127.0.0.1:1/missing.img"
		}, want: "404"},
		"wrong checksum": {change: func(o *api.ProxmoxTemplate, _ *api.ProxmoxNodeClass) {
			o.Spec.SourceImage.Checksum, o.Spec.SourceImage.ChecksumType = strings.Repeat("0", 64), "sha256"
		}, want: "checksum"},
		"checksum of no kind": {change: func(o *api.ProxmoxTemplate, _ *api.ProxmoxNodeClass) {
			o.Spec.SourceImage.Checksum = strings.Repeat("0", 33)
		}, want: "checksum"},
		"storage without the content": {change: func(o *api.ProxmoxTemplate, _ *api.ProxmoxNodeClass) { o.Spec.StorageIDs = []string{"backup"} }, world: func(w *pvesim.World) {
			w.Storages = append(w.Storages, pvesim.WorldStorage{Name: "backup", Type: "dir", Path: "/backup", Size: 1 << 40, Content: []string{"backup"}})
		}, want: "add the content images"},
		"storage that doesn't exist": {change: func(o *api.ProxmoxTemplate, _ *api.ProxmoxNodeClass) { o.Spec.StorageIDs = []string{"nowhere"} }, want: "there is no storage nowhere"},
		"bridge in no zone":          {change: func(o *api.ProxmoxTemplate, _ *api.ProxmoxNodeClass) { o.Spec.Network[0].Bridge = "vmbr9" }, want: "there is no bridge vmbr9"},
		"mapping that doesn't exist": {change: func(o *api.ProxmoxTemplate, _ *api.ProxmoxNodeClass) {
			o.Spec.PCIDevices = []api.PCIDevice{{Mapping: "gpu"}}
		}, want: "there is no mapping gpu"},
		"disk full in the middle": {change: func(*api.ProxmoxTemplate, *api.ProxmoxNodeClass) {}, fault: pvesim.Fault{Task: "download", Error: "write failed: No space left on device"}, want: "No space left on device"},
		"disk too small": {change: func(*api.ProxmoxTemplate, *api.ProxmoxNodeClass) {}, world: func(w *pvesim.World) {
			w.Storages[0].Size = 1 << 10
		}, want: "make room on pve1"},
		"user-data that doesn't compile": {change: func(_ *api.ProxmoxTemplate, c *api.ProxmoxNodeClass) {
			c.Spec.MetadataOptions.TemplatesRef.Name = "broken"
		}, want: "the template isn't valid: user-data:3: unclosed action started at user-data:2"},
		"user-data that is no YAML": {change: func(_ *api.ProxmoxTemplate, c *api.ProxmoxNodeClass) {
			c.Spec.MetadataOptions.TemplatesRef.Name = "unreadable"
		}, want: "the template, filled in, isn't valid: user-data: line 3: it can't be read"},
		"region that doesn't exist":     {change: func(o *api.ProxmoxTemplate, _ *api.ProxmoxNodeClass) { o.Spec.Region = "moon" }, want: "there is no region moon"},
		"region of the class":           {change: func(_ *api.ProxmoxTemplate, c *api.ProxmoxNodeClass) { c.Spec.Region = "moon" }, want: "there is no region moon"},
		"template that doesn't exist":   {change: func(_ *api.ProxmoxTemplate, c *api.ProxmoxNodeClass) { c.Spec.InstanceTemplateRef.Name = "other" }, want: "there is no ProxmoxTemplate other"},
		"boot storage that isn't there": {change: func(_ *api.ProxmoxTemplate, c *api.ProxmoxNodeClass) { c.Spec.BootDevice.Storage = "nowhere" }, want: "there is no storage nowhere"},
		"flags that are none":           {change: func(o *api.ProxmoxTemplate, _ *api.ProxmoxNodeClass) { o.Spec.CPU.Flags = api.CPUFlags{`{"a":1}`} }, want: "cpu.flags"},
		"addresses that are none":       {change: func(o *api.ProxmoxTemplate, _ *api.ProxmoxNodeClass) { o.Spec.Network[0].Address4 = "somewhere" }, want: "spec.network[0].address4"},
		"a Secret that isn't there": {change: func(_ *api.ProxmoxTemplate, c *api.ProxmoxNodeClass) {
			c.Spec.MetadataOptions.TemplatesRef.Name = "lost"
		}, want: "there is no Secret lost in namespace kube-system"},
	} {
		t.Run(name, func(t *testing.T) {
			w := labWorld()
			if c.world != nil {
				c.world(w)
			}
			o, cl := fromYAML(t, page), class(api.KindTemplate)
			c.change(o, cl)
			broken := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "broken"}, Data: map[string][]byte{"user-data": []byte("#cloud-config\nhostname: {{ .Metadata.Hostname\n")}}
			unreadable := broken.DeepCopy()
			unreadable.Name, unreadable.Data["user-data"] = "unreadable", []byte("#cloud-config\nruncmd:\n- [\"{{ .Metadata.Hostname }}\"] vendor-data: |\n")
			inLab(t, w, append(talos()[2:], o, cl, broken, unreadable), func(t *testing.T, l *lab) {
				before := l.volumes()
				if c.fault.Task != "" {
					if _, err := l.sim.AddFault(c.fault); err != nil {
						t.Fatal(err)
					}
				}
				for range 3 {
					l.settle()
				}
				text := ""
				for _, cond := range append(l.template().Status.Conditions, l.class().Status.Conditions...) {
					if cond.Status == metav1.ConditionFalse {
						text += cond.Type + ": " + cond.Message + "\n"
					}
				}
				if ready := l.class().StatusConditions().Get("Ready"); !ready.IsTrue() && !strings.Contains(text, ": "+ready.Message+"\n") || strings.Contains(text, "=False") {
					t.Errorf("the column of the class has %q, and its conditions\n%s", ready.Message, text)
				}
				if ready := l.template().StatusConditions().Get("Ready"); !ready.IsTrue() && ready.Message != l.template().StatusConditions().Get(api.ConditionTemplateReady).Message {
					t.Errorf("the column of the template has %q", ready.Message)
				}
				if !strings.Contains(text, c.want) {
					t.Errorf("got\n%s\nwant %q", text, c.want)
				}
				if l.guests() != 0 {
					t.Errorf("%d VMs are left", l.guests())
				}
				if now := l.volumes(); !l.template().StatusConditions().Get("Ready").IsTrue() && !slices.Equal(now, before) {
					t.Errorf("of the template that can't be made there are %v, and were %v", now, before)
				}
			})
		})
	}
}

// The original panics on the one, and never becomes ready with the other.
func TestADotlessImageNameAndNoBootStorageAreNoReasonToFail(t *testing.T) {
	for name, boot := range map[string]*api.BootDevice{"no storage": {Size: "30G"}, "nothing": nil} {
		o, c := fromYAML(t, page), class(api.KindTemplate)
		o.Spec.SourceImage.ImageName, c.Spec.BootDevice = "ubuntu", boot
		inLab(t, labWorld(), append(talos()[2:], o, c), func(t *testing.T, l *lab) {
			l.settle()
			conf := l.config(vmidOf(t, l.create(l.claim("node-1"))))
			if !strings.HasPrefix(conf["scsi0"], "local:") {
				t.Errorf("%s: the disk is %q, want it on the storage of the template", name, conf["scsi0"])
			}
		})
	}
}

func TestTemplatesThatPeopleMadeAreFoundTheSameWayEachTime(t *testing.T) {
	w := labWorld()
	w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 9100, Node: "pve1", Template: true, Config: map[string]string{"name": "talos", "scsi0": "local-lvm:8", "net0": "virtio,bridge=vmbr0", "tags": "golden"}})
	inLab(t, w, talos(), func(t *testing.T, l *lab) {
		r, err := l.regions.Get("lab")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			spec api.UnmanagedTemplateSpec
			want map[string]int
		}{
			{api.UnmanagedTemplateSpec{TemplateName: "talos"}, map[string]int{"pve1": 9000, "pve2": 9001}},
			{api.UnmanagedTemplateSpec{TemplateName: "talos", Tags: []string{"golden"}}, map[string]int{"pve1": 9100}},
			{api.UnmanagedTemplateSpec{Tags: []string{"golden"}}, map[string]int{"pve1": 9100}},
			{api.UnmanagedTemplateSpec{TemplateName: "flatcar"}, map[string]int{}},
		} {
			found, err := findTemplates(t.Context(), r, c.spec)
			if err != nil || len(found) != len(c.want) {
				t.Fatalf("%+v: %v, %v", c.spec, found, err)
			}
			for node, id := range c.want {
				if found[node] == nil || found[node].VMID != id {
					t.Errorf("%+v: %s has %v, want %d", c.spec, node, found[node], id)
				}
			}
		}
	})
}
