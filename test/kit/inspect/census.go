package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// Census is what there was before: machines and volumes of others.
type Census struct {
	guests  map[int]string
	volumes map[string]pvesim.Volume
}

// Take counts all that is there now as somebody else's.
func Take(s *pvesim.State) *Census {
	c := &Census{guests: map[int]string{}, volumes: Volumes(s)}
	for id := range s.VMs {
		c.guests[id] = Portrait(s, id)
	}
	return c
}

// Has reports whether a machine is one of others.
func (c *Census) Has(id int) bool { _, ok := c.guests[id]; return ok }

// Touched says what of others isn't as it was.
func (c *Census) Touched(s *pvesim.State) (wrong []string) {
	for _, id := range slices.Sorted(maps.Keys(c.guests)) {
		if is := Portrait(s, id); is != c.guests[id] {
			wrong = append(wrong, fmt.Sprintf("VM %d, which isn't ours, was changed: %s", id, Difference(c.guests[id], is)))
		}
	}
	now := Volumes(s)
	for _, name := range slices.Sorted(maps.Keys(c.volumes)) {
		if v, ok := now[name]; !ok || v.Size != c.volumes[name].Size {
			wrong = append(wrong, fmt.Sprintf("volume %s, which isn't ours, was changed", name))
		}
	}
	return wrong
}

// Written says which requests have changed machines of others. To copy one of
// them is no change.
func (c *Census) Written(log []pvesim.Request) (wrong []string) {
	for _, r := range log {
		id, ok := guestOf(r.URL)
		if r.Method == "GET" || !ok || !c.Has(id) || r.Method == "POST" && strings.HasSuffix(r.URL, "/clone") {
			continue
		}
		wrong = append(wrong, fmt.Sprintf("request %d was %s %s, and VM %d isn't ours", r.N, r.Method, r.URL, id))
	}
	return wrong
}

// guestOf is the VMID that a request is about.
func guestOf(url string) (int, bool) {
	path, _, _ := strings.Cut(url, "?")
	for _, before := range []string{"/qemu/", "/ha/resources/vm:", "/ha/resources/vm%3A", "/ha/resources/"} {
		if _, rest, ok := strings.Cut(path, before); ok {
			word, _, _ := strings.Cut(rest, "/")
			id, err := strconv.Atoi(word)
			return id, err == nil
		}
	}
	return 0, false
}

// Wishes says which of these owners doesn't have exactly one machine, and which
// machines are neither theirs nor those of others. An owner without a UID is the
// one with any.
func (c *Census) Wishes(s *pvesim.State, owners ...model.Owner) (wrong []string) {
	owned, known := Owned(s), map[int]bool{}
	for o, ids := range maps.Clone(owned) {
		if o.UID != "" {
			o.UID = ""
			owned[o] = append(owned[o], ids...)
		}
	}
	for _, o := range owners {
		if ids := owned[o]; len(ids) != 1 {
			wrong = append(wrong, fmt.Sprintf("%s of set %s has %d machines: %v", o.Key, o.Set, len(ids), ids))
		}
		for _, id := range owned[o] {
			known[id] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.VMs)) {
		if !known[id] && !c.Has(id) {
			wrong = append(wrong, fmt.Sprintf("VM %d (%s) is nobody's: %q", id, s.VMs[id].Name(), s.VMs[id].Conf["description"]))
		}
	}
	return wrong
}

// Left says what is there that nobody needs: volumes, entries of HA and pools,
// locks, unused disks, running tasks.
func (c *Census) Left(s *pvesim.State) (wrong []string) {
	needed := Used(s)
	for name := range Volumes(s) {
		if _, old := c.volumes[name]; !old && !needed[name] {
			wrong = append(wrong, "volume "+name+" is left behind")
		}
	}
	for id, vm := range s.VMs {
		if c.Has(id) {
			continue
		}
		if lock := vm.Conf["lock"]; lock != "" {
			wrong = append(wrong, fmt.Sprintf("VM %d is locked (%s)", id, lock))
		}
		for k, v := range vm.Conf {
			if strings.HasPrefix(k, "unused") {
				wrong = append(wrong, fmt.Sprintf("VM %d has an unused disk: %s", id, v))
			}
		}
	}
	wrong = append(wrong, Entries(s)...)
	slices.Sort(wrong)
	return wrong
}

// Entries says what the cluster still has of machines that are gone: entries of HA
// and pools, and tasks that run.
func Entries(s *pvesim.State) (wrong []string) {
	gone := func(sid string) bool {
		id, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(sid), "vm:"))
		return err == nil && s.VMs[id] == nil
	}
	for sid := range s.HA.Resources {
		if gone(sid) {
			wrong = append(wrong, "HA still has "+sid)
		}
	}
	for name, rule := range s.HA.Rules {
		if slices.ContainsFunc(strings.Split(rule["resources"], ","), gone) {
			wrong = append(wrong, "HA still has the rule "+name+" for machines that are gone")
		}
	}
	for name, pool := range s.Pools {
		for id := range pool.VMs {
			if s.VMs[id] == nil {
				wrong = append(wrong, fmt.Sprintf("pool %s still has VM %d, which is gone", name, id))
			}
		}
	}
	for _, list := range s.Tasks {
		for _, t := range list {
			if t.Running() {
				wrong = append(wrong, "task "+t.UPID+" still runs")
			}
		}
	}
	return wrong
}
