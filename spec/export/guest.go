package export

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/spec"
)

// Machine is a guest as a spec.
type Machine struct {
	Spec  spec.Machine // with its class and image
	VM    model.VM     // its translation
	Image *model.Image // the source of the clone; nil: not known
	// Fetched says that the image is a template that was made from a URL, which nothing in Proxmox names.
	Fetched bool
	Object  plan.Object // the plan as if the guest belonged to the machine
	// Omitted are settings that the spec doesn't manage, by option or slot, and why.
	Omitted map[string]string
	// Lost are settings that a machine that is recreated from the spec would lack, by option
	// or slot, beside those in Omitted.
	Lost map[string]string
}

// writer turns a guest into a spec that wants it as it is.
type writer struct {
	have     *model.Observed
	g        *model.Guest
	to       spec.Machine
	networks spec.Networks
	linked   bool // name the template that it is a linked clone of
	template int  // that template
	fetched  bool // from a URL
	said     map[string]bool
	// hotplugs is what can be plugged, where that isn't what the class would have.
	hotplugs string
	omit     map[string]string // options and slots that are left out, and why
	where    map[string]string // options and slots by the field that says them
}

// machine writes the machine of a guest, with its class and image.
func (w *writer) machine(owner model.Owner) spec.Machine {
	w.said = map[string]bool{}
	g, c, to := w.g, w.g.Config, &w.to
	to.Owner, to.VMID = owner, g.VMID
	if c.Options["name"] != owner.Name {
		to.Name = c.Options["name"]
	}
	to.Source.Image = w.image()
	w.linked = to.Source.Image != nil
	to.Class = w.class()
	if to.Power = model.PowerOff; g.Status == model.StatusRunning || g.Status == model.StatusPaused {
		to.Power = model.PowerOn
	}
	to.Firewall = w.firewall()
	to.Networks, to.Disks = w.interfaces(), w.disks()
	if !w.linked { // what has no image would get something otherwise
		to.Networks, to.Disks = append([]spec.Network{}, to.Networks...), append([]spec.Disk{}, to.Disks...)
	}
	if w.says("tags", "tags") {
		to.Tags = VisibleTags(c.Tags)
	}
	to.Description = c.Text
	if w.says("pool", "pool") {
		to.Pool = g.Pool
	}
	w.flags()
	own := w.own()
	to.Retain = own.VMID == 0 || own.Retain
	to.ExtraConfig = w.extra()
	return w.to
}

// VisibleTags returns tags without our marks.
func VisibleTags(tags []string) []string {
	return slices.DeleteFunc(slices.Clone(tags), model.IsMark)
}

// take reads an option, which needs no mention any more.
func (w *writer) take(key string) string {
	w.said[key] = true
	return w.g.Config.Options[key]
}

func (w *writer) number(key string, otherwise int) int {
	n, err := strconv.Atoi(w.take(key))
	if err != nil {
		return otherwise
	}
	return n
}

// image is the template that the guest is a clone of. Of a clone that isn't linked only its
// marker tells, if it is the owner's already.
func (w *writer) image() *spec.Image {
	if !w.linked {
		return nil
	}
	own := w.own()
	id := own.From
	for _, d := range w.g.Config.Disks {
		if of := d.Template(); of != 0 {
			id = of
			break
		}
	}
	t := w.have.Guests[id]
	if t == nil || !t.Template {
		return nil
	}
	w.template = id
	source := t.Name
	if len(w.have.Named(t.Name)) != 1 || t.Name == "" {
		source = strconv.Itoa(id)
	}
	owner := w.to.Owner
	owner.Kind, owner.Name = "VMImage", cmp.Or(Name(t.Name), fmt.Sprintf("template-%d", id))
	if name, ok := strings.CutPrefix(own.Source, model.Key{Kind: owner.Kind, Namespace: owner.Namespace}.String()); ok {
		owner.Name = name // it would be made anew from one of another name
	}
	if m := t.Marker(); m != nil && m.Version != "" {
		w.fetched = m.From == 0
	}
	return &spec.Image{Owner: owner, Source: source}
}

// own is what the guest's marker says, if it is the machine's already.
func (w *writer) own() model.Marker {
	if m := w.g.Config.Marker; m != nil && m.Owner == w.to.Owner && m.VMID == w.g.VMID {
		return *m
	}
	return model.Marker{}
}

// flags are the fields that stand for single options.
func (w *writer) flags() {
	o, to := w.g.Config.Options, &w.to
	if w.says("onBoot", "onboot"); o["onboot"] == "1" {
		to.OnBoot = ifTrue(w.take("onboot") == "1")
	}
	if w.says("protection", "protection"); o["protection"] == "1" {
		to.Protection = ifTrue(w.take("protection") == "1")
	}
	if s, err := prop.ParseStartup(o["startup"]); err == nil && o["startup"] != "" && w.says("startup", "startup") {
		w.take("startup")
		to.Startup = &spec.Startup{}
		for _, f := range []struct {
			value prop.Opt[int]
			to    **int
		}{{s.Order, &to.Startup.Order}, {s.Up, &to.Startup.UpDelay}, {s.Down, &to.Startup.DownDelay}} {
			if f.value.Set {
				*f.to = &f.value.Value
			}
		}
	}
	if w.g.HAState != "" && w.says("ha", "ha") {
		to.HA = w.highAvailability()
	}
	if o["agent"] == prop.Canonical("agent", "1") && o["agent"] != "" && w.says("agent", "agent") {
		w.take("agent")
		to.Agent = &spec.Agent{Enabled: new(true)}
		if len(w.g.Addresses) == 0 && w.g.Status == model.StatusRunning {
			to.Agent.WaitForAddress = new(false) // it doesn't answer now
		}
	}
}

func (w *writer) highAvailability() *model.HA {
	ha := w.have.HA[fmt.Sprintf("vm:%d", w.g.VMID)]
	number := func(key string) int {
		n, _ := strconv.Atoi(ha[key])
		return n
	}
	return &model.HA{Group: ha["group"], MaxRestart: number("max_restart"), MaxRelocate: number("max_relocate")}
}

// unmanaged are options that specs say nothing about: identities that Proxmox gives out,
// what can't be read back, and what other fields bring.
var unmanaged = []string{"name", "meta", "vmgenid", "smbios1", "cipassword", "cicustom", "nameserver", "searchdomain", "parent", "lock", "template", "boot", "bios"}

// forCloudInit are options that a cloud-init drive is made of.
var forCloudInit = []string{"ciuser", "sshkeys", "citype", "ciupgrade"}

// hasCloudInit reports whether the guest has a cloud-init drive of Proxmox.
func (w *writer) hasCloudInit() bool {
	return slices.ContainsFunc(w.g.Config.Disks, func(d model.Disk) bool { return d.CloudInit })
}

// extra are all further options.
func (w *writer) extra() map[string]string {
	all := map[string]string{}
	options := w.g.Config.Options
	drive := w.hasCloudInit()
	if !w.linked && options["ostype"] == "" {
		all["ostype"] = "other"
	}
	if w.hotplugs != "" {
		all["hotplug"] = w.hotplugs
	}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if w.said[key] || !w.says("extraConfig."+key, key) || slices.Contains(unmanaged, key) || strings.HasPrefix(key, "ipconfig") || options[key] == "" {
			continue
		}
		if slices.Contains(forCloudInit, key) && !drive {
			continue // nobody reads them, and naming them would add a drive
		}
		all[key] = options[key]
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

var notInNames = regexp.MustCompile(`[^a-z0-9-]+`)

// Name makes a valid name of an object from a text; empty: the text has no valid
// characters.
func Name(text string) string {
	return strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "-")
}

// NameOf returns the name of the object for a guest.
func NameOf(g *model.Guest) string {
	if g.Config != nil && g.Config.Marker != nil {
		return g.Config.Marker.Owner.Name
	}
	return cmp.Or(Name(g.Name), fmt.Sprintf("vm-%d", g.VMID))
}
