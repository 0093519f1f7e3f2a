package pvesim

import (
	"crypto/sha1"
	"encoding/hex"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// storageOption is what may be done with a key of storage.cfg.
type storageOption struct{ required, fixed bool }

// optionsOf lists the keys that storage.cfg takes for a type.
func (s *Sim) optionsOf(typ string) map[string]storageOption {
	out := map[string]storageOption{}
	for _, o := range storageTypes[typ].options {
		name := strings.TrimLeft(o, "!=+~-")
		marks := o[:len(o)-len(name)]
		if strings.Contains(marks, "~") && !s.atLeast(9) || strings.Contains(marks, "-") && s.atLeast(9) {
			continue
		}
		out[name] = storageOption{
			required: strings.ContainsAny(marks, "!+"),
			fixed:    strings.ContainsAny(marks, "!="),
		}
	}
	return out
}

// localContent is what the storage "local" holds when storage.cfg doesn't
// mention it.
var localContent = []string{"backup", "images", "iso", "rootdir", "snippets", "vztmpl"}

func impliedLocal() *Storage {
	return &Storage{ID: "local", Type: "dir", Implied: true, Conf: map[string]string{
		"path": "/var/lib/vz", "content": strings.Join(localContent, ","), "prune-backups": "keep-all=1",
	}}
}

// settleStorages brings the storages of a world into the form that
// storage.cfg has, and adds the storage that every Proxmox has.
func (s *Sim) settleStorages() {
	for _, st := range s.state.Storages {
		st.settle()
	}
	local := s.state.Storages["local"]
	if local == nil || local.Type != "dir" || local.path() != "/var/lib/vz" {
		s.state.Storages["local"] = impliedLocal()
		return
	}
	delete(local.Conf, "nodes") // Proxmox doesn't restrict it to nodes
	have := schema.SplitList(local.Conf["content"])
	slices.Sort(have)
	if len(local.Conf) == 2 && slices.Equal(have, localContent) {
		local.Conf["prune-backups"] = "keep-all=1"
		local.Implied = true
	}
}

// settle fills in what a type needs and a world may leave out.
func (s *Storage) settle() {
	need := func(key, value string) {
		if s.Conf[key] == "" {
			s.Conf[key] = value
		}
	}
	if s.Conf["content"] == "" {
		delete(s.Conf, "content")
	}
	switch s.Type {
	case "dir", "btrfs":
		p := "/srv/" + s.ID
		if s.ID == "local" {
			p = "/var/lib/vz"
		}
		need("path", p)
	case "nfs", "cifs", "cephfs", "glusterfs":
		need("path", "/mnt/pve/"+s.ID)
	case "lvm":
		need("vgname", s.ID)
	case "lvmthin":
		need("vgname", "pve")
		need("thinpool", "data")
	case "zfspool":
		need("pool", s.ID)
	case "rbd":
		need("pool", "rbd")
	}
}

// storageFile renders storage.cfg.
func (s *Sim) storageFile() string {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(s.state.Storages)) {
		st := s.state.Storages[id]
		if st.Implied {
			continue
		}
		b.WriteString(st.Type + ": " + id + "\n")
		for _, k := range slices.Sorted(maps.Keys(st.Conf)) {
			b.WriteString("\t" + k + " " + st.Conf[k] + "\n")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (s *Sim) storageDigest() string {
	sum := sha1.Sum([]byte(s.storageFile()))
	return hex.EncodeToString(sum[:])
}

// storagesWritten notes that storage.cfg was written: what was implied
// before stands in it now.
func (s *Sim) storagesWritten() {
	for _, st := range s.state.Storages {
		st.Implied = false
	}
	if s.state.Storages["local"] == nil {
		s.state.Storages["local"] = impliedLocal()
	}
}

var dirPathRE = regexp.MustCompile(`^/[-/a-zA-Z0-9_.@]+$`)

// checkStorageConfig checks what somebody wants to write into storage.cfg
// and brings the values into the form in which they are stored.
func (s *Sim) checkStorageConfig(id, typ string, in map[string]string, create bool) (map[string]string, error) {
	opts, plugin := s.optionsOf(typ), storageTypes[typ]
	if create && plugin.files && typ != "dir" && typ != "btrfs" && in["path"] == "" {
		in["path"] = "/mnt/pve/" + id
	}
	out := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(in)) {
		opt, ok := opts[k]
		if ok && opt.fixed && !create {
			return nil, die("can't change value of fixed parameter '%s'", k)
		}
		if !ok {
			return nil, die("unexpected property '%s'", k)
		}
		v := in[k]
		if strings.ContainsAny(v, "\n\r") {
			return nil, die("property contains a line feed")
		}
		switch k {
		case "content":
			list, err := plugin.cleanContent(v)
			if err != nil {
				return nil, err
			}
			v = list
		case "format":
			if !slices.Contains(plugin.formats, v) {
				continue // Proxmox only warns of it
			}
		case "nodes":
			v = strings.Join(unique(schema.SplitList(v)), ",")
		case "content-dirs":
			v = plugin.cleanDirs(v)
		}
		out[k] = v
	}
	if !create {
		return out, nil
	}
	for _, k := range slices.Sorted(maps.Keys(opts)) {
		if _, ok := in[k]; opts[k].required && !ok {
			return nil, die("missing value for required option '%s'", k)
		}
	}
	if typ == "dir" || typ == "btrfs" {
		if !dirPathRE.MatchString(out["path"]) {
			return nil, die("illegal path for directory storage: %s", out["path"])
		}
		out["path"] = path.Clean(out["path"])
	}
	return out, nil
}

// cleanContent drops kinds that the type can't hold; Proxmox warns of them.
func (t *storageType) cleanContent(list string) (string, error) {
	var kinds []string
	for _, k := range unique(schema.SplitList(list)) {
		if slices.Contains(t.content, k) {
			kinds = append(kinds, k)
		}
	}
	switch {
	case slices.Contains(kinds, "none") && len(kinds) > 1:
		return "", die("unable to combine 'none' with other content types")
	case len(kinds) == 0 && !slices.Contains(t.content, "none"):
		return "", die("storage does not support content type 'none'")
	case len(kinds) == 0:
		return "none", nil
	}
	return strings.Join(kinds, ","), nil
}

// cleanDirs drops overrides for kinds that the type can't hold.
func (t *storageType) cleanDirs(list string) string {
	var out []string
	for _, d := range schema.SplitList(list) {
		if kind, _, _ := strings.Cut(d, "="); slices.Contains(t.content, kind) {
			out = append(out, d)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

func unique(list []string) []string {
	var out []string
	for _, v := range list {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// storageEntry is a storage as GET /storage shows it.
func (s *Sim) storageEntry(st *Storage) map[string]any {
	create, _ := s.schema.Find("POST", "/storage")
	out := map[string]any{
		"storage": st.ID, "type": st.Type, "digest": s.storageDigest(), "content": st.contentText(),
	}
	for k, v := range st.Conf {
		switch p := create.Param(k); {
		case k == "content":
		case k == "content-dirs":
			out[k] = st.overrides()
		case k == "nodes" && v == "":
		case p != nil && (p.Type == "boolean" || p.Type == "integer"):
			n, _ := strconv.Atoi(v)
			out[k] = n
		default:
			out[k] = v
		}
	}
	if st.plugin().shared {
		out["shared"] = 1
	}
	if st.Implied {
		out["priority"] = 0
	}
	return out
}

// contentText lists what the storage may hold, "none" when that is nothing.
func (s *Storage) contentText() string { return strings.Join(s.contents(), ",") }

// overrides are the directories that differ from the default ones.
func (s *Storage) overrides() map[string]string {
	out := map[string]string{}
	for _, d := range schema.SplitList(s.Conf["content-dirs"]) {
		if kind, dir, ok := strings.Cut(d, "="); ok {
			out[kind] = dir
		}
	}
	return out
}

// location is where a storage's volumes are, whatever its name.
func (s *Storage) location() string {
	keys := []string{"path", "vgname", "thinpool", "pool", "server", "export", "share", "portal", "target", "datastore", "monhost", "namespace"}
	parts := []string{s.Type}
	for _, k := range keys {
		parts = append(parts, s.Conf[k])
	}
	return strings.Join(parts, "\n")
}
