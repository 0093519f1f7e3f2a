package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// For plans everything: images and shares first, since guests need them, then guests,
// snapshots, and removals by pruning.
func For(want model.Desired, have *model.Observed) Plan {
	p := newPlanner(want, have)
	var out Plan
	for _, i := range want.Images {
		if !i.Lent && i.On == "" && !want.Seen[i.Owner.Key] {
			out.Objects = append(out.Objects, p.image(i))
		}
	}
	for _, s := range want.Shares {
		out.Objects = append(out.Objects, p.share(s))
	}
	guests := p.guests()
	out.Objects = p.gatherAll(out.Objects)
	p.roll(guests)
	out.Objects = append(out.Objects, slices.DeleteFunc(guests, p.onlySeen)...)
	out.Objects = slices.DeleteFunc(out.Objects, p.idle)
	out.Objects = append(out.Objects, p.groups()...)
	for _, s := range want.Snapshots {
		if !want.Seen[s.Owner.Key] {
			out.Objects = append(out.Objects, p.snapshot(s))
		}
	}
	if want.Prune {
		out.Objects = append(out.Objects, p.prune()...)
	}
	p.clean(&out)
	p.hold(&out)
	for i := range out.Objects {
		p.linger(&out.Objects[i])
		p.spare(&out.Objects[i])
	}
	p.notePassedOver()
	out.Notes = p.notes
	if want.Foresee {
		p.foresee(&out)
		p.inspect(&out)
	}
	return out
}

// onlySeen reports whether an object is there because others depend on it.
func (p *planner) onlySeen(o Object) bool { return p.want.Seen[o.Owner.Key] }

// spare removes from looks what offline nodes would have to answer: an object that needs facts of a guest there
// waits.
func (p *planner) spare(o *Object) {
	off := func(id int) bool {
		g := p.have.Guests[id]
		if g == nil {
			return false
		}
		if n := p.have.Nodes[g.Node]; n != nil && n.Online {
			return false
		}
		if o.Wait == nil {
			o.wait(model.WaitNode, fmt.Sprintf("node %s, which has VM %d, is offline", g.Node, id))
		}
		return true
	}
	l := &o.Look
	for _, ids := range []*[]int{&l.Configs, &l.Snapshots, &l.Status, &l.Agents, &l.Ready} {
		*ids = slices.DeleteFunc(slices.Clone(*ids), off)
	}
}

// guests plans all guests: those that others are copied from before the copies, in
// the order of the manifests otherwise.
func (p *planner) guests() []Object {
	order := make([]int, len(p.want.VMs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return p.copiesBefore(p.want.VMs[a]) - p.copiesBefore(p.want.VMs[b]) })
	out := make([]Object, len(order))
	for _, i := range order {
		out[i].Owner = p.want.VMs[i].Owner
		if p.onlySeen(out[i]) {
			continue
		}
		o := p.vm(p.want.VMs[i])
		changing := len(o.Steps) > 0 || !o.Look.Empty()
		p.unready[o.Owner.Key] = changing || o.Wait != nil
		p.changing[o.Owner.Key] = changing || o.Wait != nil && o.Wait.Reason != model.WaitAgent
		p.fates[o.Owner.Key] = fateOf(o)
		out[i] = o
	}
	return out
}

// copiesBefore returns the number of copies in the chain from the first source to this guest.
func (p *planner) copiesBefore(v model.VM) (n int) {
	for n < len(p.want.VMs) {
		from, ok := p.vms[v.Source.VM]
		if !ok {
			break
		}
		v = from
		n++
	}
	return n
}

// note adds a note for people that belongs to no object.
func (p *planner) note(n Note) {
	if !slices.ContainsFunc(p.notes, func(o Note) bool { return o.Text == n.Text && o.Do == n.Do }) {
		p.notes = append(p.notes, n)
	}
}

// planner is what the parts of one plan share.
type planner struct {
	want    model.Desired
	have    *model.Observed
	images  map[model.Key]model.Image
	vms     map[model.Key]model.VM
	found   map[model.Owner]finding
	placed  map[int]model.Placement // guests this plan makes
	fetches map[model.Key]fetchOf   // files of images that are fetched, by object
	fixed   map[int]model.Owner     // who gets a VMID that a manifest names
	load    *nodeLoad
	// holdings are the addresses that guests have; nil: not looked for yet.
	holdings *holdings
	cloned   map[model.Key]origins // by image
	// spread has, by fetched image, whether it is one template a node.
	spread map[model.Key]bool
	// needed are the nodes that need a template of an image for guests that this plan places there.
	needed map[model.Key]map[string]bool
	// making are the nodes for which templates of an image are planned.
	making map[model.Key][]string
	// bound are the choices of guests that wait for their image.
	bound map[model.Key]model.Bound
	// notes are of no object in particular.
	notes []Note
	// passed are guests on nodes that are offline, which can't be those of objects that have none.
	passed map[int]bool
	// unnamed are guests whose names aren't known; nil: not looked for yet.
	unnamed []*model.Guest
	// leaving are the guests whose markers a pending change takes away; nil: not looked for yet.
	leaving map[model.Owner]*model.Guest
	// half points to what unlisted has found; nil: not looked for yet.
	half **model.Guest
	// unready are the guests that this plan still has something to do for.
	unready map[model.Key]bool
	// changing are those of them that don't only wait for their agent.
	changing map[model.Key]bool
	// fates say whether guests that are there stay.
	fates map[model.Key]fate
}

func newPlanner(want model.Desired, have *model.Observed) *planner {
	p := &planner{
		want: want, have: have,
		images: make(map[model.Key]model.Image, len(want.Images)),
		vms:    make(map[model.Key]model.VM, len(want.VMs)),
		found:  map[model.Owner]finding{}, cloned: map[model.Key]origins{}, spread: map[model.Key]bool{},
		needed: map[model.Key]map[string]bool{}, making: map[model.Key][]string{}, bound: maps.Clone(have.Bound),
		fixed:  want.Reserved,
		placed: map[int]model.Placement{}, passed: map[int]bool{}, fetches: map[model.Key]fetchOf{}, unready: map[model.Key]bool{}, changing: map[model.Key]bool{}, fates: map[model.Key]fate{},
	}
	if p.fixed == nil {
		p.fixed = reserved(want.VMs)
	}
	if p.bound == nil {
		p.bound = map[model.Key]model.Bound{}
	}
	for _, i := range want.Images {
		p.images[i.Object().Key] = i
	}
	for _, v := range want.VMs {
		p.vms[v.Owner.Key] = v
		if i, ok := p.images[v.Source.Image]; ok && !v.Deleted {
			i.Used = true
			p.images[v.Source.Image] = i
		}
	}
	return p
}
