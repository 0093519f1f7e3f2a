package pvesim

import (
	"path"
	"slices"
	"strings"
)

// storageType is what a storage plugin says about itself.
type storageType struct {
	files   bool // volumes are files below a directory
	shared  bool // always the same on all nodes
	content []string
	// defaults is the content of a storage that doesn't say.
	defaults []string
	formats  []string // of disks; the first is the default
	// options names what storage.cfg may say. "!" is required and can't be
	// changed, "=" can't be changed, "+" is required; "~" is from release 9
	// on, "-" until release 8.
	options []string
	secret  []string // options that are kept apart from storage.cfg
}

var (
	fileContent = []string{"images", "rootdir", "vztmpl", "iso", "backup", "snippets", "import"}
	fileOptions = []string{
		"!path", "content-dirs", "nodes", "disable", "prune-backups", "max-protected-backups", "content",
		"format", "mkdir", "create-base-path", "create-subdirs", "bwlimit", "preallocation", "~=snapshot-as-volume-chain", "-maxfiles",
	}
)

var storageTypes = map[string]*storageType{
	"dir": {
		files: true, content: append([]string{"none"}, fileContent...), defaults: []string{"images", "rootdir"},
		formats: []string{"raw", "qcow2", "vmdk", "subvol"},
		options: append([]string{"shared", "is_mountpoint"}, fileOptions...),
	},
	"btrfs": {
		files: true, content: append([]string{"none"}, fileContent...), defaults: []string{"images", "rootdir"},
		formats: []string{"raw", "subvol"},
		options: []string{
			"!path", "nodes", "shared", "disable", "prune-backups", "max-protected-backups", "content", "format",
			"is_mountpoint", "nocow", "mkdir", "create-base-path", "create-subdirs", "preallocation",
		},
	},
	"nfs": {
		files: true, shared: true, content: fileContent, defaults: []string{"images"},
		formats: []string{"raw", "qcow2", "vmdk"},
		options: append([]string{"!server", "!export", "options"}, fileOptions...),
	},
	"cifs": {
		files: true, shared: true, content: fileContent, defaults: []string{"images"},
		formats: []string{"raw", "qcow2", "vmdk"},
		options: append([]string{"!server", "!share", "subdir", "username", "password", "domain", "smbversion", "options"}, fileOptions...),
		secret:  []string{"password"},
	},
	"glusterfs": { // until release 8
		files: true, shared: true, content: []string{"images", "vztmpl", "iso", "backup", "snippets", "import"}, defaults: []string{"images"},
		formats: []string{"raw", "qcow2", "vmdk"},
		options: []string{
			"!path", "=server", "=server2", "!volume", "=transport", "nodes", "disable", "prune-backups", "max-protected-backups",
			"content", "format", "mkdir", "create-base-path", "create-subdirs", "bwlimit", "preallocation", "content-dirs",
		},
	},
	"cephfs": {
		files: true, shared: true, content: []string{"vztmpl", "iso", "backup", "snippets", "import"}, defaults: []string{"backup"},
		formats: []string{"raw"},
		options: []string{
			"!path", "content-dirs", "monhost", "nodes", "subdir", "disable", "options", "username", "content", "format", "mkdir",
			"create-base-path", "create-subdirs", "fuse", "bwlimit", "keyring", "prune-backups", "max-protected-backups", "fs-name",
		},
		secret: []string{"keyring"},
	},
	"lvm": {
		content: []string{"images", "rootdir"}, defaults: []string{"images"}, formats: []string{"raw"},
		options: []string{
			"!vgname", "nodes", "shared", "disable", "saferemove", "~saferemove-stepsize", "saferemove_throughput", "content",
			"=base", "tagged_only", "bwlimit", "~snapshot-as-volume-chain",
		},
	},
	"lvmthin": {
		content: []string{"images", "rootdir"}, defaults: []string{"images", "rootdir"}, formats: []string{"raw"},
		options: []string{"!thinpool", "!vgname", "nodes", "disable", "content", "bwlimit"},
	},
	"zfspool": {
		content: []string{"images", "rootdir"}, defaults: []string{"images", "rootdir"}, formats: []string{"raw", "subvol"},
		options: []string{"!pool", "blocksize", "sparse", "nodes", "disable", "content", "bwlimit", "mountpoint"},
	},
	"rbd": {
		shared: true, content: []string{"images", "rootdir"}, defaults: []string{"images"}, formats: []string{"raw"},
		options: []string{
			"nodes", "disable", "monhost", "pool", "data-pool", "namespace", "username", "content", "krbd", "keyring", "bwlimit",
		},
		secret: []string{"keyring"},
	},
	"iscsi": {
		shared: true, content: []string{"images", "none"}, defaults: []string{"images"}, formats: []string{"raw"},
		options: []string{"!portal", "!target", "nodes", "disable", "content", "bwlimit"},
	},
	"iscsidirect": {
		shared: true, content: []string{"images", "none"}, defaults: []string{"images"}, formats: []string{"raw"},
		options: []string{"!portal", "!target", "nodes", "content", "disable", "bwlimit"},
	},
	"zfs": {
		shared: true, content: []string{"images"}, defaults: []string{"images"}, formats: []string{"raw"},
		options: []string{
			"nodes", "disable", "!portal", "!target", "!pool", "!blocksize", "!iscsiprovider", "nowritecache", "sparse",
			"comstar_hg", "comstar_tg", "lio_tpg", "content", "bwlimit", "~zfs-base-path",
		},
	},
	"pbs": {
		shared: true, content: []string{"backup", "none"}, defaults: []string{"backup"}, formats: []string{"raw"},
		options: []string{
			"!server", "!datastore", "namespace", "port", "nodes", "disable", "content", "username", "password", "encryption-key",
			"master-pubkey", "prune-backups", "max-protected-backups", "fingerprint",
		},
		secret: []string{"encryption-key", "master-pubkey", "password"},
	},
	"esxi": {
		content: []string{"import"}, defaults: []string{"import"}, formats: []string{"raw", "qcow2", "vmdk"},
		options: []string{"nodes", "shared", "disable", "content", "+server", "port", "+username", "password", "skip-cert-verification"},
		secret:  []string{"password"},
	},
}

// plugin is the storage's type.
func (s *Storage) plugin() *storageType {
	if t := storageTypes[s.Type]; t != nil {
		return t
	}
	return &storageType{formats: []string{"raw"}}
}

// Shared storages are the same on all nodes.
func (s *Storage) Shared() bool { return s.plugin().shared || s.Conf["shared"] == "1" }

// contents lists what the storage may hold.
func (s *Storage) contents() []string {
	list, ok := s.Conf["content"]
	if !ok {
		return s.plugin().defaults
	}
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ';' || r == ' ' })
}

// HasContent reports whether the storage may hold that kind of volume.
func (s *Storage) HasContent(kind string) bool { return slices.Contains(s.contents(), kind) }

// chained reports whether snapshots are files that stand on one another.
func (s *Storage) chained() bool { return s.Conf["snapshot-as-volume-chain"] == "1" }

// validFormats lists the formats of disks, the default one first.
func (s *Storage) validFormats() []string {
	formats := s.plugin().formats
	if s.Type == "lvm" && s.chained() {
		return []string{"qcow2", "raw"}
	}
	if want := s.Conf["format"]; want != "" && slices.Contains(formats, want) {
		return append([]string{want}, slices.DeleteFunc(slices.Clone(formats), func(f string) bool { return f == want })...)
	}
	return formats
}

// defaultFormat is the format of disks that don't ask for one.
func (s *Sim) defaultFormat(storage string) string {
	st := s.state.Storages[storage]
	if st == nil {
		return "raw"
	}
	return st.validFormats()[0]
}

// formatFor is the wanted format if the storage has it, or else its default.
func (s *Sim) formatFor(storage, want string) string {
	st := s.state.Storages[storage]
	if st == nil {
		return "raw"
	}
	if want != "" && slices.Contains(st.validFormats(), want) {
		return want
	}
	return st.validFormats()[0]
}

// subdirs is where the kinds of volumes are below a storage's path.
var subdirs = map[string]string{
	"images": "images", "rootdir": "private", "iso": "template/iso", "vztmpl": "template/cache",
	"backup": "dump", "snippets": "snippets", "import": "import",
}

// dir is the directory that holds a kind of volume.
func (s *Storage) dir(kind string) string {
	sub := subdirs[kind]
	for _, d := range strings.FieldsFunc(s.Conf["content-dirs"], func(r rune) bool { return r == ',' || r == ';' || r == ' ' }) {
		if k, v, ok := strings.Cut(d, "="); ok && k == kind {
			sub = v
		}
	}
	return s.path() + "/" + sub
}

// path is the directory of a file storage.
func (s *Storage) path() string {
	if p := s.Conf["path"]; p != "" {
		return path.Clean(p)
	}
	return "/mnt/pve/" + s.ID
}
