package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

const sharePrefix = "share:"

// leaveForGood does the same for a guest that is to be destroyed.
func (c *change) leaveForGood(why string, after int) int {
	var keys []string
	for _, k := range slices.Sorted(keysOf(c.have.Options)) {
		name := sharedBy(c.have.Options[k])
		if isSlot(k, "virtiofs") && c.managed(sharePrefix+name) && !c.p.sharesWanted(name) {
			keys = append(keys, k)
		}
	}
	if len(keys) > 0 {
		return c.o.step(Step{
			Action: model.Detach{Target: c.target(), Digest: c.have.Digest, Options: keys},
			What:   fmt.Sprintf("take %s away from VM %d", strings.Join(keys, ", "), c.g.VMID), Why: why, Effect: Live,
		}, after)
	}
	return c.leaveShares(after)
}

// leaveShares sees to mappings that the guest used and doesn't any more: it
// leaves first, then looks whether somebody else is there. So of several that
// leave at once, the last one finds nobody. It returns the last step.
func (c *change) leaveShares(after int) (last int) {
	last = after
	for _, mark := range c.have.Marker.Managed {
		name, ok := strings.CutPrefix(mark, sharePrefix)
		if !ok || !c.v.Deleted && slices.Contains(c.v.Shares, name) {
			continue
		}
		if c.stillShares(name) {
			c.kept = append(c.kept, mark)
			continue
		}
		if c.lastShare(name) {
			c.kept = append(c.kept, mark)
			last = c.o.step(Step{
				Action: model.RemoveShare{Name: name, Maker: model.ShareMaker(c.v.Owner), For: c.g.VMID},
				What:   "remove the directory mapping " + name, Why: "no machine uses it any more", Effect: Live,
			}, last)
		}
	}
	return last
}

// stillShares reports whether the guest uses a mapping until its next start, or
// until it is configured.
func (c *change) stillShares(name string) bool {
	if usesShare(c.have, name) {
		return true
	}
	for k := range c.have.Pending {
		if isSlot(k, "virtiofs") {
			return true
		}
	}
	return false
}

// lastShare reports whether a mapping of ours has no user left.
func (c *change) lastShare(name string) bool {
	if !c.p.have.AtLeast(firstDirs[0], firstDirs[1]) || c.p.sharesWanted(name) {
		return false
	}
	if c.p.have.Dirs == nil {
		c.o.Look.Dirs = true
		return false
	}
	if dir, there := c.p.have.Dirs[name]; !there || !ours(dir, model.ShareMaker(c.v.Owner)) {
		return false
	}
	users, look := c.p.sharers(name)
	sees := c.p.seesAllGuests(&look)
	c.o.Look.Add(look)
	switch {
	case !look.Empty() || len(users) > 0:
		return false
	case !sees:
		c.p.note(Note{Text: unseenShare(name)})
		return false
	}
	return true
}

// sharesWanted reports whether the manifests want a mapping. One that is to go is seen
// to by the last guest that uses it, too: its own object may be gone with that.
func (p *planner) sharesWanted(name string) bool {
	return slices.ContainsFunc(p.want.Shares, func(s model.Share) bool { return s.Owner.Name == name && !s.Deleted })
}
