package pvesim

import (
	"fmt"
	"strings"
	"time"
)

// Storage is an entry of storage.cfg.
type Storage struct {
	ID   string            `json:"id"`
	Type string            `json:"type"`
	Conf map[string]string `json:"conf"` // content, path, nodes, shared, …
	// Implied is "local" as it is while storage.cfg doesn't mention it.
	Implied bool `json:"implied,omitempty"`
}

// OnNode reports whether the storage is configured for the node.
func (s *Storage) OnNode(node string) bool {
	nodes := s.Conf["nodes"]
	if nodes == "" {
		return true
	}
	for _, n := range strings.FieldsFunc(nodes, func(r rune) bool { return r == ',' || r == ';' || r == ' ' }) {
		if n == node {
			return true
		}
	}
	return false
}

// SpaceKey names the place where a storage keeps its volumes: one for each
// node, or one for all (Node is empty) when the storage is shared.
type SpaceKey struct{ Storage, Node string }

// MarshalText makes SpaceKey a key of JSON objects.
func (k SpaceKey) MarshalText() ([]byte, error) { return []byte(k.Node + "/" + k.Storage), nil }

// UnmarshalText reads what MarshalText wrote.
func (k *SpaceKey) UnmarshalText(b []byte) error {
	node, storage, ok := strings.Cut(string(b), "/")
	if !ok {
		return fmt.Errorf("%q is no node/storage", b)
	}
	k.Node, k.Storage = node, storage
	return nil
}

// Space holds the volumes of a storage on a node.
type Space struct {
	Total   int64              `json:"total"`
	Base    int64              `json:"base"`          // used by what isn't a volume
	Used    int64              `json:"used"`          // by volumes
	Was     string             `json:"was,omitempty"` // where it is, when its storage was removed
	Volumes map[string]*Volume `json:"volumes"`

	byVM     map[int]map[string]*Volume
	files    map[string]*Volume // those that belong to no guest
	children map[string]int     // linked clones of a base volume
}

// Volume is a disk, an image file, a snippet.
type Volume struct {
	Name    string    `json:"name"` // without storage and base: "100/vm-100-disk-0.qcow2"
	Content string    `json:"content"`
	Format  string    `json:"format"`
	Size    int64     `json:"size"`             // as the guest sees it
	Used    int64     `json:"used"`             // what it takes of the storage
	VMID    int       `json:"vmid,omitempty"`   // whose disk it is
	Parent  string    `json:"parent,omitempty"` // base volume of a linked clone
	CTime   time.Time `json:"ctime"`
	Snaps   []VolSnap `json:"snaps,omitempty"` // oldest first
	Notes   string    `json:"notes,omitempty"`
	Protect bool      `json:"protect,omitempty"`
	Blob    string    `json:"blob,omitempty"` // name in the blob store or file of this host, when there are bytes
	Disk    string    `json:"disk,omitempty"` // of Machines, when it was needed
	System  System    `json:"system,omitempty"`
	Moved   []string  `json:"moved,omitempty"`  // where its content was before, as storage:name, oldest first
	Backup  *Backup   `json:"backup,omitempty"` // what it holds, if it is one made here
	Mode    uint32    `json:"mode,omitempty"`   // permissions of its file, when somebody set them
}

// VolSnap is a snapshot of a volume.
type VolSnap struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	Used   int64  `json:"used"`
	System System `json:"system,omitempty"`
}

// defaultSpace is the size of a storage that nothing was said about.
const defaultSpace = 100 << 30

// Free returns the free space.
func (sp *Space) Free() int64 { return max(0, sp.Total-sp.Base-sp.Used) }

// put adds a volume or replaces the one of the same name.
func (sp *Space) put(v *Volume) {
	if old := sp.Volumes[v.Name]; old != nil {
		sp.drop(old.Name)
	}
	if sp.Volumes == nil {
		sp.Volumes = map[string]*Volume{}
	}
	sp.Volumes[v.Name] = v
	sp.Used += v.Used
	sp.index(v)
}

func (sp *Space) index(v *Volume) {
	if v.VMID == 0 {
		if sp.files == nil {
			sp.files = map[string]*Volume{}
		}
		sp.files[v.Name] = v
		return
	}
	if sp.byVM == nil {
		sp.byVM = map[int]map[string]*Volume{}
	}
	if sp.byVM[v.VMID] == nil {
		sp.byVM[v.VMID] = map[string]*Volume{}
	}
	sp.byVM[v.VMID][v.Name] = v
	if v.Parent != "" {
		if sp.children == nil {
			sp.children = map[string]int{}
		}
		sp.children[v.Parent]++
	}
}

// drop forgets a volume.
func (sp *Space) drop(name string) {
	v := sp.Volumes[name]
	if v == nil {
		return
	}
	delete(sp.Volumes, name)
	delete(sp.files, name)
	sp.Used -= v.Used
	if m := sp.byVM[v.VMID]; m != nil {
		delete(m, name)
		if len(m) == 0 {
			delete(sp.byVM, v.VMID)
		}
	}
	if v.Parent != "" {
		if sp.children[v.Parent]--; sp.children[v.Parent] <= 0 {
			delete(sp.children, v.Parent)
		}
	}
}

// grow changes how much a volume takes.
func (sp *Space) grow(v *Volume, size, used int64) {
	sp.Used += used - v.Used
	v.Size, v.Used = size, used
}

// ofVM returns the volumes that belong to a guest.
func (sp *Space) ofVM(vmid int) map[string]*Volume { return sp.byVM[vmid] }

// space returns where the storage keeps its volumes for the node.
func (s *Sim) space(storage, node string) *Space {
	st := s.state.Storages[storage]
	if st == nil {
		return nil
	}
	key := SpaceKey{Storage: storage, Node: node}
	if st.Shared() {
		key.Node = ""
	}
	sp := s.state.Spaces[key]
	if sp == nil {
		sp = &Space{Total: defaultSpace, Volumes: map[string]*Volume{}}
		s.state.Spaces[key] = sp
	}
	return sp
}

// volume finds a volume by its id ("local:iso/x.iso") as a node sees it.
func (s *Sim) volume(node, volid string) (*Volume, *Space) {
	storage, name, ok := strings.Cut(volid, ":")
	if !ok {
		return nil, nil
	}
	sp := s.space(storage, node)
	if sp == nil {
		return nil, nil
	}
	return sp.Volumes[volumeKey(name)], sp
}

// volumeKey is the name of a volume without the base that a linked clone
// names before its own: two names of one file.
func volumeKey(volname string) string {
	parts := strings.Split(volname, "/")
	switch {
	case len(parts) == 4 && parts[0] != "" && parts[0][0] >= '0' && parts[0][0] <= '9':
		return parts[2] + "/" + parts[3]
	case len(parts) == 2 && strings.HasPrefix(parts[0], "base"):
		return parts[1]
	}
	return volname
}

// volname is the name that configs use: with the base of a linked clone.
func (v *Volume) volname() string {
	if v.Parent == "" {
		return v.Name
	}
	return v.Parent + "/" + v.Name
}
