//go:build linux

package hook

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// storage is a section of storage.cfg.
type storage struct {
	kind, name string
	options    map[string]string
}

// mounted are the kinds of storages that Proxmox mounts itself.
var mounted = []string{"nfs", "cifs", "cephfs", "glusterfs"}

// folders are where storages that are directories keep their contents, unless
// they say otherwise.
var folders = map[string]string{"iso": "template/iso", "snippets": "snippets"}

// volumeFile is where a volume lies.
func (h *Host) volumeFile(volid string) (string, error) {
	name, rest, _ := strings.Cut(volid, ":")
	content, file, _ := strings.Cut(rest, "/")
	folder := folders[content]
	if folder == "" || file == "" || strings.ContainsAny(file, "/\x00") || strings.HasPrefix(file, ".") {
		return "", fmt.Errorf("%q isn't the name of an ISO or snippet", volid)
	}
	text, err := os.ReadFile(h.path("/etc/pve/storage.cfg"))
	if err != nil {
		return "", fmt.Errorf("find storage %s: %w", name, err)
	}
	all := parseStorages(string(text))
	at := slices.IndexFunc(all, func(s storage) bool { return s.name == name })
	if at < 0 {
		return "", fmt.Errorf("there is no storage %s", name)
	}
	root, err := all[at].root()
	if err != nil {
		return "", fmt.Errorf("storage %s: %w", name, err)
	}
	for _, pair := range strings.FieldsFunc(all[at].options["content-dirs"], isListMark) {
		if kind, dir, ok := strings.Cut(pair, "="); ok && kind == content {
			folder = dir
		}
	}
	return h.path(root, folder, file), nil
}

func (s storage) root() (string, error) {
	switch path := s.options["path"]; {
	case s.options["disable"] != "" && s.options["disable"] != "0":
		return "", errors.New("it is disabled")
	case path != "":
		return path, nil
	case slices.Contains(mounted, s.kind):
		return filepath.Join("/mnt/pve", s.name), nil
	}
	return "", fmt.Errorf("it is of type %s, which has no files", s.kind)
}

// parseStorages reads sections of the form
//
//	dir: local
//		path /var/lib/vz
func parseStorages(text string) []storage {
	var all []storage
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case line[0] != ' ' && line[0] != '\t':
			kind, name, _ := strings.Cut(line, ":")
			all = append(all, storage{kind, strings.TrimSpace(name), map[string]string{}})
		case len(all) > 0:
			key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if value = strings.TrimSpace(value); value == "" {
				value = "1" // a switch
			}
			all[len(all)-1].options[key] = value
		}
	}
	return all
}

// poolsOf are the pools that a VM is in.
func (h *Host) poolsOf(vmid int) ([]string, error) {
	text, err := os.ReadFile(h.path("/etc/pve/user.cfg"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the pools of VM %d: %w", vmid, err)
	}
	var pools []string
	for line := range strings.Lines(string(text)) {
		// pool:NAME:comment:VMIDs:storages:
		parts := strings.Split(strings.TrimSpace(line), ":")
		if len(parts) >= 4 && parts[0] == "pool" && slices.Contains(strings.FieldsFunc(parts[3], isListMark), fmt.Sprint(vmid)) {
			pools = append(pools, parts[1])
		}
	}
	return pools, nil
}

func isListMark(c rune) bool { return strings.ContainsRune(",; \t", c) }
