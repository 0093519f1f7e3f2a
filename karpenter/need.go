package karpenter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/model"
)

// need is what machines of a class take of a zone whatever their size: room on a storage, PCI devices, bridges.
type need struct {
	storage   string         // empty: that of the template's disk
	disk      int64          // bytes; of machines that are being made
	devices   map[string]int // whole ones, by mapping
	bridges   []string
	templates []string // region/node/vmid
}

// needOf is what machines of a class need that are made from a template; nil: there is none.
func needOf(class *api.ProxmoxNodeClass, t source) need {
	n := need{devices: map[string]int{}}
	if d := class.Spec.BootDevice; d != nil {
		n.storage = d.Storage
	}
	if t != nil {
		n.templates = statusOf(t).Zones
	}
	if managed, ok := t.(*api.ProxmoxTemplate); ok && managed != nil {
		for _, d := range managed.Spec.PCIDevices {
			if d.MDev == "" { // of the others several have a part
				n.devices[d.Mapping]++
			}
		}
		for _, i := range managed.Spec.Network {
			n.bridges = append(n.bridges, i.Bridge)
		}
	}
	return n
}

// learn has the observer know what isn't in its lists: which devices mappings stand for, and which bridges some nodes have. It keeps that for some
// minutes. Who may not ask doesn't know, and Proxmox decides then.
func (n need) learn(ctx context.Context, r *Region, nodes ...string) {
	var ask []func() error
	_ = r.Site.View(ctx, func(have *model.Observed) { // else nothing is known at all
		if _, read := have.Mappings["pci"]; !read && len(n.devices) > 0 {
			ask = append(ask, func() error { return r.Site.Observer().Mappings(ctx, "pci") })
		}
		for _, name := range nodes {
			if _, read := have.Bridges[name]; !read && len(n.bridges) > 0 && have.Nodes[name] != nil && have.Nodes[name].Online {
				ask = append(ask, func() error { return r.Site.Observer().Bridges(ctx, name) })
			}
		}
	})
	for _, do := range ask {
		_ = do() // what can't be read isn't known
	}
}

// missing says what a node never has, whatever is free; empty: nothing, or nobody knows.
func (n need) missing(have *model.Observed, node string) string {
	for _, name := range model.NamesOf(n.devices) {
		if there := have.Mappings["pci"]; there != nil && !there[name] {
			return fmt.Sprintf("there is no mapping %s of PCI devices: make it under Datacenter > Resource Mappings, or correct spec.pciDevices of the template", name)
		}
		if d, known := have.Devices["pci/"+name]; known && len(d.On[node]) < n.devices[name] {
			return fmt.Sprintf("mapping %s has %d devices there, %d needed", name, len(d.On[node]), n.devices[name])
		}
	}
	for _, bridge := range n.bridges {
		if there := have.Bridges[node]; there != nil && !there[bridge] {
			return fmt.Sprintf("there is no bridge %s: make it in Network of the node, or correct spec.network of the template", bridge)
		}
	}
	return ""
}

// full says what of a zone others have taken; empty: enough is left, or nobody knows. Unseen are machines that are being made
// there and that no list shows.
func (n need) full(have *model.Observed, node string, unseen []need) string {
	for _, name := range model.NamesOf(n.devices) {
		d, known := have.Devices["pci/"+name]
		if !known {
			continue
		}
		used := 0
		for id, g := range have.Guests {
			if _, coming := have.Placed[id]; !coming && g.Node == node && g.Config != nil && g.Status != model.StatusStopped {
				used += devicesIn(g.Config.Options, name)
			}
		}
		for _, p := range have.Placed {
			if p.Node == node {
				used += devicesIn(p.Devices, name)
			}
		}
		for _, other := range unseen {
			used += other.devices[name]
		}
		if left := len(d.On[node]) - used; left < n.devices[name] {
			return fmt.Sprintf("%d of %d devices of mapping %s free, %d needed", max(0, left), len(d.On[node]), name, n.devices[name])
		}
	}
	return ""
}

// room is what a storage has free on a Proxmox node.
type room struct {
	storage string
	free    int64
	thin    int64 // what a disk takes of it, whatever its size; 0: its size
}

// takes is how much of the storage a disk takes.
func (r room) takes(disk int64) int64 {
	if r.thin > 0 {
		return r.thin
	}
	return disk
}

// crowded says that there is too little space for a disk; empty: there is enough.
func (r room) crowded(disk int64) string {
	if need := r.takes(disk); r.free < need {
		return fmt.Sprintf("storage %s has %s free, %s needed", r.storage, model.Bytes(max(0, r.free)), model.Bytes(need))
	}
	return ""
}

// room is what the storage of the disk has free; false: nobody knows. Storages that give space when it is written need as much as the template has, since it is
// copied; the others as much as the disk is large.
func (n need) room(have *model.Observed, region, node string, unseen []need) (room, bool) {
	template := have.Guests[templateIn(n.templates, region, node)]
	r := room{storage: n.storage}
	if r.storage == "" && template != nil && template.Config != nil {
		if i := slices.IndexFunc(template.Config.Disks, func(d model.Disk) bool { return !d.CDROM }); i >= 0 {
			r.storage = model.StorageOf(template.Config.Disks[i].Volume)
		}
	}
	s := have.Storages[r.storage]
	if s == nil {
		return r, false
	}
	at, there := s.OnNode[node]
	if !there {
		return r, false
	}
	if template != nil && s.Type != "lvm" && s.Type != "iscsi" && s.Type != "iscsidirect" {
		r.thin = template.Disk
	}
	r.free = at.Free()
	for _, p := range have.Placed {
		if p.Node == node || s.Shared {
			most := p.Space[r.storage]
			if r.thin > 0 {
				most = min(most, r.thin)
			}
			r.free -= most
		}
	}
	for _, other := range unseen {
		if other.storage == n.storage {
			r.free -= r.takes(other.disk)
		}
	}
	return r, true
}

// devicesIn counts the whole devices of a mapping that options give a guest.
func devicesIn(options map[string]string, mapping string) (n int) {
	for key, value := range options {
		if !strings.HasPrefix(key, "hostpci") || strings.Contains(value, "mdev=") {
			continue
		}
		for part := range strings.SplitSeq(value, ",") {
			if part == "mapping="+mapping {
				n++
			}
		}
	}
	return n
}
