package observe

import (
	"context"
	"fmt"
	"time"
)

// A disk that its storage doesn't list isn't missing yet: somebody may have moved or removed it since
// the guest's config was read, or Proxmox doesn't show it to these credentials.

// lack notes whether a storage that was asked at a time had a disk of the guest's.
func (r *record) lack(volume string, lacks bool, at time.Time) {
	since, lacked := r.missing[volume]
	switch {
	case !lacks:
		delete(r.missing, volume)
	case lacked && r.proved(since):
	case r.missing == nil:
		r.missing = map[string]time.Time{volume: at}
	default:
		r.missing[volume] = at
	}
}

// proved reports whether a disk is missing that the storage didn't have at a time, if the config
// names it.
func (r *record) proved(at time.Time) bool { return r.asked(at) && !r.blind }

// asked reports whether all was read since a time that reports whether a disk is missing.
func (r *record) asked(at time.Time) bool { return r.configAt.After(at) && r.shownAt.After(at) }

// lacking returns the slots of disks that the storages don't have.
func (r *record) lacking() []string {
	var slots []string
	r.absences(func(slot string, at time.Time) {
		if r.proved(at) {
			slots = append(slots, slot)
		}
	})
	return slots
}

// doubtful reports whether a guest seems to lack a disk, and more has to be read before that is
// believed.
func (r *record) doubtful() (doubtful bool) {
	r.absences(func(_ string, at time.Time) { doubtful = doubtful || !r.asked(at) })
	return doubtful
}

// absences calls do with the slots of disks that the config names and that the storages don't list,
// and with the time at which they were asked.
func (r *record) absences(do func(slot string, at time.Time)) {
	if len(r.missing) == 0 || r.config == nil {
		return
	}
	for _, d := range r.config.Disks {
		if at, lacks := r.missing[d.Volume]; lacks {
			do(d.Slot, at)
		}
	}
}

// Verify reads a guest's config. If a disk seems to be missing, it also reads whether the
// guest's disks are visible to these credentials.
func (o *Observer) Verify(ctx context.Context, vmid int) error {
	o.mu.RLock()
	r := o.records[vmid]
	doubtful, walled := r != nil && r.doubtful(), r != nil && r.firewall != nil
	o.mu.RUnlock()
	if doubtful {
		if err := o.shown(ctx, vmid); err != nil {
			return err
		}
	}
	if err := o.Config(ctx, vmid); err != nil || !walled {
		return err
	}
	return o.Firewall(ctx, vmid)
}

// shown reads whether Proxmox shows a guest's disks to these credentials: to those only who may
// configure them.
func (o *Observer) shown(ctx context.Context, vmid int) error {
	at, path := time.Now(), fmt.Sprintf("/vms/%d", vmid)
	held, err := o.client.Access().Permissions(ctx, "", path)
	if err != nil && !unknowable(ctx, err) {
		return fmt.Errorf("read the privileges on %s: %w", path, err)
	}
	_, may := held[path]["VM.Config.Disk"]
	o.change(vmid, func(r *record) { r.shownAt, r.blind = at, !may })
	return nil
}
