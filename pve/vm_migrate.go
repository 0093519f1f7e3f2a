package pve

import "context"

// MigrateOptions say how a VM moves to another node.
type MigrateOptions struct {
	Target         string `pve:"target"`
	Online         bool   `pve:"online"` // without stopping it
	WithLocalDisks bool   `pve:"with-local-disks"`
	TargetStorage  string `pve:"targetstorage"` // one for all, or pairs from:to
	Bandwidth      int    `pve:"bwlimit"`       // KiB/s
	Force          bool   `pve:"force"`         // root only
	Network        string `pve:"migration_network"`
	Type           string `pve:"migration_type"` // secure or insecure
	Conntrack      bool   `pve:"with-conntrack-state" since:"9"`
}

// Migrate moves the VM to another node.
func (v VM) Migrate(ctx context.Context, opts MigrateOptions) (UPID, error) {
	return post[UPID](ctx, v.c, opts, "/nodes/{node}/qemu/{vmid}/migrate", v.Node, v.ID)
}
