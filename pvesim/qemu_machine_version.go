package pvesim

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// machineVersions are those that the releases' QEMU has, newest first.
func (s *Sim) machineVersions() []string {
	all := strings.Fields(`11.0 10.2 10.1 10.0 9.2 9.1 9.0 8.2 8.1 8.0 7.2 7.1 7.0 6.2 6.1 6.0 5.2 5.1 5.0
		4.2 4.1 4.0 3.1 3.0 2.12 2.11 2.10 2.9 2.8 2.7 2.6 2.5 2.4`)
	if s.atLeast(9) {
		return all[:slices.Index(all, "4.2")]
	}
	return all[slices.Index(all, "9.2"):]
}

// machineRevisions are Proxmox' own revisions of machine versions, with what
// Proxmox says about each.
func (s *Sim) machineRevisions(version string) []string {
	newer := map[string][]string{
		"10.0": {"Set host_mtu vNIC option even with default value for migration compat."},
		"11.0": {
			"Use host_tunnel=off by default for VirtIO NICs.",
			"Enable hv_emcs for Windows 11/2022/2025 to mitigate issues with VBS.",
		},
	}
	switch {
	case version == "4.1":
		return []string{"Introduction of pveX versioning, no changes.", "Increases the number of SCSI drives supported."}
	case version == "9.2":
		return []string{"Disables S3/S4 power states by default."}
	case s.atLeast(9):
		return newer[version]
	}
	return nil
}

// machineTypes lists the machine types that QEMU has.
func machineTypes(c *call) (any, error) {
	kinds := []struct{ typ, prefix string }{{"q35", "pc-q35-"}, {"i440fx", "pc-i440fx-"}}
	if c.params.Str("arch") == "aarch64" {
		kinds = []struct{ typ, prefix string }{{"virt", "virt-"}}
	}
	list := []map[string]any{}
	for _, v := range c.machineVersions() {
		for _, kind := range kinds {
			add := func(version, changes string) {
				m := map[string]any{"id": kind.prefix + version, "type": kind.typ, "version": version}
				if changes != "" {
					m["changes"] = changes
				}
				list = append(list, m)
			}
			for i, changes := range slices.Backward(c.machineRevisions(v)) {
				add(fmt.Sprintf("%s+pve%d", v, i+1), changes)
			}
			if v == "4.0" && kind.typ == "q35" {
				add("4.0.1", "")
			}
			add(v, "")
		}
	}
	return list, nil
}

var machineVersion = regexp.MustCompile(`^(?:pc(?:-i440fx|-q35)?|virt)-((\d+)\.(\d+))(?:\.\d+)*(?:\+pve(\d+))?(\.pxe)?$`)

// checkMachineVersion refuses machines that are newer than QEMU or than
// Proxmox' part of it.
func (s *Sim) checkMachineVersion(node, machine string) error {
	typ, _ := property(machine, "type", "type")
	m := machineVersion.FindStringSubmatch(typ)
	if m == nil {
		return nil
	}
	full := strings.TrimSuffix(typ, ".pxe")
	if m[4] == "" {
		full += "+pve0"
	}
	full += m[5]
	have := s.machineVersions()[0]
	if later(m[1], have) {
		return die("Installed QEMU version '%s' is too old to run machine type '%s', please upgrade node '%s'", s.qemuVersion(), full, node)
	}
	if most := len(s.machineRevisions(m[1])); atoi(m[4]) > most {
		return die("Installed qemu-server (max feature level for %s is pve%d) is too old to run machine type '%s', please upgrade node '%s'",
			m[1], most, full, node)
	}
	return nil
}

// later reports whether a version "9.2" is later than another.
func later(a, b string) bool {
	parts := func(v string) (major, minor int) {
		x, y, _ := strings.Cut(v, ".")
		major, _ = strconv.Atoi(x)
		minor, _ = strconv.Atoi(y)
		return major, minor
	}
	majorA, minorA := parts(a)
	majorB, minorB := parts(b)
	return majorA > majorB || majorA == majorB && minorA > minorB
}

// unknownMachine is a machine type that is too old for QEMU, "" otherwise.
func (s *Sim) unknownMachine(machine string) string {
	typ, _ := property(machine, "type", "type")
	if m := machineVersion.FindStringSubmatch(typ); m != nil && !slices.Contains(s.machineVersions(), m[1]) {
		return typ
	}
	return ""
}
