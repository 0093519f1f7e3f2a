package robustness

import (
	"fmt"
	"slices"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// Histories about images are those of the engine in another world: there are several nodes and mostly no shared
// storage, templates that people made are on some of the nodes and are copied to others, and one image is
// fetched. What is wanted of images changes while machines hang on them.

// drawImages draws a history about images. It has dice of its own, so that all others are as they were.
func drawImages(seed uint64) *history {
	h := &history{seed: seed, world: drawWorld(seed)}
	h.world.spreadOut(newDice(seed, "images"))
	a := &author{dice: newDice(seed, "images history"), h: h}
	a.write()
	a.plot()
	a.moves()
	b := &author{dice: newDice(seed, "images events"), h: &history{world: h.world}, made: a.made}
	for range b.number(3, 9) {
		b.images()
	}
	h.weave(b)
	return h
}

// spreadOut makes a world of it where images have to go to nodes.
func (w *world) spreadOut(d dice) {
	w.spread, w.crowd = true, false
	for len(w.nodes) < 2 || len(w.nodes) < 4 && d.chance(0.3) {
		n := w.Nodes[0]
		n.Name = fmt.Sprintf("pve%d", len(w.nodes)+1)
		w.nodes, w.Nodes, w.Cluster = append(w.nodes, n.Name), append(w.Nodes, n), "lab"
	}
	if d.chance(0.75) {
		nfs := func(name string) bool { return name == "nfs" }
		w.Storages = slices.DeleteFunc(w.Storages, func(s pvesim.WorldStorage) bool { return s.Name == "nfs" })
		w.disks, w.isos, w.shared = slices.DeleteFunc(w.disks, nfs), slices.DeleteFunc(w.isos, nfs), nil
	}
	w.vmids.Last = max(w.vmids.Last, w.vmids.First+99)
	w.images, w.Guests = nil, nil
	w.drawTemplates(d)
	w.thinOut(d)
	w.drawBystanders(d)
	if d.chance(0.7) {
		w.fetched = "cloud"
		w.agents[w.fetched], w.everywhere[w.fetched] = true, true
		w.imageStorage = pick(d, append([]string{""}, w.disks...)...)
	}
}

// thinOut takes templates off some nodes: copies have to take their place.
func (w *world) thinOut(d dice) {
	for _, name := range w.images {
		var at []int
		for _, g := range w.Guests {
			if g.Config["name"] == name {
				at = append(at, g.ID)
			}
		}
		keep := some(d, 0.3, at)
		w.Guests = slices.DeleteFunc(w.Guests, func(g pvesim.WorldGuest) bool { return g.Config["name"] == name && !slices.Contains(keep, g.ID) })
		w.everywhere[name] = true
	}
}

// names are all images that machines can be of.
func (w *world) names() []string {
	if w.fetched == "" {
		return w.images
	}
	return append(slices.Clone(w.images), w.fetched)
}

// images draws something that is wanted of images.
func (a *author) images() {
	switch a.weighted(6, 5, 2, 2, 2, 1, 4, 3, 2) {
	case 0:
		a.pinned()
	case 1:
		a.newContent()
	case 2:
		a.ahead()
	case 3:
		a.unwanted()
	case 4:
		a.moveMachine()
	case 5:
		a.uncopied()
	case 6:
		a.badImage()
	case 7:
		a.crash()
	case 8:
		a.templateMeddled()
	}
}

// pinned wants a machine of an image on one node.
func (a *author) pinned() {
	i, name, image, node := a.setIndex(), a.name(), pick(a.dice, a.h.world.names()...), pick(a.dice, a.h.world.nodes...)
	v := a.machine(setNames[i], name)
	v.Source, v.VMID = model.Source{Image: key("VMImage", image), Full: a.chance(0.15)}, 0
	v.Disks[0] = model.Disk{Slot: model.RootSlot, Name: "root", Size: int64(pick(a.dice, 0, 10)) << 30}
	v.WaitAddress, v.Place.Nodes = false, []string{node}
	a.made = append(a.made, name)
	a.add(wishOnNode, a.soon(), func(r *run) {
		if w := r.sets[i].find(name); w != nil && w.VMID != 0 {
			r.settle() // see create
		}
		if r.sets[i].ask(name, v) {
			r.tells(wishOnNode)
		}
	}, "%s/%s: wanted, %s", setNames[i], name, machineText(v))
}

// aboutImage is an event that changes what is wanted of an image.
func (a *author) aboutImage(k kind, name, what string, fn func(*imageWish)) {
	i := a.setIndex()
	a.add(k, a.soon(), func(r *run) {
		if r.sets[i].changeImage(name, fn) {
			r.tells(k)
		}
	}, "%s/%s: %s", setNames[i], name, what)
}

// newContent gives the fetched image another URL.
func (a *author) newContent() {
	if a.h.world.fetched == "" {
		return
	}
	version, packing := a.number(1, 4), pick(a.dice, "", "", "", "xz", "gz", "zst", "bz2")
	a.aboutImage(wishContent, a.h.world.fetched, fmt.Sprintf("version %d, packed as %q", version, packing), func(i *imageWish) { i.at(version, packing) })
}

// ahead wants templates of an image before machines need them.
func (a *author) ahead() {
	nodes := pick(a.dice, nil, []string{model.AllNodes}, some(a.dice, 0.5, a.h.world.nodes))
	a.aboutImage(wishAhead, pick(a.dice, a.h.world.names()...), fmt.Sprintf("beforehand on %v", nodes), func(i *imageWish) { i.Ahead = nodes })
}

// unwanted wants an image to go, and a while later that it is there again.
func (a *author) unwanted() {
	i, name, back := a.setIndex(), pick(a.dice, a.h.world.names()...), a.between(time.Second, 4*time.Minute)
	a.add(wishImageGoes, a.soon(), func(r *run) {
		if r.sets[i].changeImage(name, func(w *imageWish) { w.Deleted = true }) {
			r.tells(wishImageGoes)
		}
		r.later(back, func() { r.sets[i].changeImage(name, func(w *imageWish) { w.Deleted = false }) })
	}, "%s/%s: deleted, and wanted again after %v", setNames[i], name, back)
}

// badImage lets go wrong what is done for images, and wants something of them.
func (a *author) badImage() {
	f := pvesim.Fault{
		Task: pick(a.dice, "download", "download", "imgcopy", "qmcreate", "qmclone", "qmtemplate", "qmtemplate", "qmigrate", "qmigrate", "imgdel", "qmdestroy"), Times: a.number(1, 3),
		Mode: pick(a.dice, "instead", "after"), Error: pick(a.dice, "command failed: exit code 1", "got timeout", "interrupted by signal"),
	}
	k := map[string]kind{"instead": faultTask, "after": faultDidIt}[f.Mode]
	if a.chance(0.2) {
		f = pvesim.Fault{Method: "POST", Path: pick(a.dice, "/nodes/*/storage/*/download-url", "/nodes/*/storage/*/upload", "/nodes/*/qemu/*/template", "/nodes/*/qemu/*/migrate", "/nodes/*/qemu/*/clone"), Drop: "after", Times: 1}
		k = faultAfter
	}
	a.inject(k, f)
	if a.chance(0.5) {
		a.pinned()
	} else {
		a.newContent()
	}
}

// uncopied wants templates used where they are for a while.
func (a *author) uncopied() {
	i, name, back := a.setIndex(), pick(a.dice, a.h.world.images...), a.between(time.Second, 4*time.Minute)
	a.add(wishNoCopies, a.soon(), func(r *run) {
		if r.sets[i].changeImage(name, func(w *imageWish) { w.NoCopies = true }) {
			r.tells(wishNoCopies)
		}
		r.later(back, func() { r.sets[i].changeImage(name, func(w *imageWish) { w.NoCopies = false }) })
	}, "%s/%s: copies never, and auto again after %v", setNames[i], name, back)
}

// What is wanted of images.
const (
	wishOnNode    kind = "a machine on one node"
	wishContent   kind = "another content of an image"
	wishAhead     kind = "templates beforehand"
	wishImageGoes kind = "an image deleted and wanted again"
	wishNoCopies  kind = "no copies for a while"
)

var aboutImages = []kind{wishOnNode, wishContent, wishAhead, wishImageGoes, wishNoCopies}
