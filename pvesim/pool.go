package pvesim

import (
	"maps"
	"slices"
	"strings"
)

// memberIndex tells the pools of guests and storages. It is kept up to date
// by the functions below.
type memberIndex struct {
	guests   map[int]string             // a guest is in one pool at most
	storages map[string]map[string]bool // a storage may be in several
}

func (s *Sim) memberIndex() *memberIndex {
	if s.state.members != nil {
		return s.state.members
	}
	ix := &memberIndex{guests: map[int]string{}, storages: map[string]map[string]bool{}}
	s.state.members = ix
	for id, p := range s.state.Pools {
		for vmid := range p.VMs {
			ix.guests[vmid] = id
		}
		for storage := range p.Storages {
			ix.addStorage(storage, id)
		}
	}
	return ix
}

func (ix *memberIndex) addStorage(storage, pool string) {
	if ix.storages[storage] == nil {
		ix.storages[storage] = map[string]bool{}
	}
	ix.storages[storage][pool] = true
}

// poolOf names the pool of a guest, "" when it is in none.
func (s *Sim) poolOf(vmid int) string { return s.memberIndex().guests[vmid] }

// poolsOfStorage names the pools of a storage, sorted.
func (s *Sim) poolsOfStorage(storage string) []string {
	pools := s.memberIndex().storages[storage]
	if len(pools) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(pools))
}

// addVMToPool makes a guest a member of a pool, and of no other. A pool that
// is gone meanwhile is left alone.
func (s *Sim) addVMToPool(vmid int, pool string) {
	p := s.state.Pools[pool]
	if p == nil {
		return
	}
	s.removeVMFromPool(vmid)
	if p.VMs == nil {
		p.VMs = map[int]bool{}
	}
	p.VMs[vmid] = true
	s.memberIndex().guests[vmid] = pool
	s.dirty()
}

// removeVMFromPool takes a guest out of its pool.
func (s *Sim) removeVMFromPool(vmid int) {
	ix := s.memberIndex()
	pool, ok := ix.guests[vmid]
	if !ok {
		return
	}
	delete(ix.guests, vmid)
	if p := s.state.Pools[pool]; p != nil {
		delete(p.VMs, vmid)
	}
	s.dirty()
}

func (s *Sim) addStorageToPool(storage, pool string) {
	p := s.state.Pools[pool]
	if p.Storages == nil {
		p.Storages = map[string]bool{}
	}
	p.Storages[storage] = true
	s.memberIndex().addStorage(storage, pool)
	s.dirty()
}

func (s *Sim) removeStorageFromPool(storage, pool string) {
	delete(s.memberIndex().storages[storage], pool)
	if p := s.state.Pools[pool]; p != nil {
		delete(p.Storages, storage)
	}
	s.dirty()
}

// removeVMAccess forgets the ACLs and the pool of a guest that was destroyed.
func (s *Sim) removeVMAccess(vmid int) {
	s.dropACLBelow(vmPath(vmid))
	s.removeVMFromPool(vmid)
}

// removeStorageAccess forgets the ACLs and pools of a storage that was removed.
func (s *Sim) removeStorageAccess(storage string) {
	s.dropACLBelow("/storage/" + storage)
	for _, pool := range s.poolsOfStorage(storage) {
		s.removeStorageFromPool(storage, pool)
	}
}

// removePool forgets a pool, its members' ties to it and its ACLs. Those of
// a pool inside another stay, as Proxmox leaves them.
func (s *Sim) removePool(pool string) {
	p := s.state.Pools[pool]
	for vmid := range p.VMs {
		s.removeVMFromPool(vmid)
	}
	for storage := range p.Storages {
		s.removeStorageFromPool(storage, pool)
	}
	delete(s.state.Pools, pool)
	if !strings.Contains(pool, "/") {
		s.dropACLBelow("/pool/" + pool)
	}
	s.dirty()
}

// subPools names the pools directly inside a pool, sorted.
func (s *Sim) subPools(pool string) []string {
	var out []string
	for id := range s.state.Pools {
		if rest, ok := strings.CutPrefix(id, pool+"/"); ok && !strings.Contains(rest, "/") {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}
