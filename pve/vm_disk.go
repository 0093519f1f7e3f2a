package pve

import (
	"context"
	"net/http"
)

// ResizeOptions say how a disk grows.
type ResizeOptions struct {
	Disk     string `pve:"disk"`
	Size     string `pve:"size"` // 32G, or +5G; Proxmox doesn't shrink
	Digest   string `pve:"digest"`
	SkipLock bool   `pve:"skiplock"` // root only
}

// Resize grows a disk.
func (v VM) Resize(ctx context.Context, opts ResizeOptions) (UPID, error) {
	return put[UPID](ctx, v.c, opts, "/nodes/{node}/qemu/{vmid}/resize", v.Node, v.ID)
}

// MoveDiskOptions say where a disk goes: to another storage, or to another VM of the same node.
type MoveDiskOptions struct {
	Disk         string `pve:"disk"`
	Storage      string `pve:"storage"`
	Format       string `pve:"format"`
	Delete       bool   `pve:"delete"` // remove the original, instead of keeping it as unused
	TargetVM     int    `pve:"target-vmid"`
	TargetDisk   string `pve:"target-disk"`
	Digest       string `pve:"digest"`
	TargetDigest string `pve:"target-digest"`
	Bandwidth    int    `pve:"bwlimit"` // KiB/s
}

// MoveDisk moves a disk.
func (v VM) MoveDisk(ctx context.Context, opts MoveDiskOptions) (UPID, error) {
	return ask[UPID](ctx, v.c, request{
		method: http.MethodPost, route: "/nodes/{node}/qemu/{vmid}/move_disk", args: []any{v.Node, v.ID},
		params: opts, storage: opts.Storage,
	})
}
