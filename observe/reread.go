package observe

import (
	"context"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// Reread reads the config of one guest of ours again, the next in turn: somebody
// may have changed it in a way that the lists don't show. Called now and then, it
// goes round all of them, at the same number of requests however many they are.
// It returns the VMID, or 0 if there is none.
func (o *Observer) Reread(ctx context.Context) (int, error) {
	vmid := o.nextReread()
	if vmid == 0 {
		return 0, nil
	}
	return vmid, o.Config(ctx, vmid)
}

func (o *Observer) nextReread() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	first, next := 0, 0
	for vmid, g := range o.have.Guests {
		if n := o.have.Nodes[g.Node]; n == nil || !n.Online || !slices.Contains(g.Tags, model.Tag) {
			continue
		}
		if first == 0 || vmid < first {
			first = vmid
		}
		if vmid > o.reread && (next == 0 || vmid < next) {
			next = vmid
		}
	}
	if next == 0 {
		next = first
	}
	o.reread = next
	return next
}
