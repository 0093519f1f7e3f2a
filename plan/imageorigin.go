package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// A template that people made is the image where it is, and so are templates of the same name on
// other nodes. A node that has none, and doesn't reach the disks of one, gets a copy: a clone that
// is migrated to it. Copies are ours, and are made, replaced and removed as the templates of
// fetched images are.

// copyable reports whether copies of a template that people made may be made.
func copyable(i model.Image) bool {
	return i.Made() && !i.NoCopies && !i.Implied && !i.Deleted
}

// origin returns the template that copies of an image are made of, and the image with what distinguishes it from
// others; nil: there is none with local disks. One that is locked, by a backup say, stays the origin:
// its copies are as good as before.
func (p *planner) origin(i model.Image, look *Look) (model.Image, *model.Guest) {
	made, wait, more := p.madeByHand(i)
	if i.Template != "" {
		if all, unclear, unread := p.namesakesOf(i); unclear == nil && unread.Empty() && len(all) > 0 {
			made, wait, more = all, nil, Look{}
		}
	}
	look.Add(more)
	if wait != nil || !more.Empty() {
		return i, nil
	}
	made = slices.SortedFunc(slices.Values(made), func(a, b *model.Guest) int { return cmp.Compare(a.VMID, b.VMID) })
	for _, g := range made {
		switch {
		case !g.Template:
		case g.Config == nil:
			look.Configs = append(look.Configs, g.VMID)
			return i, nil
		case !p.allShared(g.Config):
			i.Origin = model.OriginOf(g.VMID, g.Config.Options)
			return i, g
		}
	}
	return i, nil
}

// madeByHand returns the templates that people made and that an image stands for.
func (p *planner) madeByHand(i model.Image) ([]*model.Guest, *Wait, Look) {
	if i.Template != "" {
		return p.templates(i)
	}
	g := p.have.Guests[i.VMID]
	if g == nil {
		return nil, &Wait{Reason: model.WaitMissing, Text: fmt.Sprintf("there is no VM %d", i.VMID)}, Look{}
	}
	if i.OnlyTemplate && !g.Template {
		return nil, &Wait{Reason: model.WaitForbidden, Do: model.Advice{Do: model.AllowSource, VMID: i.VMID}, Text: fmt.Sprintf("VM %d isn't a template, and nothing but templates is allowed here", i.VMID)}, Look{}
	}
	return []*model.Guest{g}, nil, Look{}
}

// withCopies returns the templates that people made, and the copies of them.
func (p *planner) withCopies(i model.Image) ([]*model.Guest, *Wait, Look) {
	list, wait, look := p.madeByHand(i)
	if wait != nil || !look.Empty() || !copyable(i) || !p.copiesSeen(i) {
		return list, wait, look
	}
	i, from := p.origin(i, &look)
	if from == nil {
		return list, nil, look
	}
	copies, more := p.copies(i)
	look.Add(more)
	return slices.Concat(list, copies), nil, look
}

// copiesSeen reports whether lists show guests that may be copies of a template: they are called so, or
// are too new to have a name there.
func (p *planner) copiesSeen(i model.Image) bool {
	return len(p.have.Named(i.CopyName())) > 0 ||
		slices.ContainsFunc(p.nameless(), func(g *model.Guest) bool { return slices.Contains(g.Tags, model.Tag) })
}

// original returns the template that a machine comes from: of a copy, what it is a copy of.
func original(g *model.Guest) int {
	if m := g.Marker(); m != nil && m.Version != "" && m.From != 0 {
		return m.From
	}
	return g.VMID
}

// movedAlong are the types of local storages whose disks Proxmox migrates.
var movedAlong = []string{"dir", "btrfs", "zfspool", "lvmthin", "lvm"}

// copySite says why a node can't get a copy of a template.
func (p *planner) copySite(from *model.Guest, node string, look *Look) unfit {
	if n := p.have.Nodes[node]; n == nil || !n.Online {
		return now("offline")
	}
	if n := p.have.Nodes[from.Node]; n == nil || !n.Online {
		return now("%s, which has template %d, is offline", from.Node, from.VMID)
	}
	if from.Lock != "" {
		return now("template %d is locked (%s)", from.VMID, from.Lock)
	}
	if device := localDevice(from.Config.Options); device != "" {
		return never("template %d has %s, a device of its node, and Proxmox migrates no VM with one", from.VMID, device)
	}
	need := map[string]int64{}
	for _, d := range from.Config.Disks {
		s := p.have.Storages[d.Storage]
		if d.Volume == "none" || d.Volume == "" {
			continue
		}
		if s == nil {
			return never("these credentials don't see storage %s, which has disks of template %d", d.Storage, from.VMID)
		}
		_, there := s.OnNode[node]
		switch {
		case !there && s.Late[node]:
			look.Storages = append(look.Storages, node)
		case !there:
			return never("storage %s, which has disks of template %d, isn't there", s.Name, from.VMID)
		case s.Shared:
		case d.CDROM && !d.CloudInit:
			return never("%s is in drive %s of template %d and on %s alone: take it out", d.Volume, d.Slot, from.VMID, from.Node)
		case !slices.Contains(movedAlong, s.Type):
			return never("Proxmox migrates no disks on storages of type %s, such as %s", s.Type, s.Name)
		default:
			need[s.Name] += d.Size
		}
	}
	for _, name := range model.NamesOf(need) {
		s := p.have.Storages[name]
		if r := s.OnNode[node]; r.Total > 0 && r.Free() < need[name] && (!thin(s) || r.Free() <= 0) {
			return now("storage %s has %s free, %s needed", name, model.Bytes(max(0, r.Free())), model.Bytes(need[name]))
		}
	}
	return p.mayCopy(look)
}

// mayCopy says which privilege for making copies these credentials lack.
func (p *planner) mayCopy(look *Look) unfit {
	rights, read := p.have.Rights[allGuests]
	if !read {
		look.Rights = append(look.Rights, allGuests)
		return unfit{}
	}
	for _, priv := range []string{"VM.Allocate", "VM.Clone", "VM.Migrate", "VM.Config.Options"} {
		if !rights[priv] {
			return never("these credentials lack %s on %s", priv, allGuests)
		}
	}
	return unfit{}
}

// allGuests is the path of rights on all guests.
const allGuests = "/vms"

// localDevice returns an option by which a guest has a device of its node, other than by a mapping; empty: none.
func localDevice(options map[string]string) string {
	for _, k := range slices.Sorted(keysOf(options)) {
		kind, value := strings.TrimRight(k, "0123456789"), options[k]
		switch {
		case kind == k && k != "ivshmem", mappingIn(value) != "":
		case k == "ivshmem", kind == "hostpci", kind == "parallel", kind == "serial" && value != "socket",
			kind == "usb" && !strings.HasPrefix(strings.TrimPrefix(value, "host="), "spice"):
			return k
		}
	}
	return ""
}

// copyTo returns the copy that is or would be made for a node, as something to clone from, or why none can
// be.
func (p *planner) copyTo(i model.Image, node string, look *Look) (*source, unfit) {
	i, from := p.origin(i, look)
	if from == nil {
		return nil, unfit{}
	}
	cannot := func(why unfit) (*source, unfit) {
		why.reason = fmt.Sprintf("%s (%d) is on %s with local disks, and can't be copied there: %s", from.Name, from.VMID, from.Node, why.reason)
		return nil, why
	}
	c := i.Copy(node)
	if f, failed := p.have.Failed[c.Object().Key]; failed && !f.Unread && (f.Hard || f.Full) {
		return cannot(now("%s failed: %s", f.What, f.Text))
	}
	if g := p.find(versioned(c), 0, c.Range).guest; g != nil && g.Template && g.Config != nil && g.Node == node && g.Lock == "" && p.converting(g) == nil {
		return &source{guest: g, shared: p.allShared(g.Config)}, unfit{}
	} else if g != nil && g.Template && g.Node != node {
		return cannot(never("its copy for %s, VM %d, was moved to %s; move it back, or destroy it", node, g.VMID, g.Node))
	}
	if why := p.copySite(from, node, look); why.no() || !look.Empty() {
		return cannot(why)
	}
	there := *from
	there.Node = node
	return &source{guest: &there, future: &c}, unfit{}
}

// mayHaveCopies reports whether there may be copies of a template: guests that are called as they are,
// or one that is being made.
func (p *planner) mayHaveCopies(o *Object, i model.Image) bool {
	if p.copiesSeen(i) {
		return true
	}
	if !p.halfSeen() {
		return false
	}
	rooted, from := p.origin(i, &o.Look)
	return from != nil && p.inTheMaking(o, rooted, model.NamesOf(p.have.Nodes)...)
}

// hiddenCopies makes an object wait while the VMID of a template's copy is taken by a guest that isn't visible: it
// may be that copy.
func (p *planner) hiddenCopies(o *Object, i model.Image) bool {
	if !i.Made() || i.NoCopies || i.Implied {
		return false
	}
	var look Look
	rooted, from := p.origin(i, &look)
	if slices.ContainsFunc(look.Configs, p.offline) {
		return false // nobody waits for that node just to know what its template would be called elsewhere
	}
	if o.Look.Add(look); from == nil {
		return !look.Empty()
	}
	var ids []int
	for _, node := range model.NamesOf(p.have.Nodes) {
		if node != from.Node {
			ids = append(ids, p.firstFree(versioned(rooted.Copy(node)), i.Range))
		}
	}
	return p.hidden(o, i.Owner, ids...)
}

// inTheMaking reports whether a template of an image exists for one of some nodes, or is being made, so that its config
// doesn't name its owner yet: then there is something to read or to wait for.
func (p *planner) inTheMaking(o *Object, i model.Image, nodes ...string) bool {
	for _, node := range nodes {
		f := p.find(versioned(i.Copy(node)), 0, i.Range)
		o.Look.Add(f.look)
		if f.wait != nil && f.unsure() {
			o.Wait = f.wait
		}
		if f.guest != nil {
			return true
		}
	}
	return false
}

// halfSeen reports whether a guest is being made, or was a moment ago: lists don't show its name yet.
func (p *planner) halfSeen() bool {
	if slices.ContainsFunc(p.have.Tasks, func(t model.Task) bool { return makes(t.Type) }) {
		return true
	}
	for _, g := range p.have.Guests {
		if unnamed(g) {
			return true
		}
	}
	return false
}
