package privileges

import (
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/plan/stage"
)

// life is all that plans ever do for what is wanted, and all that is read for it. It is
// found by planning, on a cluster that is invented: see [life.invent].
type life struct {
	want    model.Desired
	at      Facts
	w       *stage.World
	deeds   []deed
	reads   []call
	unknown []string
	// restless are the objects whose plans come to no end.
	restless []model.Key
	// twins are the guests that were left out, by the one that stands for them.
	twins map[model.Key][]model.Key
	// alike are the paths on which the same is needed as on the one that stands for them.
	alike map[string][]string
	// stands are the paths of guests of the invented cluster that stand for others.
	stands map[int]string
	// guessed: templates that can't be read are guessed, drive: with a cloud-init drive.
	guessed, drive bool
	// apart: their disks are on local storage of a node that no guest is placed on, so that they are copied.
	apart bool
}

// all lives through everything that may happen: once with all nodes, and once with each
// that differs from others for everything that may go there, since plans take one node and
// one storage, and may take any tomorrow.
func (l *life) all() {
	l.want = settled(l.want)
	l.distinct()
	for i, v := range l.want.VMs {
		l.want.VMs[i] = v.At(v.VMID) // which VMID it is makes no difference to rights on options
		l.listed(v)
	}
	l.live(l.want, wholeLife())
	if l.guessed {
		l.drive = true
		l.live(l.want, firstDays())
	}
	if l.guessed && l.at.Apart {
		l.apart = true
		for _, node := range l.places() {
			l.live(pinned(l.want, node), firstDays())
		}
		l.apart = false
	}
	fetches := slices.ContainsFunc(l.want.Images, func(i model.Image) bool { return i.URL != "" })
	for _, node := range l.places() {
		l.live(pinned(l.want, node), firstDays())
		if fetches {
			l.live(pinned(l.want, node), append([]chapter{alone(node)}, firstDays()...))
		}
	}
}

// live invents a cluster and lives through chapters there.
func (l *life) live(want model.Desired, chapters []chapter) {
	l.invent()
	for _, next := range chapters {
		next(l, &want)
		l.settle(want)
	}
}

// settle does what plans say until there is nothing left to do.
func (l *life) settle(want model.Desired) {
	const enough = 50 // turns; objects that wait for each other have five each
	var busy []model.Key
	for range enough {
		p := l.plan(want)
		busy = nil
		for _, o := range p.Objects {
			for _, s := range o.Next() {
				l.note(o, s.Action)
				l.w.Do(s.Action)
				busy = append(busy, o.Owner.Key)
			}
		}
		if len(busy) == 0 {
			return
		}
	}
	l.restless = append(l.restless, busy...)
}

// plan looks as often as the plan asks for it.
func (l *life) plan(want model.Desired) plan.Plan {
	const enough = 12
	var look model.Look
	for range enough {
		have := l.w.Observe(look)
		for path := range have.Rights {
			have.Rights[path] = l.mayUse(path)
		}
		p := plan.For(want, have)
		more := p.Look()
		l.looked(more)
		if more.Empty() {
			return p
		}
		look.Add(more)
	}
	return plan.Plan{}
}

// note notes an action that a plan has.
func (l *life) note(o plan.Object, a model.Action) {
	if i := slices.IndexFunc(l.want.Images, func(i model.Image) bool { return i.Lent && i.Object().Key == o.Owner.Key }); i >= 0 {
		return // its own namespace looks after it
	}
	if fetch, ok := a.(model.Download); ok {
		fetch.Node = "" // any node may be the one that does it
		a = fetch
	}
	d := deed{action: a, of: o.Owner.Key, newID: allGuests}
	v, isVM := l.vm(o.Owner.Key)
	if isVM {
		d.newID = vmPath(v.VMID)
	}
	if vmid := a.Guest(); vmid != 0 {
		switch d.guest = l.pathOf(vmid); {
		case l.w.Guests[vmid] != nil:
		case isVM:
			d.guest = guestPath(v)
		default:
			d.guest = allGuests
		}
	}
	had := l.w.Guests[a.Guest()]
	if clone, ok := a.(model.Clone); ok {
		had, d.source = l.w.Guests[clone.From.VMID], l.pathOf(clone.From.VMID)
		l.see("see what guests are made from", d.source)
	}
	if had != nil {
		d.had = configOf(had)
	}
	l.deeds = append(l.deeds, d)
	for _, storage := range storagesOf(d) {
		l.seeStorage(storage)
	}
	if _, home := a.(model.SetPool); home {
		delete(l.stands, a.Guest())
	}
}

// vm returns a guest that is wanted.
func (l *life) vm(key model.Key) (model.VM, bool) {
	i := slices.IndexFunc(l.want.VMs, func(v model.VM) bool { return v.Owner.Key == key })
	if i < 0 {
		return model.VM{}, false
	}
	return l.want.VMs[i], true
}

// allGuests is the path of rights on all guests.
const allGuests = "/vms"

// guestPath returns where the rights on a guest are: on its pool, on its VMID if that
// is fixed, else on all guests.
func guestPath(v model.VM) string {
	if v.Pool != "" {
		return poolPath(v.Pool)
	}
	return vmPath(v.VMID)
}

// pathOf returns where the rights on a guest of the invented cluster are.
func (l *life) pathOf(vmid int) string {
	if path, ok := l.stands[vmid]; ok {
		return path
	}
	g := l.w.Guests[vmid]
	if g == nil || g.Marker() == nil {
		return vmPath(vmid)
	}
	if v, ok := l.vm(g.Marker().Owner.Key); ok {
		return guestPath(v)
	}
	return allGuests // what is made for an image
}

func (l *life) unsure(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(l.unknown, text) {
		l.unknown = append(l.unknown, text)
	}
}
