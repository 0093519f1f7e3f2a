package karpenter

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/spec"
)

// made is what a machine is made from. It is kept in an annotation of its NodeClaim: what becomes of the class and
// the template later is no reason to change a machine that is there.
type made struct {
	Region   string                  `json:"region"`
	Zone     string                  `json:"zone"`
	Size     string                  `json:"size"`
	CPUs     int64                   `json:"cpus"`
	Memory   int64                   `json:"memory"`
	NUMA     bool                    `json:"numa,omitempty"`
	Pin      *pin                    `json:"pin,omitempty"`
	Boot     *api.BootDevice         `json:"boot,omitempty"`
	Source   api.InstanceTemplateRef `json:"source"`
	Template *api.TemplateSpec       `json:"template,omitempty"`     // nil: people made it
	VMID     int                     `json:"templateVMID,omitempty"` // 0: what the image of Template has in the zone
	Image    string                  `json:"image"`                  // see status.imageID of templates
	// What machines have of a template that people made.
	Interfaces []inherited `json:"interfaces,omitempty"`
	Search     []string    `json:"search,omitempty"`
	SMBIOS     string      `json:"smbios,omitempty"`
	// Hosts are what the Proxmox node itself has on the bridges of the machine, and Taken are addresses of their networks that no machine may get.
	Hosts map[string]model.BridgeHost `json:"hosts,omitempty"`
	Taken []string                    `json:"taken,omitempty"`
	// UUID of the machine in its firmware; empty: the machine was begun before it was chosen here.
	UUID string `json:"uuid,omitempty"`
}

// asMade reads what the machine of a NodeClaim was made from; nil: that isn't known, so it isn't ours.
func asMade(claim *v1.NodeClaim) *made {
	text := claim.Annotations[api.AnnotationMachine]
	if text == "" {
		return nil
	}
	m := &made{}
	if err := json.Unmarshal([]byte(text), m); err != nil {
		return nil
	}
	return m
}

// String returns the value of the annotation.
func (m made) String() string {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // plain values only
	}
	return string(b)
}

// inPlace is what of a class may change without another machine.
type inPlace struct {
	Tags   []string
	Pool   string
	Groups []api.SecurityGroup
}

func inPlaceOf(class *api.ProxmoxNodeClass) inPlace {
	return inPlace{Tags: class.Spec.Tags, Pool: class.Spec.ResourcePool, Groups: class.Spec.SecurityGroups}
}

// machine is the machine that is wanted, and the cluster that it is translated for.
func (m made) machine(owner model.Owner, cluster spec.Cluster, at inPlace) (spec.Machine, *spec.Cluster) {
	memory := *resource.NewQuantity(m.Memory, resource.BinarySI)
	out := spec.Machine{
		Owner: owner, Name: owner.Name, Class: &spec.Class{Name: m.Size, CPUs: int(m.CPUs), Memory: memory}, Tags: at.Tags, Pool: at.Pool,
		Place: model.Place{Nodes: []string{m.Zone}}, Description: "Karpenter node " + owner.Name, Destroy: true,
	}
	if m.NUMA {
		out.Class.NUMA = &spec.NUMA{}
	}
	m.Pin.into(out.Class)
	root := spec.Disk{Name: "root"}
	if b := m.Boot; b != nil {
		root.Storage = b.Storage
		root.Size = bootSize(b)
	}
	out.Disks = []spec.Disk{root}
	out.Source = spec.Source{Copy: true}
	if m.Template == nil {
		out.Source.Template = strconv.Itoa(m.VMID)
		for i, n := range m.interfaces() {
			out.Networks = append(out.Networks, network(i, n, m.Taken, &cluster))
		}
	} else {
		m.hardware(&out, &cluster)
		if m.VMID != 0 {
			out.Source = spec.Source{Copy: true, Template: strconv.Itoa(m.VMID)}
		}
	}
	out.Firewall = firewallOf(at.Groups)
	return out, &cluster
}

// uuidOf is the UUID that a machine has in its firmware.
func uuidOf(owner model.Owner) string {
	sum := sha256.Sum256([]byte("uuid\x00" + owner.ID() + "\x00" + owner.UID))
	u := sum[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80 // version 8: made by a rule of our own
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// bootSize is how large the disk of a machine is; nil: as large as that of the template. As in Proxmox, 30G are 30 GiB.
func bootSize(b *api.BootDevice) *resource.Quantity {
	if b == nil || b.Size == "" {
		return nil
	}
	text := b.Size
	if strings.HasSuffix(text, "G") || strings.HasSuffix(text, "T") {
		text += "i"
	}
	size, err := resource.ParseQuantity(text)
	if err != nil {
		return nil // the API server takes no such text
	}
	return &size
}

// firewallOf is the firewall with some groups; nil: none is asked for, and it is left as it is.
func firewallOf(groups []api.SecurityGroup) *spec.Firewall {
	if len(groups) == 0 {
		return nil
	}
	f := &spec.Firewall{PolicyIn: "ACCEPT"}
	for _, g := range groups {
		f.Rules = append(f.Rules, spec.FirewallRule{SecurityGroup: g.Name, Network: g.Interface})
	}
	return f
}

// hardware is what a ProxmoxTemplate says about machines.
func (m made) hardware(out *spec.Machine, cluster *spec.Cluster) {
	t := m.Template
	c := out.Class
	c.Machine, c.BIOS, c.TPM, c.SCSIController, c.Serial = t.Machine, t.BIOS, t.TPM != nil, "virtio-scsi-single", true
	if t.CPU != nil {
		c.CPUType, c.CPU.Flags = t.CPU.Type, t.CPU.Flags
	}
	if t.VGA != nil {
		c.VGA = t.VGA.Type
		if t.VGA.Memory != nil {
			c.VGA += ",memory=" + strconv.Itoa(*t.VGA.Memory)
		}
	}
	if a := t.Agent; a != nil {
		out.Agent = &spec.Agent{Enabled: &a.Enabled, TrimClonedDisks: a.FsTrimClonedDisks != nil && *a.FsTrimClonedDisks}
	} else {
		out.Agent = &spec.Agent{Enabled: new(bool)}
	}
	out.OnBoot = t.OnBoot
	out.Tags = append(append([]string{}, t.Tags...), out.Tags...)
	if out.Pool == "" {
		out.Pool = t.ResourcePool
	}
	for _, d := range t.PCIDevices {
		out.PCIMappings = append(out.PCIMappings, spec.PCIMapping{Name: d.Mapping, MDev: d.MDev, PCIe: d.PCIe != nil && *d.PCIe, PrimaryGPU: d.XVGA != nil && *d.XVGA})
	}
	cluster.Networks = maps.Clone(cluster.Networks)
	for i, n := range m.interfaces() {
		out.Networks = append(out.Networks, network(i, n, m.Taken, cluster))
	}
	out.Source.Image = imageOf(out.Owner, m.Source.Name, t)
}

// Settings that package spec has no words for.
func (m made) finish(vm *model.VM) {
	if m.UUID != "" {
		firmware, err := prop.ParseSMBIOS1(m.SMBIOS)
		if err != nil {
			firmware = prop.SMBIOS1{}
		}
		firmware.UUID, firmware.SKU = m.UUID, m.Size // proxmox-cloud-controller-manager takes the instance type from there
		vm.Options["smbios1"] = firmware.String()
	}
	if m.Template == nil {
		m.withOptions(vm)
		return
	}
	if a := m.Template.Agent; a != nil && a.Enabled {
		agent := prop.Agent{Enabled: true, FstrimClonedDisks: a.FsTrimClonedDisks != nil && *a.FsTrimClonedDisks}.String()
		if a.Type == "isa" {
			agent += ",type=isa"
		}
		if a.FsFreezeOnBackup != nil && !*a.FsFreezeOnBackup {
			agent += ",freeze-fs-on-backup=0"
		}
		vm.Options["agent"] = agent
	}
	if t := m.Template.TPM; t != nil && t.Version != "" {
		for i := range vm.Disks {
			if vm.Disks[i].Slot == "tpmstate0" {
				vm.Disks[i].Options = map[string]string{"version": t.Version}
			}
		}
	}
}

// imageOf is the image of a ProxmoxTemplate, for machines and for its own controller.
func imageOf(owner model.Owner, name string, t *api.TemplateSpec) *spec.Image {
	owner.Key = model.Key{Kind: api.KindTemplate, Name: name}
	owner.UID = ""
	return &spec.Image{
		Owner: owner, URL: t.SourceImage.URL, Checksum: t.SourceImage.Checksum, ChecksumType: t.SourceImage.ChecksumType, Nodes: []string{model.AllNodes},
		OS: spec.OS{Agent: t.Agent != nil && t.Agent.Enabled, BIOS: t.BIOS},
	}
}

// translate translates a machine. The error says which field is wrong.
func (m made) translate(out spec.Machine, cluster *spec.Cluster) (model.VM, *model.Image, error) {
	vm, image, err := spec.VM(cluster, out)
	if err != nil {
		return vm, nil, fmt.Errorf("translate the machine of %s: %w", out.Owner.Name, inWords(err))
	}
	m.finish(&vm)
	return vm, image, nil
}

// wordsOf are how users of this door know what package spec calls otherwise.
var wordsOf = strings.NewReplacer("userData.cloudInit", "user-data", "networks[", "network[", "userData", "user-data")

// inWords puts an error into the words of this door.
func inWords(err error) error { return worded{err} }

type worded struct{ error }

func (w worded) Error() string { return wordsOf.Replace(w.error.Error()) }

func (w worded) Unwrap() error { return w.error }
