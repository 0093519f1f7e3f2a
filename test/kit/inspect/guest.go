package inspect

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// Portrait is all of a machine that others must not change, as text: node, power,
// config, snapshots, volumes, and what HA and pools have of it. Its backups aren't
// part of it.
func Portrait(s *pvesim.State, id int) string {
	vm := s.VMs[id]
	if vm == nil {
		return "gone"
	}
	var lines []string
	add := func(parts ...string) { lines = append(lines, strings.Join(parts, "")) }
	section := func(name string, c pvesim.Conf) {
		for k, v := range c {
			add(name, k, ": ", v)
		}
	}
	add("node ", vm.Node)
	add("running ", strconv.FormatBool(vm.Run != nil))
	section("", vm.Conf)
	section("pending ", vm.Pending)
	for name, snap := range vm.Snaps {
		section("snapshot "+name+" ", snap.Conf)
	}
	for k := range vm.Deletes {
		add("delete ", k)
	}
	for key, sp := range s.Spaces {
		for name, v := range sp.Volumes {
			if v.VMID == id && v.Content != "backup" {
				add("volume ", key.Node, "/", key.Storage, ":", name, " ", strconv.FormatInt(v.Size, 10))
			}
		}
	}
	for k, v := range s.HA.Resources["vm:"+strconv.Itoa(id)] {
		add("HA ", k, ": ", v)
	}
	for name, pool := range s.Pools {
		if pool.VMs[id] {
			add("pool ", name)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Difference shows the lines that differ, those that went with a minus and those
// that came with a plus before them.
func Difference(was, is string) string {
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	var out []string
	for _, line := range a {
		if !slices.Contains(b, line) {
			out = append(out, "-"+line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			out = append(out, "+"+line)
		}
	}
	return strings.Join(out, " ")
}

// Owned are the machines that say in their own description whose they are.
func Owned(s *pvesim.State) map[model.Owner][]int {
	out := map[model.Owner][]int{}
	for _, id := range slices.Sorted(maps.Keys(s.VMs)) {
		if _, m, ok := model.ParseDescription(s.VMs[id].Conf["description"]); ok && m.Of(id) {
			out[m.Owner] = append(out[m.Owner], id)
		}
	}
	return out
}
