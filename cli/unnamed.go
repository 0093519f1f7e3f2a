package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// mostUnread is for how many machines that aren't in the manifests it is read whose they
// are.
const mostUnread = 500

// mentionUnnamed says which machines of the set no manifest names any more: they stay,
// which may be a mistake.
func (c *change) mentionUnnamed(ctx context.Context, u *ui, list []*cluster) {
	if c.prune || c.deleted || c.objects != nil || c.selector != "" {
		return
	}
	for _, one := range list {
		left, unread := one.unnamed(ctx)
		if len(left) > 0 {
			u.note("%s", c.unnamedText(left))
		}
		if unread > 0 {
			u.note("whose %s are that no manifest here names couldn't be read: they may be of set %s", status.Count(unread, "more machine"), c.set)
		}
	}
}

// unnamed reads which machines of the set no manifest names, and how many couldn't be
// read.
func (c *cluster) unnamed(ctx context.Context) (left []*model.Guest, unread int) {
	_, ids := plan.Unnamed(c.Desired, c.observer.Snapshot())
	_ = c.readAll(ctx, ids[:min(len(ids), mostUnread)], func(ctx context.Context, id int) error {
		_ = c.observer.Config(ctx, id) // what can't be read is counted
		return nil
	})
	left, ids = plan.Unnamed(c.Desired, c.observer.Snapshot())
	return left, len(ids)
}

func (c *change) unnamedText(left []*model.Guest) string {
	const most = 5
	var names []string
	for _, g := range left {
		names = append(names, fmt.Sprintf("%s (VM %d)", status.Name(g.Config.Marker.Owner.Key), g.VMID))
	}
	model.SortNames(names)
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	text := "%d machines of set %s are named by no manifest here: %s. They stay as they are; --set %s --prune removes them"
	if len(left) == 1 {
		text = "%d machine of set %s is named by no manifest here: %s. It stays as it is; --set %s --prune removes it"
	}
	return fmt.Sprintf(text, len(left), c.set, strings.Join(names, ", "), c.set)
}
