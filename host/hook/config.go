//go:build linux

package hook

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/firstboot/qemuarg"
)

// vmConfig is what the hook needs of a VM's config.
type vmConfig struct {
	vmid        int
	description string
	options     map[string]string
}

var (
	nodeName   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`)
	configLine = regexp.MustCompile(`^([a-z][a-z_]*\d*):\s*(.*\S)\s*$`)
)

// config reads the config of a VM. While a VM comes from another node, it is
// still there.
func (h *Host) config(vmid int) (vmConfig, error) {
	dir := "/etc/pve/qemu-server"
	if from := h.Getenv("PVE_MIGRATED_FROM"); from != "" {
		if !nodeName.MatchString(from) {
			return vmConfig{}, fmt.Errorf("PVE_MIGRATED_FROM %q is no node", from)
		}
		dir = "/etc/pve/nodes/" + from + "/qemu-server"
	}
	text, err := os.ReadFile(h.path(dir, strconv.Itoa(vmid)+".conf"))
	if err != nil {
		return vmConfig{}, fmt.Errorf("read the config of VM %d: %w", vmid, err)
	}
	return parseConfig(vmid, string(text)), nil
}

// parseConfig reads a config as Proxmox does: lines of comment are the
// description, and what follows a section's heading is of snapshots or pending.
func parseConfig(vmid int, text string) vmConfig {
	c := vmConfig{vmid: vmid, options: map[string]string{}}
	var description strings.Builder
	scanner := bufio.NewScanner(strings.NewReader(text))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		line := scanner.Text()
		if strings.HasPrefix(line, "[") {
			break
		}
		if comment, ok := strings.CutPrefix(line, "#"); ok {
			description.WriteString(decodeText(comment) + "\n")
		} else if m := configLine.FindStringSubmatch(line); m != nil {
			if m[1] == "description" {
				description.WriteString(decodeText(m[2]))
			} else {
				c.options[m[1]] = m[2]
			}
		}
	}
	c.description = strings.TrimRight(description.String(), " \t\r\n")
	return c
}

// decodeText undoes Proxmox' encoding of texts. What isn't encoded stays.
func decodeText(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// attached reports whether a volume is one of the VM's CD-ROMs.
func (c vmConfig) attached(volid string) bool {
	for key, value := range c.options {
		if !drive.MatchString(key) {
			continue
		}
		file, rest, _ := strings.Cut(value, ",")
		file = strings.TrimPrefix(file, "file=")
		if file == volid && strings.Contains(","+rest+",", ",media=cdrom,") {
			return true
		}
	}
	return false
}

var drive = regexp.MustCompile(`^(ide|sata|scsi)\d+$`)

// qemuFiles are the files that a VM's args have QEMU open.
type qemuFiles struct {
	firmware []string // of -fw_cfg
	sockets  []string // of -chardev
}

func (c vmConfig) qemuFiles() (qemuFiles, error) {
	words, err := qemuarg.Split(c.options["args"])
	if err != nil {
		return qemuFiles{}, err
	}
	var files qemuFiles
	for i := 0; i+1 < len(words); i++ {
		// QEMU takes two dashes, too.
		switch strings.TrimPrefix(words[i], "-") {
		case "-fw_cfg", "fw_cfg":
			files.firmware = append(files.firmware, values(words[i+1], "file")...)
		case "-chardev", "chardev":
			files.sockets = append(files.sockets, values(words[i+1], "path")...)
		}
	}
	return files, nil
}

func values(list, key string) []string {
	var found []string
	for _, p := range qemuarg.ParseParams(list) {
		if p.Key == key {
			found = append(found, p.Value)
		}
	}
	return found
}
