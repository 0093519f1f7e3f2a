package pvesim

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// poolRoutes are the resource pools: with the pool's name as a parameter, or
// in the path as before there were pools in pools.
func poolRoutes() map[string]handler {
	return map[string]handler{
		"GET /pools":             listPools,
		"POST /pools":            createPool,
		"PUT /pools":             updatePool,
		"DELETE /pools":          deletePool,
		"GET /pools/{poolid}":    readPool,
		"PUT /pools/{poolid}":    updatePool,
		"DELETE /pools/{poolid}": deletePool,
	}
}

// listPools lists pools, or shows one. The latter is open to everybody: that
// is how Proxmox does it.
func listPools(c *call) (any, error) {
	if c.given("poolid") {
		info, err := c.poolInfo(c.params.Str("poolid"))
		if err != nil {
			return nil, err
		}
		return []any{info}, nil
	}
	list := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.state.Pools)) {
		if !c.has(c.who, "/pool/"+id, "Pool.Audit") {
			continue
		}
		list = append(list, c.state.Pools[id].entry())
	}
	return list, nil
}

func (p *Pool) entry() map[string]any {
	m := map[string]any{"poolid": p.ID}
	if p.Comment != "" {
		m["comment"] = p.Comment
	}
	return m
}

func readPool(c *call) (any, error) { return c.poolInfo(c.params.Str("poolid")) }

// poolInfo shows a pool with its members. Members that don't exist (yet, or
// any longer) aren't shown.
func (c *call) poolInfo(id string) (map[string]any, error) {
	p := c.state.Pools[id]
	if p == nil {
		return nil, die("pool '%s' does not exist", id)
	}
	kind := c.params.Str("type")
	members := []map[string]any{}
	if kind == "" || kind == "qemu" {
		for _, vmid := range slices.Sorted(maps.Keys(p.VMs)) {
			if vm := c.state.VMs[vmid]; vm != nil {
				members = append(members, c.memberVM(vm))
			}
		}
	}
	if kind == "" || kind == "storage" {
		for _, storage := range slices.Sorted(maps.Keys(p.Storages)) {
			if st := c.state.Storages[storage]; st != nil {
				members = append(members, c.storageResource(st, c.nodeFor(st)))
			}
		}
	}
	out := p.entry()
	out["members"] = members
	return out, nil
}

// memberVM is a guest as lists of members show it: with the figures of the
// last status round and nothing of its config.
func (c *call) memberVM(vm *VM) map[string]any {
	m := c.vmResource(vm)
	for _, key := range []string{"pool", "lock", "tags", "hastate"} {
		delete(m, key)
	}
	return m
}

// nodeFor chooses the node whose figures of a storage are shown: this one
// where possible.
func (c *call) nodeFor(st *Storage) string {
	if st.OnNode(c.entry) {
		return c.entry
	}
	return slices.Min(schema.SplitList(st.Conf["nodes"]))
}

func createPool(c *call) (any, error) {
	return nil, inUserConfig("create pool failed", c.addPool(c.params.Str("poolid")))
}

func (c *call) addPool(id string) error {
	if c.state.Pools[id] != nil {
		return die("pool '%s' already exists", id)
	}
	leaf := id
	if i := strings.LastIndexByte(id, '/'); i >= 0 {
		if c.state.Pools[id[:i]] == nil {
			return die("parent '%s' of pool '%s' does not exist", id[:i], id)
		}
		leaf = id[i+1:]
	}
	if first := leaf[0] | 0x20; first < 'a' || first > 'z' {
		return die("pool name must start with a letter")
	}
	c.state.Pools[id] = &Pool{
		ID: id, Comment: storedText(c.params.Str("comment")), VMs: map[int]bool{}, Storages: map[string]bool{},
	}
	return nil
}

func updatePool(c *call) (any, error) {
	return nil, inUserConfig("update pools failed", c.changePool(c.params.Str("poolid")))
}

// changePool checks all changes before it makes the first, so that a pool
// isn't left half changed.
func (c *call) changePool(id string) error {
	p := c.state.Pools[id]
	if p == nil {
		return die("pool '%s' does not exist", id)
	}
	guests, err := c.guestMoves(id)
	if err != nil {
		return err
	}
	storages, err := c.storageMoves(p)
	if err != nil {
		return err
	}
	if c.params.Has("comment") {
		p.Comment = storedText(c.params.Str("comment"))
	}
	for vmid, pool := range guests {
		c.removeVMFromPool(vmid)
		c.addVMToPool(vmid, pool)
	}
	for storage, member := range storages {
		if member {
			c.addStorageToPool(storage, id)
		} else {
			c.removeStorageFromPool(storage, id)
		}
	}
	return nil
}

// guestMoves tells for each guest in the call which pool it will be in.
func (c *call) guestMoves(id string) (map[int]string, error) {
	moves := map[int]string{}
	for _, text := range c.params.List("vms") {
		if err := c.needModify(c.who, "/vms/"+text); err != nil {
			return nil, err
		}
		vmid, err := strconv.Atoi(text)
		if err != nil {
			return nil, die("VM %s is no number", text)
		}
		now, moved := moves[vmid]
		if !moved {
			now = c.poolOf(vmid)
		}
		switch {
		case c.params.Bool("delete") && now != id:
			return nil, die("VM %d is not a pool member", vmid)
		case c.params.Bool("delete"):
			moves[vmid] = ""
			continue
		case now == id:
			return nil, die("VM %d is already a pool member", vmid)
		case now != "" && !c.params.Bool("allow-move"):
			return nil, die("VM %d belongs already to pool '%s' and 'allow-move' is not set", vmid, now)
		case now != "":
			if err := c.need(c.who, "/pool/"+now, "Pool.Allocate"); err != nil {
				return nil, err
			}
		}
		moves[vmid] = id
	}
	return moves, nil
}

// storageMoves tells for each storage in the call whether it will be in the
// pool.
func (c *call) storageMoves(p *Pool) (map[string]bool, error) {
	moves := map[string]bool{}
	for _, storage := range c.params.List("storage") {
		if err := c.needModify(c.who, "/storage/"+storage); err != nil {
			return nil, err
		}
		member, moved := moves[storage]
		if !moved {
			member = p.Storages[storage]
		}
		if c.params.Bool("delete") && !member {
			return nil, die("Storage '%s' is not a pool member", storage)
		}
		if !c.params.Bool("delete") && member {
			return nil, die("Storage '%s' is already a pool member", storage)
		}
		moves[storage] = !member
	}
	return moves, nil
}

func deletePool(c *call) (any, error) {
	id := c.params.Str("poolid")
	if err := c.poolEmpty(id); err != nil {
		return nil, inUserConfig("delete pool failed", err)
	}
	c.removePool(id)
	return nil, nil
}

// poolEmpty refuses a pool that has members. Guests and storages that are
// gone don't count.
func (c *call) poolEmpty(id string) error {
	p := c.state.Pools[id]
	if p == nil {
		return die("pool '%s' does not exist", id)
	}
	for _, sub := range c.subPools(id) {
		return die("pool '%s' is not empty (contains pool '%s')", id, sub)
	}
	var guests []string
	for vmid := range p.VMs {
		if c.state.VMs[vmid] != nil {
			guests = append(guests, strconv.Itoa(vmid))
		}
	}
	if len(guests) > 0 {
		return die("pool '%s' is not empty (contains VM %s)", id, slices.Min(guests))
	}
	for _, storage := range slices.Sorted(maps.Keys(p.Storages)) {
		if c.state.Storages[storage] != nil {
			return die("pool '%s' is not empty (contains storage '%s')", id, storage)
		}
	}
	return nil
}
