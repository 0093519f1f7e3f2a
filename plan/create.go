package plan

import (
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// create plans a new guest under a VMID.
func (p *planner) create(o *Object, v model.VM, vmid int) {
	o.VMID = vmid
	v, chosen := p.newAddresses(o, v, vmid)
	if !chosen {
		return
	}
	v = v.At(vmid)
	if p.lookHost(o, v) {
		return
	}
	if o.Wait = p.shareMissing(v); o.Wait != nil {
		return
	}
	if p.unmet(o, v) {
		return
	}
	sources, full, wait, look := p.sources(v)
	if !look.Empty() {
		o.Look = look
		return
	}
	if wait != nil {
		o.Wait = wait
		return
	}
	spot, wait, look := p.place(v, sources, full)
	full = full || spot.source != nil && p.copiedFull(v, spot.source.guest)
	if !look.Empty() {
		o.Look = look
		return
	}
	if wait != nil {
		o.Wait = wait
		return
	}
	if p.lacksRoot(o, v, spot.config()) {
		return
	}
	if spot.source != nil && spot.source.future != nil {
		p.reserve(v, vmid)
		p.goes(o, v, spot)
		o.Awaits = spot.source.future.Object().Key
		p.bound[v.Owner.Key] = model.Bound{Node: spot.node, Template: o.Awaits}
		p.need(*spot.source.future)
		o.Wait = p.imageFirst(*spot.source.future)
		return
	}
	if spot.source == nil && needsStorage(v) {
		if p.unsureOfRights(&o.Look, spot.node, "images") {
			return
		}
		if p.diskStorage(spot.node) == "" {
			p.noDiskStorage(o, spot.node)
			return
		}
	}
	if spot.source != nil {
		if text := tooSmall(v, spot.source); text != "" {
			o.wait(model.WaitUnfit, text)
			return
		}
		if p.moved(o, v, spot.source.guest); !o.Look.Empty() {
			return
		}
	}
	p.reserve(v, vmid)
	p.goes(o, v, spot)
	p.tight(o, v, spot, full)
	why := absent(v.Owner)
	to := model.Target{VMID: vmid, Node: spot.node}
	var made int
	if spot.source == nil {
		made = p.createBlank(o, v, to, why)
	} else {
		made = p.clone(o, v, spot, to, full, why)
	}
	p.afterCreate(o, v, to, made, spot)
}

// goes records the placement of a new guest, and what it takes on the node.
func (p *planner) goes(o *Object, v model.VM, s spot) {
	o.Node, o.Placed, o.Memory, o.Space, o.Addresses, o.Devices = s.node, s.why, s.memory, s.space, addressesOf(v.Leases), devicesOf(v)
	p.placed[o.VMID] = o.Placement()
}

func (p *planner) clone(o *Object, v model.VM, s spot, to model.Target, full bool, why string) int {
	from := s.source.guest
	kind := "clone"
	if full {
		kind = "copy"
	}
	m := marker(v, to.VMID, intendedSeed(v, to.VMID))
	m.Fresh, m.From, m.Image = true, original(from), p.images[v.Source.Image].Identity()
	return o.step(Step{
		Action: model.Clone{
			From: model.Target{VMID: from.VMID, Node: from.Node}, Snapshot: v.Source.Snapshot, To: to, Name: v.Name,
			Description: model.Describe(v.Description, m), Full: full, Storage: s.storage(full, v), Format: p.copyFormat(v, s, full), Pool: v.Pool,
		},
		What: fmt.Sprintf("%s %s (%d) to VM %d on %s", kind, from.Name, from.VMID, to.VMID, to.Node), Why: why, Effect: New,
	})
}

// createBlank makes a guest without a source: empty disks, or an ISO.
func (p *planner) createBlank(o *Object, v model.VM, to model.Target, why string) int {
	create := model.Create{
		Target: to, Name: v.Name, Description: model.Describe(v.Description, marker(v, to.VMID, intendedSeed(v, to.VMID))),
		Options: withoutLeases(v, withoutSnippets(plainOptions(v.Options))), NICs: v.NICs, Pool: v.Pool,
	}
	if !taggedLater(v) {
		create.Tags = tagsFor(v, nil, p.firstStamp(v))
	}
	for _, d := range v.Disks {
		if d.Storage == "" && d.Volume == "" {
			d.Storage = p.diskStorage(to.Node)
		}
		d.Size = roundUp(d.Size)
		create.Disks = append(create.Disks, model.NewDisk{Disk: p.formatted(blankDisk(d))})
	}
	return o.step(Step{Action: create, What: fmt.Sprintf("create VM %d on %s", to.VMID, to.Node), Why: why, Effect: New})
}

// taggedLater reports whether a guest without a source gets its tags when it is there:
// Proxmox checks the options of a new guest on its pool, but tags on the guest alone,
// which has the rights of its pool only then.
func taggedLater(v model.VM) bool { return v.Pool != "" }

// firstStamp returns the fingerprint with which a guest without a source is created. With first-boot data
// it isn't up to date yet, nor where an HA setting is to change that the list of guests doesn't show.
func (p *planner) firstStamp(v model.VM) string {
	if v.Seed != nil || len(v.Leases) > 0 || p.joins(v) || v.Firewall != nil {
		return unfinished
	}
	return v.Fingerprint()
}

// blankDisk gives the root disk of a guest without an image its slot.
func blankDisk(d model.Disk) model.Disk {
	if d.Root() {
		d.Slot = "scsi0"
	}
	return d
}

// afterCreate adds the steps that follow, for people to see the whole. They are planned again when the
// guest exists.
func (p *planner) afterCreate(o *Object, v model.VM, to model.Target, made int, s spot) {
	last := made
	if v.Seed != nil {
		for _, s := range p.seedSteps(v, to) {
			last = o.step(s, made)
		}
	}
	if v.Firewall != nil {
		last = o.step(p.firstFirewall(v, to), last)
		p.noteFirewall(o, v.Firewall, v.NICs)
	}
	if s.source != nil {
		last = o.step(Step{
			Action: model.Configure{Target: to, Set: plainOptions(v.Options), NICs: v.NICs},
			What:   "configure it", Why: summary(v), Effect: New,
		}, last)
		for _, d := range v.Disks {
			if have := s.source.rootSize(d); d.Root() && d.Size > have {
				last = o.step(Step{
					Action: model.Resize{Target: to, Slot: s.source.rootSlot(), Size: roundUp(d.Size)},
					What:   "grow " + s.source.rootSlot(), Diff: sized(s.source.rootSlot(), have, roundUp(d.Size), New), Effect: New,
				}, last)
			}
		}
	}
	if s.source == nil && len(v.Leases) > 0 {
		last = o.step(Step{Action: model.Configure{Target: to, Set: leasedOptions(v)}, What: "configure it", Why: summary(v), Effect: New}, last)
	}
	if s.source == nil && taggedLater(v) {
		tags := tagsFor(v, nil, v.Fingerprint())
		last = o.step(Step{Action: model.Configure{Target: to, Tags: &tags}, What: "tag it", Why: "it is in its pool then", Effect: New}, last)
	}
	if v.HA != nil {
		last = o.step(Step{Action: model.SetHA{VMID: to.VMID, HA: v.HA, New: true, Off: v.Power != model.PowerOn}, What: "put it under HA", Why: model.WhyHA, Effect: New}, last)
	}
	if v.Power == model.PowerOn && v.HA == nil {
		o.step(Step{Action: model.Start{Target: to}, What: "start it", Why: model.WhyOn, Effect: New}, last)
	}
}

// summary returns in a few words what a new guest gets.
func summary(v model.VM) string {
	var parts []string
	if n := model.CPUsOf(v.Options); n > 0 {
		parts = append(parts, plural(n, "CPU"))
	}
	if m := model.MemoryOf(v.Options); m > 0 {
		parts = append(parts, model.Bytes(m))
	}
	if len(v.NICs) > 0 {
		parts = append(parts, plural(len(v.NICs), "NIC"))
	}
	for _, l := range v.Leases {
		for _, a := range l.Has {
			parts = append(parts, fmt.Sprintf("%s of pool %s", a.Addr(), l.Pool.Name))
		}
	}
	further := 0
	for _, d := range v.Disks {
		if !d.Root() && !firmware(d.Slot) {
			further++
		}
	}
	if further > 0 {
		parts = append(parts, plural(further, "further disk"))
	}
	if len(parts) == 0 {
		return "as declared"
	}
	return strings.Join(parts, ", ")
}
