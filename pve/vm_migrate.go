package pve

import "context"

type preconditionParams struct {
	Target string `pve:"target"`
}

// Preconditions say whether and where a VM can migrate.
type Preconditions struct {
	Running      bool     `json:"running"`
	AllowedNodes []string `json:"allowed_nodes"`
	NotAllowed   map[string]struct {
		UnavailableStorages []string `json:"unavailable_storages"`
	} `json:"not_allowed_nodes"`
	LocalDisks []struct {
		Drive    string `json:"drivename"`
		Volume   string `json:"volid"`
		Size     int64  `json:"size"`
		CDROM    bool   `json:"cdrom"`
		IsUnused bool   `json:"is_unused"`
	} `json:"local_disks"`
	LocalResources  []string `json:"local_resources"`
	MappedResources []string `json:"mapped-resources"`
}

// MigratePreconditions asks where the VM could go; target may be empty.
func (v VM) MigratePreconditions(ctx context.Context, target string) (Preconditions, error) {
	return get[Preconditions](ctx, v.c, preconditionParams{target}, "/nodes/{node}/qemu/{vmid}/migrate", v.Node, v.ID)
}

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
