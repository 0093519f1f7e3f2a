package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
)

// machine is a VirtualMachine or VMClone that was translated.
type machine struct {
	scope
	provider *provider
	vm       model.VM
	nics     []nic
	shares   []share
	// filesystems tells that the node shares directories with it.
	filesystems bool
}

// build is the translation of a machine.
type build struct {
	scope
	provider   *provider
	remembered int // the VMID that was written down
	class      *class
	classKey   model.Key
	image      *image // nil: none
	source     model.Source
	iso        string // volume
	bare       bool   // no template gives it network interfaces
	opts       options
	host       host
	shares     []share
	copied     bool     // it is a copy, which stands alone once it is made
	inherits   bool     // its first-boot data are those of its source
	inherited  []string // see [model.VM.Inherited]
}

func (t *translator) readMachines() {
	t.machines = map[model.Key]*machine{}
	for _, o := range t.set.objects {
		s := scope{t, o}
		var m *machine
		before := len(t.errs)
		switch obj := o.Object.(type) {
		case *api.VirtualMachine:
			m = s.virtualMachine(obj)
		case *api.VMClone:
			m = s.vmClone(obj)
		default:
			continue
		}
		if t.wrong != nil && s.deleted() && m.provider.wanted.Provider.Kind != "" {
			t.errs = t.errs[:before] // to let it go, nothing else needs to be right
			t.wrong.forget(o.key, before)
		}
		t.machines[o.key] = m
		m.provider.wanted.Desired.VMs = append(m.provider.wanted.Desired.VMs, m.vm)
	}
}

// eachMachine goes through the machines in their order.
func (t *translator) eachMachine(do func(*machine)) {
	for _, o := range t.set.objects {
		if m := t.machines[o.key]; m != nil {
			do(m)
		}
	}
}

func (s scope) virtualMachine(obj *api.VirtualMachine) *machine {
	b := s.newBuild(obj.Spec.ProviderRef, obj.Status)
	b.useClass(obj.Spec.ClassRef)
	b.bare = true
	if obj.Spec.ImageRef == nil {
		b.source.Blank = true
	} else {
		b.useImage("spec.imageRef.name", b.findShared("spec.imageRef", "VMImage", *obj.Spec.ImageRef))
	}
	b.source.Full = obj.Spec.LinkedClone != nil && !*obj.Spec.LinkedClone
	return b.machine(&obj.Spec.MachineSpec, bootOf(&obj.Spec.MachineSpec))
}

func (s scope) newBuild(ref *api.Ref, status api.MachineStatus) *build {
	s.checkName()
	p := s.providerFor(s.held(ref, status))
	if p == nil {
		p = &provider{} // to find what else is wrong
	}
	return &build{scope: s, provider: p, remembered: status.VMID, class: &class{options: options{}}}
}

// held is the Provider of a machine: the one that has it, where that is known.
func (s scope) held(ref *api.Ref, status api.MachineStatus) *api.Ref {
	if status.Provider == "" || status.VMID == 0 {
		return ref
	}
	if ref != nil && ref.Name != status.Provider {
		s.fail("spec.providerRef.name", "the machine is on Provider %s and can't change that; put it back, or delete the object and make it anew", status.Provider)
	}
	return &api.Ref{Name: status.Provider}
}

func (b *build) useClass(ref api.SharedRef) {
	b.classKey = model.Key{Kind: "VMClass", Namespace: cmp.Or(ref.Namespace, b.o.key.Namespace), Name: ref.Name}
	if o := b.findShared("spec.classRef", "VMClass", ref); o != nil {
		b.class, b.classKey = b.classes[o.key], o.key
	}
}

// useImage has the machine made from an image, if there is one.
func (b *build) useImage(field string, o *object) {
	if o == nil {
		return
	}
	b.image = b.images[o.key]
	b.image.use(b.provider)
	if of, what, list, entry := b.image.forbiddenSource(b.provider); of != "" && !(b.copied && b.remembered != 0) {
		b.forbid(b.provider, field, fmt.Sprintf("VMImage %s with %s", o.key.Name, what), list, entry)
	}
	if b.image.spec.ISO != "" {
		b.source.Blank, b.iso = true, b.image.isoVolume(b.provider)
		return
	}
	b.source.Image = o.key
	b.bare = b.image.model.URL != ""
}

// machine translates what VirtualMachines and VMClones have in common.
func (b *build) machine(m *api.MachineSpec, spec bootSpec) *machine {
	meta := b.meta()
	vm := model.VM{
		Owner: b.owner(), Name: m.Name, VMID: m.VMID, Remembered: b.remembered, Range: b.provider.vmids, Labels: maps.Clone(meta.GetLabels()),
		Description: strings.TrimRight(m.Description, "\n"), Pool: m.Pool, Power: model.Power(m.PowerState), Deleted: b.deleted(),
		Retain: m.DeletionPolicy == api.Retain, Destroy: m.DeletionPolicy == api.Delete, Place: b.placeFor(b.provider, m.PlacementRef),
		Update: model.Allow{Restart: m.UpdatePolicy.Restart == api.Allow, Replace: m.UpdatePolicy.Replace == api.Allow, Data: m.UpdatePolicy.RemoveDisks == api.Allow, Stop: m.UpdatePolicy.Stop == api.Allow, Move: m.UpdatePolicy.Move == api.Allow},
	}
	vm.ShutdownTimeout = b.shutdownTimeout(m.UpdatePolicy.ShutdownTimeout)
	vm.Hold = b.hold(b.provider)
	vm.Grace = b.grace(m.DeletionGracePeriodSeconds)
	if vm.Name == "" {
		vm.Name = meta.GetName()
	}
	if b.o.of != nil {
		vm.Group = b.o.of.key.Name
	}
	if vm.Power == "" {
		vm.Power = model.PowerOn
	}
	b.check(m, vm.Name)
	vm.Rollout = b.rollout(m.UpdatePolicy)
	vm.Tags = b.tags(m.Tags)
	if m.HA != nil {
		vm.HA = &model.HA{Group: m.HA.Group, MaxRestart: m.HA.MaxRestart, MaxRelocate: m.HA.MaxRelocate}
	}
	vm.WaitAddress = b.hardware(m)
	vm.Disks = b.disks(m)
	if len(vm.Disks) > 0 && vm.Disks[0].Root() {
		b.source.Storage = vm.Disks[0].Storage
	}
	vm.Source = b.source
	nics := b.networks(m.Networks)
	for _, n := range nics {
		vm.NICs = append(vm.NICs, n.NIC)
	}
	if len(nics) > 0 && !slices.ContainsFunc(nics, nic.addressed) {
		vm.WaitAddress = false // whether it gets one is up to its system
	}
	b.firstBoot(&vm, nics, m, spec)
	b.ask(&vm, m)
	vm.Options, vm.Own = own(b.opts)
	if password := b.opts[model.Password]; password != "" {
		s := model.PasswordSecret(password)
		vm.Secret = &s
		b.hash(vm.Owner, vm.Secret)
	}
	vm.Managed, vm.Inherited = b.opts.managed(), b.inheritance(m)
	b.checkSize(&vm)
	b.checkAllowed(m, nics)
	return &machine{scope: b.scope, provider: b.provider, vm: vm, nics: nics, shares: b.shares, filesystems: len(m.Filesystems) > 0}
}

// maxGrace is how long a machine may take to shut down when it is deleted.
const maxGrace = time.Hour

func (b *build) grace(seconds *int) time.Duration {
	if seconds == nil {
		return b.options.Grace
	}
	grace := time.Duration(*seconds) * time.Second
	if grace < 0 || grace > maxGrace {
		b.fail("spec.deletionGracePeriodSeconds", "want a number from 0 to %d, have %d", int(maxGrace.Seconds()), *seconds)
	}
	return grace
}

// maxDescription leaves room for our marker in the 8 KiB of Proxmox.
const maxDescription = 6 << 10

func (b *build) check(m *api.MachineSpec, name string) {
	field := "spec.name"
	if m.Name == "" {
		field = "metadata.name"
	}
	b.checkGuestName(field, name)
	if m.VMID != 0 && (m.VMID < minVMID || m.VMID > maxVMID) {
		b.fail("spec.vmid", "want a number from %d to %d, have %d", minVMID, maxVMID, m.VMID)
	}
	b.checkWord("spec.powerState", string(m.PowerState), "On", "Off", "OffGraceful")
	b.checkWord("spec.deletionPolicy", string(m.DeletionPolicy), "Delete", "Retain")
	b.checkWord("spec.updatePolicy.restart", string(m.UpdatePolicy.Restart), "Never", "Allow")
	b.checkWord("spec.updatePolicy.replace", string(m.UpdatePolicy.Replace), "Never", "Allow")
	b.checkWord("spec.updatePolicy.move", string(m.UpdatePolicy.Move), "Never", "Allow")
	b.checkWord("spec.updatePolicy.removeDisks", string(m.UpdatePolicy.RemoveDisks), "Never", "Allow")
	b.checkWord("spec.updatePolicy.stop", string(m.UpdatePolicy.Stop), "Never", "Allow")
	b.checkDescription(m.Description)
	if m.Pool != "" && !poolName.MatchString(m.Pool) {
		b.fail("spec.pool", "want the name of a pool, have %q", shortened(m.Pool))
	}
	if h := m.HA; h != nil && (h.MaxRestart < 0 || h.MaxRelocate < 0) {
		b.fail("spec.ha", "maxRestart and maxRelocate can't be negative")
	}
	if h := m.HA; h != nil && h.Group != "" && !haGroup.MatchString(h.Group) {
		b.fail("spec.ha.group", "want the name of a group, have %q", shortened(h.Group))
	}
}

// checkDescription checks a text that is shown in Proxmox.
func (s scope) checkDescription(text string) {
	const field = "spec.description"
	if len(text) > maxDescription {
		s.fail(field, "has %d bytes, more than the %d that there is room for", len(text), maxDescription)
	}
	if _, _, marked := model.ParseDescription(text); marked {
		s.fail(field, "has a marker of proxplane in it; leave that line away")
	}
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) }) {
		s.fail(field, "has control characters")
	}
}

func (b *build) tags(given []string) []string {
	for i, t := range given {
		field := "spec.tags[" + strconv.Itoa(i) + "]"
		lower := strings.ToLower(t)
		if _, err := prop.NewTags(t); err != nil {
			b.fail(field, "%v", err)
			return nil
		}
		if lower == model.Tag || strings.HasPrefix(lower, model.TagPrefix) {
			b.fail(field, "%s is one of the tags that proxplane sets itself", t)
		}
	}
	tags, err := prop.NewTags(given...)
	if err != nil {
		return nil // told above
	}
	return tags
}
