package pvesim

import (
	"cmp"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// listedKinds are the kinds of content in the order in which Proxmox looks.
var listedKinds = []string{"images", "vztmpl", "iso", "backup", "snippets", "import"}

// listVolumes lists what is on a storage, of one kind ("": of all) and for
// one guest (0: of all).
func (s *Sim) listVolumes(st *Storage, node, kind string, vmid int) []map[string]any {
	sp := s.space(st.ID, node)
	list := []map[string]any{}
	for v := range sp.candidates(kind, vmid) {
		if !st.HasContent(v.Content) || kind != "" && v.Content != kind || !slices.Contains(listedKinds, v.Content) {
			continue
		}
		if vmid != 0 && !v.listedFor(vmid) {
			continue
		}
		if item := st.listed(v); item != nil {
			list = append(list, item)
		}
	}
	slices.SortFunc(list, func(a, b map[string]any) int {
		return cmp.Compare(strings.ToLower(a["volid"].(string)), strings.ToLower(b["volid"].(string)))
	})
	return list
}

// candidates are the volumes among which those of a kind and of a guest are,
// without all disks of all guests where that can be helped.
func (sp *Space) candidates(kind string, vmid int) iter.Seq[*Volume] {
	sets := []map[string]*Volume{sp.Volumes}
	switch {
	case vmid != 0:
		sets = []map[string]*Volume{sp.ofVM(vmid), sp.files}
	case kind != "" && kind != "images" && kind != "rootdir" && kind != "backup":
		sets = []map[string]*Volume{sp.files}
	}
	return func(yield func(*Volume) bool) {
		for _, set := range sets {
			for _, v := range set {
				if !yield(v) {
					return
				}
			}
		}
	}
}

// listedFor reports whether a list for one guest shows the volume. Snippets
// and images to import are in every such list.
func (v *Volume) listedFor(vmid int) bool {
	switch v.Content {
	case "iso", "vztmpl":
		return false
	case "images":
		return v.VMID == vmid
	case "backup":
		return strings.Contains(v.Name, "-"+strconv.Itoa(vmid)+"-")
	}
	return true
}

var (
	importListedRE = regexp.MustCompile(`(?i)^import/` + safeChars + `+\.(ova|ovf|qcow2|raw|vmdk)$`)
	backupNameRE   = regexp.MustCompile(`^(vzdump-(lxc|openvz|qemu)-.+` + backupExt + `)$`)
	backupStdRE    = regexp.MustCompile(`^vzdump-(?:lxc|openvz|qemu)-([1-9][0-9]{2,8})-(\d{4}_\d{2}_\d{2}-\d{2}_\d{2}_\d{2})\.`)
	backupOwnerRE  = regexp.MustCompile(`-([1-9][0-9]{2,8})-[^/]+\.`)
	backupFormatRE = regexp.MustCompile(backupExt + `$`)
)

// listed is a volume as content lists show it, nil when they don't.
func (s *Storage) listed(v *Volume) map[string]any {
	out := map[string]any{"volid": s.ID + ":" + v.volname(), "content": v.Content, "format": v.Format, "ctime": v.CTime.Unix(), "size": v.Used}
	name := v.Name[strings.LastIndexByte(v.Name, '/')+1:]
	switch v.Content {
	case "images":
		maps.Copy(out, s.listedImage(v, name))
		if s.Type == "zfspool" || s.Type == "zfs" || s.Type == "rbd" {
			delete(out, "ctime")
		}
	case "iso":
		out["format"] = "iso"
	case "vztmpl":
		ext := strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
		if ext != "tar" {
			ext = "t" + ext
		}
		out["format"] = ext
	case "snippets":
		out["format"] = "snippet"
	case "import":
		if !importListedRE.MatchString(v.Name) {
			return nil
		}
		out["format"] = name[strings.LastIndexByte(name, '.')+1:]
	case "backup":
		maps.Copy(out, v.listedBackup(name))
	}
	return out
}

func (s *Storage) listedImage(v *Volume, name string) map[string]any {
	out := map[string]any{"size": v.Size, "vmid": v.VMID}
	parent := any(nil)
	switch {
	case s.Type == "lvm", s.Type == "lvmthin":
		return out
	case s.Type == "zfspool", s.Type == "zfs", s.Type == "rbd":
		if v.Parent != "" {
			parent = v.Parent + "@__base__"
		}
		out["name"], out["parent"] = name, parent
		return out
	case v.Parent != "":
		parent = "../" + v.Parent
	}
	out["used"], out["parent"] = v.Used, parent
	return out
}

// backupInfo is what the name of a backup tells.
type backupInfo struct {
	kind  string // qemu, lxc; unknown for other names
	vmid  int
	ctime time.Time
	std   bool // the name is of the usual form
}

func parseBackup(name string) backupInfo {
	info := backupInfo{kind: "unknown"}
	if m := backupNameRE.FindStringSubmatch(name); m != nil {
		info.kind = m[2]
	}
	m := backupStdRE.FindStringSubmatch(name)
	if m == nil || info.kind == "unknown" {
		return info
	}
	at, err := time.ParseInLocation("2006_01_02-15_04_05", m[2], time.UTC)
	if err != nil {
		return info
	}
	info.vmid, info.ctime, info.std = atoi(m[1]), at, true
	return info
}

func (v *Volume) listedBackup(name string) map[string]any {
	info := parseBackup(name)
	out := map[string]any{"subtype": info.kind}
	if info.std {
		out["ctime"] = info.ctime.Unix()
	}
	if m := backupFormatRE.FindStringSubmatch(name); m != nil {
		out["format"] = m[1]
	}
	if m := backupOwnerRE.FindStringSubmatch(name); m != nil {
		out["vmid"] = atoi(m[1])
	}
	if v.Notes != "" {
		out["notes"], _, _ = strings.Cut(v.Notes, "\n")
	}
	if v.Protect {
		out["protected"] = 1
	}
	return out
}
