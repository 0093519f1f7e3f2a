package pve

import (
	"context"
	"net/http"
)

// CloneOptions describe a copy of a VM.
type CloneOptions struct {
	NewID       int    `pve:"newid"`
	Name        string `pve:"name"`
	Description string `pve:"description"`
	Pool        string `pve:"pool"`
	Full        *bool  `pve:"full"`     // nil: linked when the source is a template, else full
	Snapshot    string `pve:"snapname"` // copy this state
	Target      string `pve:"target"`   // node of the copy; needs shared storage
	Storage     string `pve:"storage"`  // of a full copy's disks
	Format      string `pve:"format"`   // of a full copy's disks
	Bandwidth   int    `pve:"bwlimit"`  // KiB/s
}

// Clone copies the VM. Proxmox files the task under the source's id; the copy is locked until
// the task ends, and has its name only when the first disk was copied.
func (v VM) Clone(ctx context.Context, opts CloneOptions) (UPID, error) {
	return ask[UPID](ctx, v.c, request{
		method: http.MethodPost, route: "/nodes/{node}/qemu/{vmid}/clone", args: []any{v.Node, v.ID},
		params: opts, storage: opts.Storage,
	})
}

type templateParams struct {
	Disk string `pve:"disk"`
}

// Template turns the VM into a template, or only one of its disks into a base image.
func (v VM) Template(ctx context.Context, disk string) (UPID, error) {
	return post[UPID](ctx, v.c, templateParams{disk}, "/nodes/{node}/qemu/{vmid}/template", v.Node, v.ID)
}
