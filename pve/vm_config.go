package pve

import (
	"context"
	"net/http"
	"time"
)

// VMConfig is the config of a VM.
type VMConfig struct {
	Settings Settings
	Digest   string // names this state of the config: pass it on with changes
}

// ConfigOptions choose which state of a config is read.
type ConfigOptions struct {
	// Current is the config that the running VM really has. Without it, pending changes are
	// shown as if they were applied.
	Current  bool   `pve:"current"`
	Snapshot string `pve:"snapshot"` // the config within this snapshot
}

// Config reads the config of the VM.
func (v VM) Config(ctx context.Context, opts ConfigOptions) (VMConfig, error) {
	out, err := get[Settings](ctx, v.c, opts, "/nodes/{node}/qemu/{vmid}/config", v.Node, v.ID)
	return configOf(out), err
}

func configOf(settings Settings) VMConfig {
	digest := settings["digest"]
	delete(settings, "digest")
	return VMConfig{Settings: settings, Digest: digest}
}

// PendingSetting is a setting, and how it will be after the next start.
type PendingSetting struct {
	Key     string  `json:"key"`
	Value   *string `json:"value"`   // nil: not set now
	Pending *string `json:"pending"` // nil: no other value waits
	Delete  bool    `json:"delete"`  // it will be gone
}

// Pending lists all settings with what waits for the next start.
func (v VM) Pending(ctx context.Context) ([]PendingSetting, error) {
	return get[[]PendingSetting](ctx, v.c, nil, "/nodes/{node}/qemu/{vmid}/pending", v.Node, v.ID)
}

// ConfigChange is a change of a VM's config.
type ConfigChange struct {
	Set      Settings
	Delete   []string `pve:"delete"`
	Revert   []string `pve:"revert"` // drop pending changes of these
	Digest   string   `pve:"digest"` // fail with ErrModified unless the config is in this state
	Force    bool     `pve:"force"`  // with Delete of a disk: destroy it, instead of keeping it as unused
	SkipLock bool     `pve:"skiplock"`
}

// SetConfig changes the config, and has done so when it returns, disks allocated and all.
func (v VM) SetConfig(ctx context.Context, change ConfigChange) error {
	return v.c.do(ctx, &request{
		method: http.MethodPut, route: "/nodes/{node}/qemu/{vmid}/config", args: []any{v.Node, v.ID},
		params: change, storage: diskStorage(change.Set, ""),
	})
}

// SlowConfigChange is a change that is made in a task.
type SlowConfigChange struct {
	ConfigChange
	ImportStorage string `pve:"import-working-storage"`
	// Wait lets Proxmox wait so long for the task, 30 seconds at most. When it ends in time
	// there is no UPID in the answer, and its failure is the call's.
	Wait time.Duration `pve:"background_delay"`
}

// StartConfig changes the config in a task: the way for imports and large disks. The UPID is
// zero when the task has ended already; see SlowConfigChange.Wait.
func (v VM) StartConfig(ctx context.Context, change SlowConfigChange) (UPID, error) {
	return ask[UPID](ctx, v.c, request{
		method: http.MethodPost, route: "/nodes/{node}/qemu/{vmid}/config", args: []any{v.Node, v.ID},
		params: change, storage: diskStorage(change.Set, ""),
	})
}
