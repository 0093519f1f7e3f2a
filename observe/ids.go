package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/proxplane/proxplane/pve"
)

// Lists show only guests that our credentials may see (VM.Audit). All users may ask whether
// a VMID is taken, which distinguishes a guest that is gone from one that isn't visible.

// checkedID is what is known of a VMID that no list shows.
type checkedID struct {
	taken bool
	at    time.Time
	since time.Time // when it was first found taken
}

const (
	// freeHolds is how long it holds that a VMID is free.
	freeHolds = time.Minute
	// A VMID that is taken is asked about again, at growing intervals between these: when
	// its guest becomes visible lists show it, but not when it goes.
	takenFirst = 5 * time.Second
	takenMost  = 20 * time.Minute
)

// holds returns how long what is known may be relied on.
func (c checkedID) holds() time.Duration {
	if !c.taken {
		return freeHolds
	}
	return min(max(c.at.Sub(c.since), takenFirst), takenMost)
}

// ID asks whether a VMID is taken by a guest that isn't visible to us. Visible guests that
// were created since the last list don't count, nor do guests that are removed meanwhile.
func (o *Observer) ID(ctx context.Context, vmid int) error {
	at := time.Now()
	taken, err := o.taken(ctx, vmid)
	if err == nil && taken {
		if err = o.Refresh(ctx, 0); err != nil {
			return err
		}
		if _, visible := o.target(vmid); visible {
			return nil
		}
		at = time.Now()
		taken, err = o.taken(ctx, vmid)
	}
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.records[vmid] == nil {
		o.noteID(vmid, taken, at)
	}
	return nil
}

func (o *Observer) taken(ctx context.Context, vmid int) (bool, error) {
	err := o.client.Cluster().CheckID(ctx, vmid)
	if err != nil && !errors.Is(err, pve.ErrExists) {
		return false, fmt.Errorf("ask whether VMID %d is taken: %w", vmid, err)
	}
	return err != nil, nil
}

// noteID remembers whether a VMID is taken. Observers hand the map out, so it is never
// changed.
func (o *Observer) noteID(vmid int, taken bool, at time.Time) {
	since := at
	if was := o.ids[vmid]; was.taken {
		since = was.since
	}
	o.ids[vmid] = checkedID{taken, at, since}
	ids := maps.Clone(o.have.IDs)
	ids[vmid] = taken
	o.have.IDs = ids
}

// expireIDs forgets what doesn't hold any more at the time of a list.
func (o *Observer) expireIDs(at time.Time) {
	ids := make(map[int]bool, len(o.ids))
	for vmid, c := range o.ids {
		switch old := at.After(c.at.Add(c.holds())); {
		case o.records[vmid] != nil || old && !c.taken || at.After(c.at.Add(2*takenMost)):
			delete(o.ids, vmid)
		case !old:
			ids[vmid] = c.taken
		}
	}
	o.have.IDs = ids
}
