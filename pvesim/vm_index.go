package pvesim

import (
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/pvesim/access"
)

// guestIndex answers questions about all guests without looking at each: how
// much memory the running ones take on each node, who carries a tag, whether
// anybody has a network card. A VM keeps its own part up to date: touch does
// so after changes of the config, recount after others.
type guestIndex struct {
	memory map[string]int64        // of running guests, by node
	tags   map[string]map[int]bool // VMIDs by tag
	macs   map[string]int          // network cards, addresses in lower case
	stale  bool                    // somebody may have changed anything since
}

// guestShare is what one guest adds to the index.
type guestShare struct {
	node string
	mem  int64
	tags []string
	macs []string
}

// guests is the index. It is made when first asked for.
func (s *Sim) guests() *guestIndex {
	if s.index != nil {
		return s.index
	}
	s.index = &guestIndex{memory: map[string]int64{}, tags: map[string]map[int]bool{}, macs: map[string]int{}}
	for _, vm := range s.state.VMs {
		vm.index, vm.share, vm.digest = s.index, guestShare{}, ""
		vm.recount()
	}
	return s.index
}

// guestsReplaced says that the guests may have changed in any way.
func (s *Sim) guestsReplaced() {
	if s.index != nil {
		s.index.stale = true
	}
	s.index, s.nextFree = nil, freeHint{}
}

// putVM adds a guest.
func (s *Sim) putVM(vm *VM) {
	s.state.VMs[vm.ID] = vm
	s.takeStray(vm)
	vm.index = s.index
	vm.recount()
}

// dropVM removes a guest; its VMID becomes free.
func (s *Sim) dropVM(vmid int) {
	vm := s.state.VMs[vmid]
	if vm == nil {
		return
	}
	delete(s.state.VMs, vmid)
	s.state.leaveStray(vm)
	vm.count(guestShare{})
	vm.index = nil
	s.vmGone(vmid)
}

// recount brings the guest's part of the index up to date.
func (v *VM) recount() {
	if v.index == nil || v.index.stale {
		return
	}
	now := guestShare{node: v.Node}
	if v.Run != nil {
		now.mem = v.Run.Mem
	}
	if tags := v.Conf["tags"]; tags != "" {
		now.tags = schema.SplitList(tags)
	}
	for key, value := range v.Conf {
		if strings.HasPrefix(key, "net") && family(key, "net") {
			now.macs = append(now.macs, netMAC(value))
		}
	}
	v.count(now)
}

// count puts a share in the place of the one that was counted before.
func (v *VM) count(now guestShare) {
	ix := v.index
	if ix == nil {
		return
	}
	ix.memory[v.share.node] -= v.share.mem
	for _, tag := range v.share.tags {
		if delete(ix.tags[tag], v.ID); len(ix.tags[tag]) == 0 {
			delete(ix.tags, tag)
		}
	}
	for _, mac := range v.share.macs {
		if ix.macs[mac]--; ix.macs[mac] <= 0 {
			delete(ix.macs, mac)
		}
	}
	v.share = now
	ix.memory[now.node] += now.mem
	for _, tag := range now.tags {
		if ix.tags[tag] == nil {
			ix.tags[tag] = map[int]bool{}
		}
		ix.tags[tag][v.ID] = true
	}
	for _, mac := range now.macs {
		ix.macs[mac]++
	}
}

// tagSeen reports whether a guest that who can see carries the tag.
func (s *Sim) tagSeen(who *access.Identity, tag string) bool {
	for vmid := range s.guests().tags[tag] {
		if s.has(who, vmPath(vmid), "VM.Audit") {
			return true
		}
	}
	return false
}
