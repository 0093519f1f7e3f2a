package pvesim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// volumeRef is a volume with all that a VM's config says of it.
type volumeRef struct {
	volid     string
	key       string // drive that it is in
	cdrom     bool   // in CD-ROM drives only
	cloudInit bool
	replicate bool
	shared    bool // marked as such by people
	unused    bool
	attached  bool
	vmstate   bool
	tpm       bool
	pending   bool
	size      int64
	snaps     []string // snapshots that use it
}

// volumeRefs lists the volumes of a VM: those of its drives, unused ones,
// saved memory, and those that only snapshots or pending changes name.
func (v *VM) volumeRefs() []*volumeRef {
	var list []*volumeRef
	byID := map[string]*volumeRef{}
	add := func(d drive, snap string, pending bool) {
		if d.volume == "" {
			return
		}
		r := byID[d.volume]
		if r == nil {
			r = &volumeRef{volid: d.volume, cdrom: true}
			byID[d.volume] = r
			list = append(list, r)
		}
		r.cdrom = r.cdrom && d.cdrom()
		r.cloudInit = r.cloudInit || d.cloudInit()
		r.replicate = r.replicate || !d.has("replicate") || perlBool(d.opt("replicate"))
		r.shared = r.shared || perlBool(d.opt("shared"))
		r.unused = r.unused || family(d.key, "unused")
		r.attached = r.attached || !r.unused && snap == "" && !pending
		r.vmstate = r.vmstate || d.key == "vmstate"
		r.tpm = r.tpm || d.key == "tpmstate0"
		r.pending = r.pending || pending
		if snap != "" {
			r.snaps = append(r.snaps, snap)
		}
		if size, ok := schema.ParseSize(d.opt("size")); ok && r.size == 0 {
			r.size = size
		}
		if isDriveKey[d.key] {
			r.key = d.key
		}
	}
	section := func(c Conf, snap string, pending bool) {
		for _, d := range c.drives() {
			add(d, snap, pending)
		}
		for _, key := range c.keys() {
			if key == "vmstate" || family(key, "unused") {
				add(parseDrive(key, c[key]), snap, pending)
			}
		}
	}
	section(v.Conf, "", false)
	section(v.Pending, "", true)
	for _, name := range v.snapNames() {
		section(v.Snaps[name].Conf, name, false)
	}
	return list
}

func (r *volumeRef) asJSON() map[string]any {
	bit := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	out := map[string]any{
		"volid": r.volid, "cdrom": bit(r.cdrom), "is_cloudinit": bit(r.cloudInit), "replicate": bit(r.replicate),
		"shared": bit(r.shared), "is_unused": bit(r.unused), "is_attached": bit(r.attached),
		"is_vmstate": bit(r.vmstate), "is_tpmstate": bit(r.tpm),
	}
	if r.size > 0 {
		out["size"] = r.size
	}
	if r.key != "" {
		out["drivename"] = r.key
	}
	if r.pending {
		out["referenced_in_pending"] = 1
	}
	if len(r.snaps) > 0 {
		names := map[string]any{}
		for _, s := range r.snaps {
			names[s] = 1
		}
		out["referenced_in_snapshot"] = names
	}
	return out
}

// localResources are devices of the host that the VM uses: those that keep
// it where it is, mapped ones by their option, and for each node the options
// whose mapping it lacks.
func (s *Sim) localResources(vm *VM) (local []string, mapped map[string]any, missing map[string][]string) {
	local, mapped, missing = []string{}, map[string]any{}, map[string][]string{}
	if vm.Run != nil {
		local = append(local, memoryBlockers(vm.Conf)...)
	}
	if vm.Conf["ivshmem"] != "" {
		local = append(local, "ivshmem")
	}
	for _, key := range vm.Conf.keys() {
		value := vm.Conf[key]
		kind := strings.TrimRight(key, "0123456789")
		if kind == key {
			continue
		}
		host, _ := property(value, "host", "host")
		name, _ := property(value, "mapping", "host")
		switch {
		case kind == "usb" && strings.EqualFold(host, "spice"), kind == "serial" && value == "socket":
			continue
		case kind == "virtiofs":
			name, _ = property(value, "dirid", "dirid")
		case !slices.Contains([]string{"usb", "hostpci", "serial", "parallel"}, kind):
			continue
		}
		if name != "" {
			mapped[key] = map[string]any{"name": name}
			for node := range s.state.Nodes {
				if !s.mappedThere(kind, name, node) {
					missing[node] = append(missing[node], key)
				}
			}
			if kind == "hostpci" && s.movesLive(name) {
				mapped[key] = map[string]any{"name": name, "live-migration": 1}
				continue
			}
			if kind == "hostpci" && vm.Run == nil {
				continue
			}
		}
		local = append(local, key)
	}
	return local, mapped, missing
}

// mappedThere reports whether a mapping of devices or directories has an entry for the node.
func (s *Sim) mappedThere(kind, id, node string) bool {
	switch kind {
	case "virtiofs":
		return s.dirMapped(id, node)
	case "hostpci":
		kind = "pci"
	}
	return len(s.mappedOn(kind, id, node)) > 0
}

// movesLive reports whether a mapping of PCI devices says that they can be live-migrated.
func (s *Sim) movesLive(id string) bool {
	m := s.hardwareMaps("pci")[id]
	return m != nil && perlBool(m.Options["live-migration-capable"])
}

// dirMapped reports whether a directory mapping has an entry for the node.
func (s *Sim) dirMapped(id, node string) bool {
	m := s.state.DirMaps[id]
	return m != nil && slices.ContainsFunc(m.Map, func(entry string) bool {
		n, _ := property(entry, "node", "")
		return n == node
	})
}

// storageMap says where volumes of local storages go: "1" keeps the names,
// "a:b" maps one, a name alone is for all others.
type storageMap struct {
	identity bool
	def      string
	entries  map[string]string
}

func parseStorageMap(text string) storageMap {
	m := storageMap{entries: map[string]string{}}
	for _, entry := range schema.SplitList(text) {
		from, to, pair := strings.Cut(entry, ":")
		switch {
		case pair:
			m.entries[from] = to
		case entry == "1":
			m.identity = true
		default:
			m.def = entry
		}
	}
	return m
}

func (m storageMap) target(storage string) string {
	switch to, ok := m.entries[storage]; {
	case ok:
		return to
	case m.def != "" && !m.identity:
		return m.def
	}
	return storage
}

// checkStoragesOn makes sure that the storages of all drives are there on
// both nodes.
func (s *Sim) checkStoragesOn(vm *VM, target string) error {
	for _, d := range vm.Conf.drives() {
		id, _, ok := splitVolID(d.volume)
		if !ok {
			continue
		}
		if _, err := s.storageOn(vm.Node, id); err != nil {
			return err
		}
		if err := s.checkContent(target, id, d.volume); err != nil {
			return err
		}
	}
	return nil
}

// checkContent makes sure that a storage can hold that kind of volume on the
// node.
func (s *Sim) checkContent(node, storage, volid string) error {
	st, err := s.storageOn(node, storage)
	if err != nil {
		return err
	}
	n, err := s.parseVolID(volid)
	if err != nil {
		return err
	}
	if !st.HasContent(n.kind) {
		return fmt.Errorf("%s: content type '%s' is not available on storage '%s'", volid, n.kind, storage)
	}
	return nil
}
