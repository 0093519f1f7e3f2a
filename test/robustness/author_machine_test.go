package robustness

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
)

// machine draws what a machine is to be like.
func (a *author) machine(set, name string) model.VM {
	w := a.h.world
	v := model.VM{
		Name: name, Range: w.vmids, Options: map[string]string{},
		Update: model.Allow{Restart: a.chance(0.6), Data: a.chance(0.5), Replace: a.chance(0.4)},
		Retain: a.chance(0.08), Power: pick(a.dice, model.PowerOn, model.PowerOn, model.PowerOn, model.PowerOff, model.PowerOffGraceful, ""),
	}
	if a.chance(0.15) {
		if vmid := a.number(w.vmids.First, w.vmids.Last); len(w.keys) > 0 {
			v.VMID = vmid
		}
	}
	a.source(&v)
	a.classOf(&v)
	if a.chance(0.3) {
		v.Options["ciuser"], v.Options["ipconfig0"] = "ann", "ip=dhcp"
		if a.chance(0.5) {
			v.Options["cipassword"], v.Secret = guestSecret, hashed(v.Owner)
		}
	}
	for n := range a.number(1, 2) {
		v.NICs = append(v.NICs, model.NIC{Slot: fmt.Sprintf("net%d", n), Name: fmt.Sprintf("n%d", n), Model: "virtio", Bridge: pick(a.dice, "vmbr0", "vmbr1"), MAC: stableMAC(set, name, n)})
	}
	if a.chance(0.3) {
		v.Disks = append(v.Disks, a.extraDisk("scsi1"))
	}
	if a.chance(0.2) {
		v.Seed = a.seedData()
		delete(v.Options, "ciuser")
		delete(v.Options, "cipassword")
		delete(v.Options, "ipconfig0")
	}
	v.Tags = pick(a.dice, nil, []string{"web"}, []string{"db", "web"})
	v.Description = pick(a.dice, "", "made for a test")
	v.Pool = pick(a.dice, "", "", "team", "lab")
	if w.Cluster != "" && len(w.nodes) > 2 && v.Power == model.PowerOn && a.chance(0.2) {
		v.HA = &model.HA{}
	}
	v.Options, v.Managed = canonical(v.Options), managed(v.Options)
	return v
}

func managed(options map[string]string) []string { return slices.Sorted(maps.Keys(options)) }

// canonical spells options as those do who read manifests.
func canonical(options map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range options {
		out[k] = prop.Canonical(k, v)
	}
	return out
}

// source draws what the machine is made from: mostly an image, sometimes
// nothing, sometimes another machine.
func (a *author) source(v *model.VM) {
	w := a.h.world
	root := model.Disk{Slot: model.RootSlot, Name: "root", Size: int64(pick(a.dice, 0, 8, 10, 20)) << 30}
	switch {
	case a.chance(0.1):
		v.Source = model.Source{Blank: true}
		root.Slot, root.Storage, root.Size = "scsi0", pick(a.dice, w.disks...), int64(a.number(1, 4))<<30
		root.Format = w.format(root.Storage)
	case a.chance(0.1) && len(a.made) > 0 && pick(a.dice, a.made...) != v.Name:
		from := pick(a.dice, a.made...)
		if from == v.Name {
			from = w.images[0]
		}
		v.Source = model.Source{VM: key("VirtualMachine", from), Full: true}
		root.Size = 0
	default:
		image := pick(a.dice, w.names()...)
		v.Source = model.Source{Image: key("VMImage", image), Full: a.chance(0.15)}
		if v.Source.Full && a.chance(0.5) {
			v.Source.Storage = pick(a.dice, w.disks...)
		}
		v.WaitAddress = v.Power == model.PowerOn && w.agents[image] && a.chance(0.7)
		if w.everywhere[image] && v.Source.Storage == "" && a.chance(0.2) {
			v.Place.Nodes = some(a.dice, 0.5, w.nodes)
		}
	}
	v.Disks = append(v.Disks, root)
}

// classOf draws the size of a machine, all that a class says.
func (a *author) classOf(v *model.VM) {
	maps.Copy(v.Options, pick(a.dice,
		map[string]string{"cores": "1", "memory": "1024"},
		map[string]string{"cores": "2", "memory": "2048"},
		map[string]string{"cores": "2", "memory": "3072", "cpu": "host"},
		map[string]string{"cores": "4", "memory": "2048", "onboot": "1"},
	))
}

func (a *author) extraDisk(slot string) model.Disk {
	storage := pick(a.dice, a.h.world.disks...)
	return model.Disk{Slot: slot, Name: slot, Storage: storage, Size: int64(a.number(1, 4)) << 30, Format: a.h.world.format(storage)}
}

// format is one that snapshots can be taken of.
func (w *world) format(storage string) string {
	if storage == "lvm" {
		return ""
	}
	return "qcow2"
}

func (a *author) seedData() *model.Seed {
	a.n++
	text := fmt.Sprintf("#cloud-config\npassword: %s\n# %d\n", userDataText, a.n)
	return &model.Seed{
		Storage: pick(a.dice, a.h.world.isos...), Digest: fmt.Sprintf("%x", sha256.Sum256([]byte(text))),
		Files: map[string][]byte{"user-data": []byte(text), "meta-data": []byte("instance-id: x\n")},
	}
}

func machineText(v model.VM) string {
	parts := []string{fmt.Sprintf("%s cores, %s MiB", v.Options["cores"], v.Options["memory"]), "power " + string(v.Power)}
	switch {
	case v.Source.Blank:
		parts = append(parts, "blank")
	case v.Source.VM.Name != "":
		parts = append(parts, "copy of "+v.Source.VM.Name)
	default:
		parts = append(parts, fmt.Sprintf("image %s (full %t %s)", v.Source.Image.Name, v.Source.Full, v.Source.Storage))
	}
	for _, d := range v.Disks {
		parts = append(parts, fmt.Sprintf("%s %d GiB %s", d.Slot, d.Size>>30, d.Storage))
	}
	if v.VMID != 0 {
		parts = append(parts, fmt.Sprintf("VMID %d", v.VMID))
	}
	if v.Seed != nil {
		parts = append(parts, "seed on "+v.Seed.Storage)
	}
	if v.HA != nil {
		parts = append(parts, "HA")
	}
	if v.Pool != "" {
		parts = append(parts, "pool "+v.Pool)
	}
	if v.Retain {
		parts = append(parts, "retained")
	}
	if len(v.Place.Nodes) > 0 {
		parts = append(parts, fmt.Sprint("on ", v.Place.Nodes))
	}
	return strings.Join(append(parts, fmt.Sprintf("allowed %+v", v.Update)), ", ")
}
