package spec

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/spec/suggest"
)

// build is the translation of a machine.
type build struct {
	report
	*Translation
	m          *Machine
	cluster    *Cluster
	remembered int // the VMID that was written down
	class      *class
	image      *Image // nil: none
	source     model.Source
	iso        string // volume
	bare       bool   // no template gives it network interfaces
	opts       options
	host       host
	shares     []share
	copied     bool     // it is a copy, which stands alone once it is made
	inherits   bool     // its first-boot data are those of its source
	inherited  []string // see [model.VM.Inherited]
	result     *Result
}

// Machine translates a machine of a cluster.
func (t *Translation) Machine(c *Cluster, m Machine) *Result {
	b := &build{
		report: report{object: m.Owner.Key}, Translation: t, m: &m, cluster: c, remembered: m.Remembered, class: &class{options: options{}},
		bare: !m.Source.Copy, copied: m.Source.Copy, inherits: m.Source.Copy && m.FirstBoot.Inherited, result: &Result{cluster: c},
	}
	b.source = model.Source{VM: m.Source.VM, Snapshot: m.Source.Snapshot, Full: m.Source.Full, Copy: m.Source.Copy}
	if m.Class != nil {
		r := report{object: m.Owner.Key}
		b.class = r.class(m.Class)
		b.part("class", r.errs, r.notes)
	}
	switch {
	case m.Source.Image != nil:
		b.useImage(m.Source.Image)
	case m.Source.Template != "":
		b.useTemplate(m.Source.Template)
	case m.Source.VM == model.Key{} && !m.Source.Copy && !m.Source.Unknown:
		b.source.Blank = true
	}
	b.machine()
	r := b.result
	r.Errors, r.Notes, r.shares = b.errs, b.notes, b.shares
	t.results = append(t.results, r)
	return r
}

// useImage has the machine made from an image.
func (b *build) useImage(i *Image) {
	b.image = i
	if of, what, list, entry := b.cluster.forbiddenSource(i); of != "" && !(b.copied && b.remembered != 0) {
		b.forbid(b.cluster, "image", message("%s %s with %s", TheImage, i.Owner.Name, what), list, entry)
	}
	if i.ISO != "" {
		b.source.Blank, b.iso = true, b.cluster.isoVolume(i)
		if b.copied && b.remembered != 0 {
			b.source.Blank, b.iso = false, "" // it was made from something else of that name
		}
		if b.copied && b.iso != "" {
			b.fail("image", "%s is an ISO image, which can't be cloned", i.Owner.Name)
		}
	} else {
		b.source.Image = i.Owner.Key
		b.bare = i.URL != ""
	}
	img, errs, notes := b.cluster.image(i)
	b.part("image", errs, notes)
	b.result.Image = &img
}

// TemplateKind is the kind of images without an object: templates that a machine names
// directly.
const TemplateKind = "Template"

// useTemplate has the machine made from a template of Proxmox, by its name or VMID.
func (b *build) useTemplate(name string) {
	const field = "template"
	key := model.Key{Kind: TemplateKind, Namespace: b.m.Owner.Namespace, Name: name}
	b.source.Image = key
	img := model.Image{Owner: model.Owner{Door: b.m.Owner.Door, Set: b.Set, Key: key}, Range: b.cluster.vmids(), Implied: true, OnlyTemplate: b.cluster.onlyTemplates()}
	if vmid, err := strconv.Atoi(name); err == nil {
		if vmid < MinVMID || vmid > MaxVMID {
			b.fail(field, "want a VMID from %d to %d, have %d", MinVMID, MaxVMID, vmid)
		}
		img.VMID = vmid
	} else {
		b.checkGuestName(field, name)
		img.Template = name
	}
	if a := b.cluster.Allow; a != nil && b.remembered == 0 && !allows(a.Sources, name) {
		b.forbid(b.cluster, field, "source "+name, "sources", name)
	}
	b.result.Image = &img
}

// inherit notes options that come from the source of a copy.
func (b *build) inherit(keys ...string) {
	if b.copied {
		b.inherited = append(b.inherited, keys...)
	}
}

// inheritance are the parts of a copy that come from its source. Options that the
// machine names itself aren't among them.
func (b *build) inheritance() []string {
	if !b.copied {
		return nil
	}
	parts := slices.Clone(b.inherited)
	if b.inherits {
		parts = append(parts, model.InheritedSeed)
	}
	if b.m.Networks == nil {
		parts = append(parts, model.InheritedNICs)
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

// machine makes the VM.
func (b *build) machine() {
	m, vm := b.m, &b.result.VM
	*vm = model.VM{
		Owner: m.Owner, Name: m.Name, VMID: m.VMID, Remembered: m.Remembered, Had: m.Had, Range: b.cluster.vmids(), Labels: m.Labels,
		Description: strings.TrimRight(m.Description, "\n"), Pool: m.Pool, Power: m.Power, Deleted: m.Deleted,
		Retain: m.Retain, Destroy: m.Destroy, Place: m.Place, Update: m.Update, Rollout: m.Rollout, HA: m.HA, Hold: m.Hold, Grace: m.Grace, ShutdownTimeout: m.ShutdownTimeout,
	}
	if vm.Name == "" {
		vm.Name = m.Owner.Name
	}
	if m.Member != nil {
		vm.Group, vm.Surplus = m.Member.Of.Name, m.Member.Index >= m.Member.Count && !m.Deleted
	}
	if vm.Power == "" {
		vm.Power = model.PowerOn
	}
	vm.Place = b.place(m.Place)
	b.check(vm.Name)
	vm.Tags = b.tags(m.Tags)
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
	b.result.nics = nics
	vm.Firewall = b.firewall(nics)
	vm.Leases = leasesOf(nics)
	b.firstBoot(vm, nics)
	b.ask(vm, m)
	vm.Options, vm.Own = own(b.opts)
	if password := b.opts[model.Password]; password != "" {
		s := model.PasswordSecret(password)
		vm.Secret = &s
		b.hash(vm.Owner, vm.Secret)
	}
	vm.Managed, vm.Inherited = b.opts.managed(), b.inheritance()
	for _, l := range vm.Leases {
		vm.Managed = append(vm.Managed, l.Option())
	}
	slices.Sort(vm.Managed)
	b.checkSize(vm)
	b.checkAllowed(m, nics)
}

const (
	// maxGrace is how long a machine may take to shut down when it is deleted.
	maxGrace = time.Hour
	// maxShutdown is how long it may take otherwise.
	maxShutdown = 24 * time.Hour
	// maxDescription leaves room for our marker in the 8 KiB of Proxmox.
	maxDescription = 6 << 10
)

func (b *build) check(name string) {
	m := b.m
	b.checkGuestName("name", name)
	if m.VMID != 0 && (m.VMID < MinVMID || m.VMID > MaxVMID) {
		b.fail("vmid", "want a number from %d to %d, have %d", MinVMID, MaxVMID, m.VMID)
	}
	b.checkWord("powerState", string(m.Power), "On", "Off", "OffGraceful")
	if d := m.ShutdownTimeout; d != 0 && (d < time.Second || d > maxShutdown || d%time.Second != 0) {
		b.fail("shutdownTimeout", "want a time from 1s to 24h, such as 90s or 5m, have %q", d.String())
	}
	if m.Grace < 0 || m.Grace > maxGrace {
		b.fail("grace", "want a number from 0 to %d, have %d", int(maxGrace.Seconds()), int(m.Grace.Seconds()))
	}
	b.checkDescription(m.Description)
	if m.Pool != "" && !poolName.MatchString(m.Pool) {
		b.fail("pool", "want the name of a pool, have %q", suggest.Shortened(m.Pool))
	}
	if h := m.HA; h != nil && (h.MaxRestart < 0 || h.MaxRelocate < 0) {
		b.fail("ha", "%s and %s can't be negative", called("maxRestart"), called("maxRelocate"))
	}
	if h := m.HA; h != nil && h.Group != "" && !haGroup.MatchString(h.Group) {
		b.fail("ha.group", "want the name of a group, have %q", suggest.Shortened(h.Group))
	}
}

// checkDescription checks a text that is shown in Proxmox.
func (r *report) checkDescription(text string) {
	const field = "description"
	if len(text) > maxDescription {
		r.fail(field, "has %d bytes, more than the %d that there is room for", len(text), maxDescription)
	}
	if _, _, marked := model.ParseDescription(text); marked {
		r.fail(field, "has a marker of proxplane in it; leave that line out")
	}
	if strings.ContainsFunc(text, func(c rune) bool { return unicode.IsControl(c) && !strings.ContainsRune("\n\r\t", c) }) {
		r.fail(field, "has control characters")
	}
}

func (b *build) tags(given []string) []string {
	for i, t := range given {
		field := "tags[" + strconv.Itoa(i) + "]"
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
