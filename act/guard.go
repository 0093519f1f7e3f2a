package act

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// ErrNotOurs is the error for a guest, a snapshot or a file whose ownership isn't proved.
// It is left alone.
var ErrNotOurs = errors.New("it isn't ours")

// beingDestroyed is the lock that is all that is left of a guest's config while
// its disks go.
const beingDestroyed = "destroyed"

// destroy removes a guest with its disks, after its owner was proved once more.
func (a *Actor) destroy(ctx context.Context, c *pve.Client, d model.Destroy) (pve.UPID, error) {
	if d.Owner == (model.Owner{}) {
		return pve.UPID{}, fmt.Errorf("no owner is expected: %w", ErrNotOurs)
	}
	// Proxmox takes no digest here, so the proof is read when the request is about to be sent, and
	// not before it has waited for its turn: that may take minutes, and VMIDs are used again.
	vm := c.With(pve.Before(func(ctx context.Context, _ time.Duration) error { return a.mayDestroy(ctx, d) })).VM(d.Node, d.VMID)
	// Disks that the config doesn't name stay: they only look like this guest's.
	return vm.Destroy(ctx, pve.DestroyOptions{Purge: true})
}

// mayDestroy reads the proof of a guest's owner once more.
func (a *Actor) mayDestroy(ctx context.Context, d model.Destroy) error {
	now, err := a.client.VM(d.Node, d.VMID).Config(ctx, pve.ConfigOptions{Current: true})
	if err != nil {
		return fmt.Errorf("read whose it is: %w", err)
	}
	if now.Settings["lock"] == beingDestroyed {
		return fmt.Errorf("somebody is destroying it already: %w", pve.ErrLocked)
	}
	if err := proves(now.Settings["description"], d.Owner, d.VMID); err != nil {
		return err
	}
	if _, m, _ := model.ParseDescription(now.Settings["description"]); !d.Owned && !a.keys.Verify(&m).Proves() {
		return fmt.Errorf("its marker isn't signed with a key of ours, and VM %d isn't a VMID of its owner's: %w", d.VMID, ErrNotOurs)
	}
	return nil
}

// proves reports whether a description names the owner, and was written for the
// guest with that VMID.
func proves(description string, want model.Owner, vmid int) error {
	_, m, ok := model.ParseDescription(description)
	switch {
	case !ok:
		return fmt.Errorf("its description has no marker: %w", ErrNotOurs)
	case m.Owner != want:
		return fmt.Errorf("its description says that it is %s of %q: %w", m.Owner.Key, m.Owner.Set, ErrNotOurs)
	case !m.Of(vmid):
		return fmt.Errorf("it is a copy of VM %d: %w", m.VMID, ErrNotOurs)
	}
	return nil
}

// unsnap deletes a snapshot, after its owner was proved once more, right before the request is sent.
func (a *Actor) unsnap(ctx context.Context, c *pve.Client, u model.Unsnap) (pve.UPID, error) {
	vm := c.With(pve.Before(func(ctx context.Context, _ time.Duration) error { return a.mayUnsnap(ctx, u) })).VM(u.Node, u.VMID)
	upid, err := vm.DeleteSnapshot(ctx, u.Name, false)
	if errors.Is(err, errNoSnapshot) {
		return pve.UPID{}, nil // somebody was quicker
	}
	return upid, err
}

// mayUnsnap reads the proof of a snapshot's owner once more.
func (a *Actor) mayUnsnap(ctx context.Context, u model.Unsnap) error {
	now, err := findSnapshot(ctx, a.client.VM(u.Node, u.VMID), u.Name)
	if err != nil {
		return err
	}
	return proves(now.Description, u.Owner, u.VMID)
}

// errNoSnapshot is a snapshot that isn't there.
var errNoSnapshot = fmt.Errorf("there is no such snapshot: %w", pve.ErrNotFound)

// rollback goes back to a snapshot at most once for each note: the note is
// written first. The guest's own description is noted in too, since that can be
// made to depend on nobody else having done so meanwhile.
func (a *Actor) rollback(ctx context.Context, c *pve.Client, r model.Rollback) (pve.UPID, error) {
	vm := c.VM(r.Node, r.VMID)
	_, note, ok := model.ParseDescription(r.Note)
	if !ok {
		return pve.UPID{}, fmt.Errorf("the note names no owner: %w", ErrNotOurs)
	}
	now, err := vm.Config(ctx, pve.ConfigOptions{Current: true})
	if err != nil {
		return pve.UPID{}, fmt.Errorf("read whose it is: %w", err)
	}
	snapshot, err := findSnapshot(ctx, vm, r.Name)
	if err != nil {
		return pve.UPID{}, err
	}
	if err := proves(snapshot.Description, note.Owner, r.VMID); err != nil {
		return pve.UPID{}, err
	}
	if _, m, _ := model.ParseDescription(snapshot.Description); m.Version == note.Version {
		return pve.UPID{}, nil // somebody was quicker
	}
	first, err := a.noteRevert(ctx, vm, now, r.Name, note.Version)
	if err != nil {
		return pve.UPID{}, fmt.Errorf("note it: %w", err)
	}
	if err := vm.DescribeSnapshot(ctx, r.Name, r.Note); err != nil {
		return pve.UPID{}, fmt.Errorf("note it: %w", err)
	}
	if !first {
		return pve.UPID{}, nil
	}
	last := pve.Before(func(ctx context.Context, waited time.Duration) error {
		if waited < proofAge {
			return nil
		}
		return a.stillNoted(ctx, r, note)
	})
	return c.With(last).VM(r.Node, r.VMID).Rollback(ctx, r.Name, false)
}

// stillNoted checks that a snapshot is still the one that was noted in.
func (a *Actor) stillNoted(ctx context.Context, r model.Rollback, note model.Marker) error {
	now, err := findSnapshot(ctx, a.client.VM(r.Node, r.VMID), r.Name)
	if err != nil {
		return err
	}
	if _, m, _ := model.ParseDescription(now.Description); m.Version != note.Version {
		return fmt.Errorf("somebody has taken it anew: %w", ErrNotOurs)
	}
	return proves(now.Description, note.Owner, r.VMID)
}

func findSnapshot(ctx context.Context, vm pve.VM, name string) (pve.Snapshot, error) {
	all, _, err := vm.Snapshots(ctx)
	if err != nil {
		return pve.Snapshot{}, fmt.Errorf("read whose it is: %w", err)
	}
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
	}
	return pve.Snapshot{}, errNoSnapshot
}

// noteRevert notes in a guest's description that it is rolled back to a snapshot,
// and reports whether we are the first to do so.
func (a *Actor) noteRevert(ctx context.Context, vm pve.VM, now pve.VMConfig, snapshot, value string) (first bool, err error) {
	text, m, ok := model.ParseDescription(now.Settings["description"])
	if !ok {
		return false, fmt.Errorf("its description has no marker: %w", ErrNotOurs)
	}
	if m.Reverts[snapshot] == value {
		return false, nil
	}
	if m.Reverts == nil {
		m.Reverts = map[string]string{}
	}
	m.Reverts[snapshot] = value
	change := pve.ConfigChange{Set: pve.Settings{"description": a.keys.Sign(model.Describe(text, m.Bare()))}, Digest: now.Digest}
	return true, vm.SetConfig(ctx, change)
}

// The names of files that we put onto storages: first-boot data are for one guest.
// Others lie beside them, the hook among them.
var (
	madeSeed    = regexp.MustCompile(`^proxplane-(\d+)-[0-9a-f]+\.iso$`)
	madeSnippet = regexp.MustCompile(`^proxplane-(\d+)-[0-9a-f]{12}-(?:user|meta|network)\.yaml$`)
	madeImage   = regexp.MustCompile(`^proxplane-[a-z2-7]+-[a-z2-7]+\.\w+$`)
)

// removeFile deletes a file of ours. Its name comes from a guest's description,
// which others may have written: nothing but files of ours may go by it, and no
// other guest's first-boot data.
func removeFile(ctx context.Context, c *pve.Client, r model.RemoveFile) (pve.UPID, error) {
	storage, name, _ := strings.Cut(r.Volume, ":")
	if !made(name, r.For) {
		return pve.UPID{}, fmt.Errorf("its name isn't of those that we give: %w", ErrNotOurs)
	}
	return c.Storage(r.Node, storage).DeleteVolume(ctx, r.Volume)
}

func made(name string, vmid int) bool {
	dir, file := path.Split(name)
	for in, pattern := range map[string]*regexp.Regexp{"iso/": madeSeed, "snippets/": madeSnippet, "import/": madeImage} {
		if m := pattern.FindStringSubmatch(file); dir == in && m != nil {
			return len(m) == 1 || m[1] == strconv.Itoa(vmid)
		}
	}
	return false
}
