package pve

import (
	"context"
	"net/http"
	"time"
)

// Snapshot is a snapshot of a VM.
type Snapshot struct {
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Parent      string    `json:"parent"`
	Time        time.Time `json:"snaptime"`
	VMState     bool      `json:"vmstate"` // has the memory too
}

// snapshotNow is the name of the list's last entry, which isn't a snapshot.
const snapshotNow = "current"

// Snapshots lists the snapshots of the VM, and the one that its present state goes back to.
func (v VM) Snapshots(ctx context.Context) (all []Snapshot, parent string, err error) {
	list, err := get[[]Snapshot](ctx, v.c, nil, "/nodes/{node}/qemu/{vmid}/snapshot", v.Node, v.ID)
	for _, s := range list {
		if s.Name == snapshotNow {
			parent = s.Parent
			continue
		}
		all = append(all, s)
	}
	return all, parent, err
}

// SnapshotConfig reads the VM's config as it was.
func (v VM) SnapshotConfig(ctx context.Context, name string) (VMConfig, error) {
	out, err := get[Settings](ctx, v.c, nil, "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config", v.Node, v.ID, name)
	return configOf(out), err
}

// SnapshotOptions describe a new snapshot.
type SnapshotOptions struct {
	Name        string `pve:"snapname"` // two characters or more, a letter first
	Description string `pve:"description"`
	VMState     bool   `pve:"vmstate"` // the memory too
}

// Snapshot takes a snapshot.
func (v VM) Snapshot(ctx context.Context, opts SnapshotOptions) (UPID, error) {
	return post[UPID](ctx, v.c, opts, "/nodes/{node}/qemu/{vmid}/snapshot", v.Node, v.ID)
}

type describeParams struct {
	Description *string `pve:"description"`
}

// DescribeSnapshot changes a snapshot's description.
func (v VM) DescribeSnapshot(ctx context.Context, name, description string) error {
	return tell(ctx, v.c, http.MethodPut, describeParams{&description},
		"/nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config", v.Node, v.ID, name)
}

type deleteSnapshotParams struct {
	Force bool `pve:"force"`
}

// DeleteSnapshot removes a snapshot; force does so from the config even where the disks'
// snapshots can't be removed.
func (v VM) DeleteSnapshot(ctx context.Context, name string, force bool) (UPID, error) {
	return del[UPID](ctx, v.c, deleteSnapshotParams{force},
		"/nodes/{node}/qemu/{vmid}/snapshot/{snapname}", v.Node, v.ID, name)
}

type rollbackParams struct {
	Start bool `pve:"start"`
}

// Rollback goes back to a snapshot; start starts the VM afterwards. One that has the memory
// runs in any case.
func (v VM) Rollback(ctx context.Context, name string, start bool) (UPID, error) {
	return post[UPID](ctx, v.c, rollbackParams{start},
		"/nodes/{node}/qemu/{vmid}/snapshot/{snapname}/rollback", v.Node, v.ID, name)
}
