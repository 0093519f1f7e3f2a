package pvesim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// runRealHook runs a hookscript as Proxmox does: as a program, with the VMID
// and the phase.
func (t *task) runRealHook(vm *VM, volid, phase string) error {
	h := &Hook{
		Node: vm.Node, Script: t.volumePath(volid), VMID: vm.ID, Phase: phase,
		Files: map[string]string{},
		Texts: map[string]string{
			"/etc/pve/storage.cfg":                             t.storageFile(),
			"/etc/pve/user.cfg":                                t.poolFile(),
			fmt.Sprintf("/etc/pve/qemu-server/%d.conf", vm.ID): vm.proxmoxFile(),
		},
	}
	if err := t.hostFiles(h.Files, vm.Node); err != nil {
		return err
	}
	var out string
	err := t.carry(func(ctx context.Context) (err error) {
		out, err = t.machines.Hook(ctx, h)
		return err
	})
	for line := range strings.Lines(out) {
		t.logf("%s", strings.TrimRight(line, "\n"))
	}
	if err != nil {
		return fmt.Errorf("command '%s %d %s' failed: %w", h.Script, vm.ID, phase, err)
	}
	return nil
}

// hostFiles adds the files that a node sees on its storages, but for disks.
func (s *Sim) hostFiles(files map[string]string, node string) error {
	for _, st := range s.state.Storages {
		if !st.plugin().files || !st.OnNode(node) {
			continue
		}
		for _, v := range s.space(st.ID, node).Volumes {
			if v.Blob == "" || v.Content == "images" {
				continue
			}
			n, err := st.parseName(v.Name)
			if err != nil {
				return err
			}
			if files[st.pathOf(n)], err = s.blobs.path(v.Blob); err != nil {
				return err
			}
		}
	}
	return nil
}

// poolFile is the part of user.cfg that says who is in which pool.
func (s *Sim) poolFile() string {
	var b strings.Builder
	for _, id := range sortedKeys(s.state.Pools) {
		p := s.state.Pools[id]
		var vms []string
		for _, vmid := range slices.Sorted(maps.Keys(p.VMs)) {
			vms = append(vms, fmt.Sprint(vmid))
		}
		fmt.Fprintf(&b, "pool:%s:%s:%s:%s:\n", id, escapeLine(p.Comment), strings.Join(vms, ","), strings.Join(sortedKeys(p.Storages), ","))
	}
	return b.String()
}

// proxmoxFile is the config as Proxmox writes it: the description first, as
// comments.
func (v *VM) proxmoxFile() string {
	var b strings.Builder
	section := func(c Conf) {
		for _, line := range strings.Split(strings.TrimSuffix(c["description"], "\n"), "\n") {
			if c["description"] != "" {
				b.WriteString("#" + escapeLine(line) + "\n")
			}
		}
		for _, k := range c.keys() {
			if k != "description" {
				b.WriteString(k + ": " + c[k] + "\n")
			}
		}
	}
	section(v.Conf)
	for _, name := range v.snapNames() {
		b.WriteString("\n[" + name + "]\n")
		section(v.Snaps[name].Conf)
	}
	return b.String()
}

// escapeLine writes a text as Proxmox does where ':' and lines mean
// something.
func escapeLine(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' || c == '%' || c == ':' {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
