package change

import (
	"context"
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// mostUnread is for how many machines that aren't in the manifests it is read whose they
// are.
const mostUnread = 500

// mentionUnnamed says which machines of the set no manifest names any more: they stay,
// which may be a mistake.
func (c *change) mentionUnnamed(ctx context.Context, u *ui.UI, list []*target.Site) {
	if c.prune && !c.deleted {
		c.mentionUnseen(ctx, u, list)
	}
	if c.prune || c.deleted || c.Objects != nil || c.Selector != "" {
		return
	}
	for _, one := range list {
		if one.Desired.Moves != nil {
			continue // the manifests don't say what there is to be
		}
		left, unread := unnamedOf(ctx, one)
		if len(left) > 0 {
			u.Note("%s", c.unnamedText(left))
		}
		if unread > 0 {
			u.Note("whose %s are that no manifest here names couldn't be read: they may be of set %s", status.Count(unread, "more machine"), c.Set)
		}
	}
}

// mentionUnseen says that pruning can't find what the credentials may not see.
func (c *change) mentionUnseen(ctx context.Context, u *ui.UI, list []*target.Site) {
	for _, one := range list {
		rights, err := one.Client.Access().Permissions(ctx, "", "/vms")
		if err == nil && !rights["/vms"]["VM.Audit"] {
			u.Note("%s sees only some machines: those of set %s that aren't visible aren't pruned. VM.Audit on /vms shows all", ui.Who(one.Connection.Credentials), c.Set)
		}
	}
}

// unnamedOf reads which machines of the set no manifest names, and how many couldn't be
// read.
func unnamedOf(ctx context.Context, c *target.Site) (left []plan.LeftBehind, unread int) {
	_, ids := plan.Unnamed(c.Desired, c.Observer.Snapshot())
	_ = c.ReadAll(ctx, ids[:min(len(ids), mostUnread)], func(ctx context.Context, id int) error {
		_ = c.Observer.Config(ctx, id) // what can't be read is counted
		return nil
	})
	left, ids = plan.Unnamed(c.Desired, c.Observer.Snapshot())
	return left, len(ids)
}

// unnamedText says of machines that no manifest names what pruning would do with them.
func (c *change) unnamedText(left []plan.LeftBehind) string {
	var removed, released, kept, keptRetained []string
	for _, l := range left {
		name := fmt.Sprintf("%s (VM %d)", status.Name(l.Owner.Key), l.Guest.VMID)
		switch {
		case !l.Proved && l.Retained:
			keptRetained = append(keptRetained, name)
		case !l.Proved:
			kept = append(kept, name)
		case l.Retained:
			released = append(released, name)
		default:
			removed = append(removed, name)
		}
	}
	var parts []string
	add := func(names []string, what string) {
		if len(names) > 0 {
			parts = append(parts, what+few(names))
		}
	}
	prune := fmt.Sprintf("--set %s --prune ", c.Set)
	add(removed, prune+"removes ")
	add(released, prune+"releases, without removing them from Proxmox: ")
	const unproved = "--prune leaves what only claims in its notes to be of this set, "
	add(kept, unproved+"proxplane delete vm/VMID removes it: ")
	add(keptRetained, unproved+"proxplane release vm/VMID lets go of it: ")
	is, stays := "machines of set %s are", "They stay as they are"
	if len(left) == 1 {
		is, stays = "machine of set %s is", "It stays as it is"
	}
	return fmt.Sprintf("%d "+is+" named by no manifest here. %s; %s", len(left), c.Set, stays, strings.Join(parts, "; "))
}

// few are names in their order, the first of many.
func few(names []string) string {
	const most = 5
	model.SortNames(names)
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
