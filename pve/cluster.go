package pve

import (
	"context"
	"time"
)

// Cluster is a handle for what concerns the cluster as a whole.
type Cluster struct{ c *Client }

// Cluster gives a handle for what concerns the cluster as a whole.
func (c *Client) Cluster() Cluster { return Cluster{c} }

// ClusterMember is an entry of the cluster's status: the cluster itself, where there is one, or
// a node.
type ClusterMember struct {
	ID      string `json:"id"`
	Type    string `json:"type"` // cluster or node
	Name    string `json:"name"`
	IP      string `json:"ip"`
	Online  bool   `json:"online"`
	Local   bool   `json:"local"` // the node that answered
	NodeID  int    `json:"nodeid"`
	Quorate bool   `json:"quorate"` // of the cluster
	Nodes   int    `json:"nodes"`   // of the cluster
	Version int    `json:"version"`
}

// Status lists the cluster and its nodes. A node that is alone has no entry for a cluster.
func (c Cluster) Status(ctx context.Context) ([]ClusterMember, error) {
	return get[[]ClusterMember](ctx, c.c, nil, "/cluster/status")
}

// Resource is anything in the cluster: a VM or container, a storage on a node, a node, a pool.
// The figures come from Proxmox' status round and are about ten seconds old.
type Resource struct {
	ID         string   `json:"id"`   // qemu/100, storage/pve1/local, node/pve1
	Type       string   `json:"type"` // qemu, lxc, storage, node, pool, sdn
	Node       string   `json:"node"`
	Status     string   `json:"status"`
	VMID       int      `json:"vmid"`
	Name       string   `json:"name"`
	Template   bool     `json:"template"`
	Lock       string   `json:"lock"`
	Tags       string   `json:"tags"`
	Pool       string   `json:"pool"`
	HAState    string   `json:"hastate"`    // empty also while the HA manager hasn't taken it up
	HAManaged  bool     `present:"hastate"` // it is under HA
	Uptime     int64    `json:"uptime"`
	CPU        float64  `json:"cpu"`
	MaxCPU     float64  `json:"maxcpu"`
	Memory     int64    `json:"mem"`
	MaxMemory  int64    `json:"maxmem"`
	Disk       int64    `json:"disk"`
	MaxDisk    int64    `json:"maxdisk"`
	NetIn      int64    `json:"netin"`     // of a guest: bytes since it was started
	NetOut     int64    `json:"netout"`    // the same
	DiskRead   int64    `json:"diskread"`  // the same
	DiskWrite  int64    `json:"diskwrite"` // the same
	Storage    string   `json:"storage"`
	PluginType string   `json:"plugintype"` // of a storage: dir, nfs …
	Content    []string `json:"content"`    // of a storage
	Shared     bool     `json:"shared"`     // of a storage
	Level      string   `json:"level"`
}

type resourceParams struct {
	Type string `pve:"type"`
}

// Resources lists everything, or what is of a type: vm, storage, node or sdn.
func (c Cluster) Resources(ctx context.Context, kind string) ([]Resource, error) {
	return get[[]Resource](ctx, c.c, resourceParams{kind}, "/cluster/resources")
}

type nextIDParams struct {
	ID int `pve:"vmid"`
}

// CheckID checks whether a VMID is free: the error is nil if it is, and ErrExists if it isn't.
func (c Cluster) CheckID(ctx context.Context, id int) error {
	_, err := get[int](ctx, c.c, nextIDParams{id}, "/cluster/nextid")
	return err
}

// Tasks lists recent tasks of all nodes: few of each, and some seconds late.
func (c Cluster) Tasks(ctx context.Context) ([]TaskInfo, error) {
	tasks, err := get[[]TaskInfo](ctx, c.c, nil, "/cluster/tasks")
	for _, task := range tasks {
		c.c.core.gate.saw(task.UPID, task.Running(), task.Status)
	}
	return tasks, err
}

// LogEntry is a line of the cluster's log.
type LogEntry struct {
	Time     time.Time `json:"time"`
	Node     string    `json:"node"`
	User     string    `json:"user"`
	Tag      string    `json:"tag"`
	Priority int       `json:"pri"`
	Message  string    `json:"msg"`
}

type logParams struct {
	Max int `pve:"max"`
}

// Log reads the newest lines of the cluster's log; 0 means Proxmox' default.
func (c Cluster) Log(ctx context.Context, lines int) ([]LogEntry, error) {
	return get[[]LogEntry](ctx, c.c, logParams{lines}, "/cluster/log")
}
