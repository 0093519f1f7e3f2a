package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// firstDirs is the release that has directory mappings first.
var firstDirs = [2]int{8, 4}

// share plans a directory mapping that guests use. It is made once for all of them, and removed with the
// last guest that uses it.
func (p *planner) share(s model.Share) Object {
	o := Object{Owner: s.Owner}
	name := s.Owner.Name
	switch old := !p.have.AtLeast(firstDirs[0], firstDirs[1]); {
	case old && s.Deleted:
		o.Gone = true
		return o
	case old:
		o.wait(model.WaitRelease, fmt.Sprintf("Proxmox VE %d.%d has no virtiofs of its own, %d.%d has: say via: hook", p.have.Release, p.have.Minor, firstDirs[0], firstDirs[1]))
		return o
	case p.have.Dirs == nil:
		o.Look.Dirs = true
		return o
	}
	dir, there := p.have.Dirs[name]
	switch {
	case s.Deleted:
		p.removeShare(&o, name, s.By(), dir, there)
	case p.backOff(&o):
	case !there:
		o.step(Step{
			Action: model.MakeShare{Name: name, Path: s.Path, Nodes: p.shareNodes(s, dir), New: true, Maker: s.By()},
			What:   fmt.Sprintf("make the directory mapping %s of %s", name, s.Path), Why: absent(s.Owner), Effect: New,
		})
	default:
		p.changeShare(&o, s, dir)
	}
	return o
}

// shareNodes returns the nodes that a mapping is to have an entry for: those where
// guests may use it, and those that others have added.
func (p *planner) shareNodes(s model.Share, dir model.Dir) []string {
	nodes := slices.Clone(s.Nodes)
	if len(nodes) == 0 {
		nodes = slices.Collect(keysOf(p.have.Nodes))
	}
	for node := range dir.Paths {
		nodes = append(nodes, node)
	}
	model.SortNames(nodes)
	return slices.Compact(nodes)
}

// changeShare brings a mapping of ours up to date. One of somebody else's is
// used as it is, if it is what is meant.
func (p *planner) changeShare(o *Object, s model.Share, dir model.Dir) {
	name := s.Owner.Name
	nodes := p.shareNodes(s, dir)
	var other, missing []string
	for _, node := range nodes {
		switch path, has := dir.Paths[node]; {
		case !has:
			missing = append(missing, node)
		case path != s.Path:
			other = append(other, node)
		}
	}
	switch {
	case len(other) == 0 && len(missing) == 0:
	case len(other) > 0 && !ours(dir, s.By()):
		o.wait(model.WaitForeign, fmt.Sprintf("the directory mapping %s isn't ours (%s), and is %s on %s, not %s; choose another tag", name, whose(dir), dir.Paths[other[0]], strings.Join(other, ", "), s.Path))
	case !ours(dir, s.By()):
		// Guests go where it is.
	case len(other) > 0 && p.usedByOthers(o, name):
	default:
		why, diff := "it has nothing for "+strings.Join(missing, ", "), []model.Difference(nil)
		if len(other) > 0 {
			why, diff = "", one(differs(model.FieldDirectory, dir.Paths[other[0]], s.Path), Live)
		}
		o.step(Step{
			Action: model.MakeShare{Name: name, Path: s.Path, Nodes: nodes, Maker: s.By(), Digest: dir.Digest},
			What:   "change the directory mapping " + name, Why: why, Diff: diff, Effect: Live,
		})
	}
}

// usedByOthers waits if guests use a mapping that isn't wanted of them here: they
// would find another directory under its name.
func (p *planner) usedByOthers(o *Object, name string) bool {
	users, look := p.sharers(name)
	sees := p.seesAllGuests(&look)
	if !look.Empty() {
		o.Look = look
		return true
	}
	if !sees {
		o.wait(model.WaitUnseen, fmt.Sprintf("the directory mapping %s is another directory now, and whether other guests use it can't be seen without the privilege VM.Audit on /vms; grant it, or choose another tag", name))
		return true
	}
	for _, vmid := range users {
		g := p.have.Guests[vmid]
		m := g.Config.Marker
		if m == nil || !slices.Contains(p.vms[m.Owner.Key].Shares, name) || p.vms[m.Owner.Key].Owner != m.Owner {
			o.wait(model.WaitForeign, fmt.Sprintf("VM %d (%s) uses the directory mapping %s as it is now; choose another tag", vmid, g.Name, name))
			return true
		}
	}
	return false
}

// shareMissing waits for the mappings that a guest uses.
func (p *planner) shareMissing(v model.VM) *Wait {
	for _, name := range v.Shares {
		dir, there := p.have.Dirs[name]
		if !there {
			text := fmt.Sprintf("the directory mapping %s, which it uses, isn't there yet", name)
			if fail, failed := p.have.Failed[model.ShareKey(name)]; failed {
				text += fmt.Sprintf(": %s failed: %s", fail.What, fail.Text)
			}
			return &Wait{Reason: model.WaitSource, Text: text}
		}
		for _, s := range p.want.Shares {
			if s.Owner.Name == name && !dir.Is(s.Path) {
				return &Wait{Reason: model.WaitSource, Text: fmt.Sprintf("the directory mapping %s, which it uses, isn't %s yet", name, s.Path)}
			}
		}
	}
	return nil
}

// badShare says why a mapping can't be used on a node; empty: it can.
func (p *planner) badShare(name, node string) string {
	dir := p.have.Dirs[name]
	path, has := dir.Paths[node]
	switch bad := dir.Bad[node]; {
	case !has:
		return fmt.Sprintf("the directory mapping %s has nothing for it", name)
	case bad != "":
		return fmt.Sprintf("the directory %s can't be shared: %s", path, bad)
	}
	return ""
}

// ours reports whether a mapping was made for its present owner.
func ours(dir model.Dir, maker string) bool { return dir.Made && dir.Maker == maker }

// wanted reports whether a guest is one of those that are planned here.
func (p *planner) wanted(vmid int) bool {
	m := p.have.Guests[vmid].Config.Marker
	return m != nil && p.vms[m.Owner.Key].Owner == m.Owner
}

// whose names the owner of a mapping.
func whose(dir model.Dir) string {
	if dir.Made {
		return "it is " + dir.Maker + "'s"
	}
	return "somebody else made it"
}

// seesAllGuests reports whether no guest is hidden from these credentials, so that
// nobody uses a mapping that no guest is seen to use.
func (p *planner) seesAllGuests(look *Look) bool { return p.absent(look, "/vms", "VM.Audit") }

// unseenShare says why a mapping stays.
func unseenShare(name string) string {
	return fmt.Sprintf("the directory mapping %s stays, since whether other guests use it can't be seen without the privilege VM.Audit on /vms; once none does: pvesh delete /cluster/mapping/dir/%[1]s", name)
}

// sharers returns the guests whose configs use a mapping. All have to be read to know
// that, whoever made them.
func (p *planner) sharers(name string) (users []int, look Look) {
	for _, id := range slices.Sorted(keysOf(p.have.Guests)) {
		switch g := p.have.Guests[id]; {
		case g.Container:
		case g.Config == nil:
			look.Configs = append(look.Configs, id)
		case usesShare(g.Config, name):
			users = append(users, id)
		}
	}
	return users, look
}

// usesShare reports whether a guest uses a mapping, or did before what is pending.
func usesShare(c *model.Config, name string) bool {
	for k, v := range c.Options {
		if isSlot(k, "virtiofs") && sharedBy(v) == name {
			return true
		}
	}
	return false
}

// sharedBy returns the mapping that an option names.
func sharedBy(option string) string {
	first, _, _ := strings.Cut(option, ",")
	return strings.TrimPrefix(first, "dirid=")
}

// removeShare plans the end of a mapping that is ours.
func (p *planner) removeShare(o *Object, name, maker string, dir model.Dir, there bool) {
	if !there || !ours(dir, maker) {
		o.Gone = true
		return
	}
	users, look := p.sharers(name)
	sees := p.seesAllGuests(&look)
	switch {
	case !look.Empty():
		o.Look = look
	case len(users) == 0 && !sees:
		o.Gone = true
		o.Notes = append(o.Notes, Note{Text: unseenShare(name)})
	case len(users) > 0 && !slices.ContainsFunc(users, p.wanted):
		o.Gone = true
		o.note("the directory mapping %s stays, since VM %d of others uses it; once none does: pvesh delete /cluster/mapping/dir/%[1]s", name, users[0])
	case len(users) > 0:
		o.wait(model.WaitDependents, fmt.Sprintf("VM %d uses the directory mapping %s; it goes when no guest does", users[0], name))
	case p.backOff(o):
	default:
		o.step(Step{Action: model.RemoveShare{Name: name, Maker: maker}, What: "remove the directory mapping " + name, Why: ending(o.Owner), Effect: Live})
	}
}
