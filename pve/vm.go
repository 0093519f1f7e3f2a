package pve

import (
	"context"
	"net/http"
	"regexp"
	"strings"
)

// VM is a handle for a virtual machine on the node that has it. It may be on another one
// tomorrow: [Cluster.Resources] says where.
type VM struct {
	c    *Client
	Node string
	ID   int
}

// VM gives a handle for a virtual machine.
func (c *Client) VM(node string, id int) VM { return VM{c, node, id} }

// VMStatus is the state of a VM. Lists leave some of it out.
type VMStatus struct {
	ID        int     `json:"vmid"`
	Name      string  `json:"name"`
	Status    string  `json:"status"`    // running or stopped
	QMPStatus string  `json:"qmpstatus"` // running, paused, prelaunch, stopped …
	Lock      string  `json:"lock"`
	Template  bool    `json:"template"`
	Tags      string  `json:"tags"` // joined by semicolons
	CPU       float64 `json:"cpu"`
	CPUs      float64 `json:"cpus"`
	Memory    int64   `json:"mem"`
	MaxMemory int64   `json:"maxmem"`
	MaxDisk   int64   `json:"maxdisk"`
	Uptime    int64   `json:"uptime"`
	PID       int     `json:"pid"`
	Agent     bool    `json:"agent"`
	Serial    bool    `json:"serial"`
	Spice     bool    `json:"spice"`
	Machine   string  `json:"running-machine"`
	QEMU      string  `json:"running-qemu"`
	NetIn     int64   `json:"netin"`
	NetOut    int64   `json:"netout"`
	DiskRead  int64   `json:"diskread"`
	DiskWrite int64   `json:"diskwrite"`
	HA        struct {
		Managed bool   `json:"managed"`
		State   string `json:"state"`
		Group   string `json:"group"`
	} `json:"ha"`
}

type listParams struct {
	Full bool `pve:"full"`
}

// VMs lists the VMs of the node, templates too. full asks each running one for more.
func (n Node) VMs(ctx context.Context, full bool) ([]VMStatus, error) {
	return get[[]VMStatus](ctx, n.c, listParams{full}, "/nodes/{node}/qemu", n.Name)
}

// Status reads the state of the VM, as fresh as it gets.
func (v VM) Status(ctx context.Context) (VMStatus, error) {
	return get[VMStatus](ctx, v.c, nil, "/nodes/{node}/qemu/{vmid}/status/current", v.Node, v.ID)
}

// CreateOptions describe a new VM, or one restored from a backup.
type CreateOptions struct {
	ID       int      `pve:"vmid"`
	Settings Settings // the config: name, memory, scsi0, net0 …
	Pool     string   `pve:"pool"`
	Start    bool     `pve:"start"` // a second task, which starts it when the first has ended

	Storage     string `pve:"storage"` // default storage of a restore
	Archive     string `pve:"archive"` // restore from this backup
	Force       bool   `pve:"force"`   // overwrite a VM: only with Archive
	Unique      bool   `pve:"unique"`  // new MAC addresses: only with Archive
	LiveRestore bool   `pve:"live-restore"`
	Bandwidth   int    `pve:"bwlimit"` // KiB/s
	HAManaged   *bool  `pve:"ha-managed" since:"9"`
}

// Create makes a VM. Disks in the settings are allocated, or imported with import-from.
func (n Node) Create(ctx context.Context, opts CreateOptions) (UPID, error) {
	return ask[UPID](ctx, n.c, request{
		method: http.MethodPost, route: "/nodes/{node}/qemu", args: []any{n.Name},
		params: opts, storage: diskStorage(opts.Settings, opts.Storage),
	})
}

var diskKey = regexp.MustCompile(`^(?:scsi|virtio|sata|ide|efidisk|tpmstate)\d+$`)

// diskStorage is the storage on which settings allocate a disk: "local-lvm" of
// {"scsi0": "local-lvm:32"}. Of several, it is the first one's.
func diskStorage(settings Settings, otherwise string) string {
	for _, key := range sortedKeys(settings) {
		volume, _, _ := strings.Cut(settings[key], ",")
		storage, name, ok := strings.Cut(strings.TrimPrefix(volume, "file="), ":")
		if ok && diskKey.MatchString(key) && name != "" && strings.Trim(name, "0123456789.") == "" {
			return storage
		}
	}
	return otherwise
}

// DestroyOptions say what goes with a VM.
type DestroyOptions struct {
	Purge             bool  `pve:"purge"` // also its entries in HA, backup and replication jobs
	UnreferencedDisks *bool `pve:"destroy-unreferenced-disks"`
	SkipLock          bool  `pve:"skiplock"` // root only
}

// Destroy removes the VM with all its disks. It must be stopped.
func (v VM) Destroy(ctx context.Context, opts DestroyOptions) (UPID, error) {
	return del[UPID](ctx, v.c, opts, "/nodes/{node}/qemu/{vmid}", v.Node, v.ID)
}
