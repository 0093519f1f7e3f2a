package pvesim

import (
	"testing"

	"github.com/proxplane/proxplane/pvesim/access"
)

// addGuests puts VMs without disks into the world.
func (o *office) addGuests(ids ...int) {
	o.sim.Do(func(st *State) {
		for _, id := range ids {
			st.VMs[id] = &VM{ID: id, Node: "pve1", Conf: Conf{"name": "vm" + itoa(id), "memory": "512", "tags": "a"}}
		}
	})
}

func TestPoolsHoldGuestsAndStorages(t *testing.T) {
	for _, tc := range []struct{ release, byPath string }{{"9.2", ""}, {"8.4", ""}, {"9.2", "/web"}, {"8.4", "/web"}} {
		o := newOffice(t, tc.release)
		root := o.root()
		o.addGuests(100, 101)
		root.must("POST", "/pools", "poolid", "web", "comment", "the web")
		root.must("POST", "/pools", "poolid", "db")
		path, id := "/pools"+tc.byPath, []string{"poolid", "web"}
		if tc.byPath != "" {
			id = nil
		}
		with := func(params ...string) []string { return append(append([]string{}, id...), params...) }
		root.must("PUT", path, with("vms", "100,101,999", "storage", "local,fast")...)
		info := func(params ...string) object {
			got := root.must("GET", path, with(params...)...)
			if list, ok := got.([]any); ok {
				return list[0].(object)
			}
			return got.(object)
		}
		var ids []any
		for _, m := range info()["members"].([]any) {
			m := m.(object)
			ids = append(ids, m["id"])
			for _, key := range []string{"pool", "tags", "lock"} {
				if m[key] != nil {
					t.Errorf("a member shows %s: %v", key, m)
				}
			}
		}
		root.same(ids, []any{"qemu/100", "qemu/101", "storage/pve1/fast", "storage/pve1/local"}, "members that exist")
		root.same(len(info("type", "storage")["members"].([]any)), 2, "storages among the members")
		root.same(len(info("type", "qemu")["members"].([]any)), 2, "guests among the members")
		root.same(len(info("type", "lxc")["members"].([]any)), 0, "containers among the members")

		for reason, params := range map[string][]string{
			"VM 100 is already a pool member":          {"vms", "100"},
			"Storage 'fast' is already a pool member":  {"storage", "fast"},
			"VM 102 is not a pool member":              {"vms", "102", "delete", "1"},
			"Storage 'other' is not a pool member":     {"storage", "other", "delete", "1"},
			"VM 103 is already a pool member":          {"vms", "103,103"},
			"Storage 'twice' is not a pool member":     {"storage", "twice", "delete", "1"},
			"VM 104 is not a pool member":              {"vms", "100,104", "delete", "1"},
			"Storage 'local' is already a pool member": {"vms", "105", "storage", "local"},
		} {
			root.expect(root.put(path, with(params...)...), 500, "update pools failed: "+reason)
		}
		root.same(len(info()["members"].([]any)), 4, "members after nothing but failures")

		root.expect(root.put("/pools/db", "vms", "100"), 500, "update pools failed: VM 100 belongs already to pool 'web' and 'allow-move' is not set")
		root.must("PUT", "/pools", "poolid", "db", "vms", "100", "allow-move", "1", "comment", "data")
		root.same(root.must("GET", "/pools"), []any{object{"poolid": "db", "comment": "data"}, object{"poolid": "web", "comment": "the web"}}, "pools")
		root.expect(root.delete(path, id...), 500, "delete pool failed: pool 'web' is not empty (contains VM 101)")
		root.must("PUT", path, with("vms", "101", "delete", "1")...)
		root.expect(root.delete(path, id...), 500, "delete pool failed: pool 'web' is not empty (contains storage 'fast')")
		root.must("PUT", path, with("storage", "local,fast", "delete", "1", "comment", "")...)
		if c, ok := info()["comment"]; ok {
			t.Errorf("the emptied comment is %v", c)
		}
		// VM 999 never was, so it doesn't count.
		root.must("DELETE", path, id...)
		root.expect(root.delete(path, id...), 500, "delete pool failed: pool 'web' does not exist")
		root.expect(root.put(path, with("comment", "x")...), 500, "update pools failed: pool 'web' does not exist")
		root.expect(root.get(path, id...), 500, "pool 'web' does not exist")
	}
}

func TestPoolsMayBeInPools(t *testing.T) {
	o := newOffice(t, "9.2", WorldUser{ID: "ann@pve", Password: "ann-secret"})
	root, ann := o.root(), o.login("ann@pve", "ann-secret")
	o.addGuests(100, 101)
	root.expect(root.post("/pools", "poolid", "a/b"), 500, "create pool failed: parent 'a' of pool 'a/b' does not exist")
	root.expect(root.post("/pools", "poolid", "1a"), 500, "create pool failed: pool name must start with a letter")
	root.must("POST", "/pools", "poolid", "a")
	root.must("POST", "/pools", "poolid", "a/b")
	root.expect(root.post("/pools", "poolid", "a/_b"), 500, "create pool failed: pool name must start with a letter")
	root.must("PUT", "/pools", "poolid", "a/b", "vms", "100")
	root.expect(root.delete("/pools", "poolid", "a"), 500, "delete pool failed: pool 'a' is not empty (contains pool 'a/b')")
	// What is granted on the outer pool holds inside.
	root.must("PUT", "/access/acl", "path", "/pool/a", "roles", "PVEVMUser,PVEPoolAdmin", "users", "ann@pve")
	if !o.sim.has(&access.Identity{User: "ann@pve"}, "/vms/100", "VM.PowerMgmt") {
		t.Error("ann has no rights on the guest of the inner pool")
	}
	ann.same(len(ann.must("GET", "/pools").([]any)), 2, "pools that ann sees")
	// To put a guest into a pool takes rights on the guest too.
	ann.expect(ann.put("/pools", "poolid", "a", "vms", "101"), 500,
		"update pools failed: 403 Permission check failed (/vms/101, Permissions.Modify|VM.Allocate)")
	ann.expect(ann.put("/pools", "poolid", "a", "storage", "fast"), 500,
		"update pools failed: 403 Permission check failed (/storage/fast, Permissions.Modify|Datastore.Allocate)")
	ann.expect(ann.put("/pools", "poolid", "b", "comment", "x"), 403, "Permission check failed (/pool/b, Pool.Allocate)")
	root.must("PUT", "/pools", "poolid", "a/b", "vms", "100", "delete", "1")
	root.must("DELETE", "/pools", "poolid", "a/b")
	root.must("DELETE", "/pools", "poolid", "a")
	root.same(root.must("GET", "/access/acl"), []any{}, "ACLs after the pool is gone")
}

func TestGoneGuestsLeaveNoRightsBehind(t *testing.T) {
	o := newOffice(t, "9.2", WorldUser{ID: "ann@pve", Password: "ann-secret"})
	root := o.root()
	o.addGuests(100)
	root.must("POST", "/pools", "poolid", "web")
	root.must("PUT", "/pools", "poolid", "web", "vms", "100")
	root.must("PUT", "/access/acl", "path", "/vms/100", "roles", "PVEVMUser", "users", "ann@pve")
	root.must("PUT", "/access/acl", "path", "/vms/1000", "roles", "PVEVMUser", "users", "ann@pve")
	o.sim.mu.Lock()
	o.sim.removeVMAccess(100)
	o.sim.mu.Unlock()
	root.same(len(root.must("GET", "/access/acl").([]any)), 1, "ACLs left")
	o.sim.Do(func(st *State) {
		if len(st.Pools["web"].VMs) != 0 {
			t.Errorf("the pool still has %v", st.Pools["web"].VMs)
		}
	})
	if pool := o.sim.poolOf(100); pool != "" {
		t.Errorf("the guest is still in %s", pool)
	}
}
