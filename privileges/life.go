package privileges

import (
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// life is all that plans can ever do for what is wanted, and all that is read for
// it.
type life struct {
	want    model.Desired
	at      Facts
	deeds   []deed
	reads   []call
	unknown []string
}

func (l *life) all() {
	for _, i := range l.want.Images {
		if i.URL != "" && !i.Lent {
			l.fetched(i)
		}
		if i.Made() && !i.Lent {
			l.copied(i)
		}
		if i.ISO != "" {
			l.seeStorage(model.StorageOf(i.ISO))
		}
	}
	for _, v := range l.want.VMs {
		l.vm(v)
	}
	for _, s := range l.want.Snapshots {
		l.snapshot(s)
	}
	for _, s := range l.want.Shares {
		l.share(s)
	}
}

// read notes a call that changes nothing.
func (l *life) read(why, path string, on map[string]string) {
	l.reads = append(l.reads, call{method: "GET", path: path, on: on, why: why})
}

// see notes what it takes to find a guest and read its config.
func (l *life) see(why, guest string) {
	l.read(why, "/cluster/resources", map[string]string{"vmid": guest})
	l.read(why, vmCall+"/pending", map[string]string{"vmid": guest})
	l.read(why, vmCall+"/status/current", map[string]string{"vmid": guest})
}

// seeStorage notes what it takes to know a storage: its space, whether it is
// shared, the files on it.
func (l *life) seeStorage(name string) {
	on := map[string]string{"storage": storagePath(name)}
	l.read("see storages and their space", "/cluster/resources", on)
	l.read("see the files on storages", storageCall+"/content", on)
}

func (l *life) unsure(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(l.unknown, text) {
		l.unknown = append(l.unknown, text)
	}
}

// guestPath is where the rights on a guest are: on its pool, on its VMID if that
// is fixed, else on all guests.
func guestPath(v model.VM) string {
	if v.Pool != "" {
		return poolPath(v.Pool)
	}
	return vmPath(v.VMID)
}

// vm is the life of a guest.
func (l *life) vm(v model.VM) {
	guest := guestPath(v)
	l.see("see guests and read their configs", guest)
	for _, node := range v.Place.Nodes {
		l.read("see how much room nodes have", "/cluster/resources", map[string]string{"node": nodePath(node)})
	}
	if len(v.Place.Nodes) == 0 {
		l.read("see how much room nodes have", "/cluster/resources", map[string]string{"node": nodePath("")})
	}
	if v.Pool != "" {
		l.read("see which pool guests are in", "/cluster/resources", map[string]string{"pool": guest})
	}
	for _, s := range l.sources(v) {
		if v.WaitAddress && hasAgent(v, s.config) {
			l.read("ask guest agents for addresses", vmCall+"/agent/network-get-interfaces", map[string]string{"vmid": guest})
		}
		l.made(v, s)
		l.configured(v, s)
	}
	l.seeded(v)
	do := func(a model.Action) {
		l.deeds = append(l.deeds, deed{action: a, of: v.Owner.Key, guest: guest, newID: vmPath(v.VMID)})
	}
	do(model.Start{})
	do(model.Shutdown{})
	do(model.Stop{})
	do(model.Reboot{})
	do(model.Resume{})
	if v.HA != nil {
		l.available(v, do)
	}
	if v.Firewall != nil {
		l.read("read the firewall of guests", vmCall+"/firewall/options", map[string]string{"vmid": guest})
		l.read("read the firewall of guests", vmCall+"/firewall/rules", map[string]string{"vmid": guest})
		do(model.SetFirewall{})
	}
	if v.Retain {
		do(model.Release{})
	} else {
		do(model.Destroy{Owner: v.Owner})
	}
	if v.Update.Move {
		do(model.Migrate{})
	}
	l.strayed(v)
	l.misplaced(v)
}

// misplaced is a guest that is there already, with disks on other storages than those that
// its manifest names.
func (l *life) misplaced(v model.VM) {
	for _, g := range l.at.Have.Tagged(v.Owner) {
		if g.Config == nil {
			continue
		}
		for _, d := range v.Disks {
			slot := d.Slot
			if d.Root() {
				slot = bootSlot(g.Config)
			}
			if have, ok := g.Config.DiskAt(slot); ok && !d.CDROM && d.Volume == "" && d.Storage != "" && have.Storage != d.Storage {
				l.deeds = append(l.deeds, deed{action: model.MoveDisk{Slot: slot, Storage: d.Storage}, of: v.Owner.Key, guest: guestPath(v)})
			}
		}
	}
}

// available is the life of a guest under HA. What that was told is looked at where the
// manifest says more than that the guest is under it.
func (l *life) available(v model.VM, do func(model.Action)) {
	do(model.SetHA{HA: v.HA, New: true})
	do(model.SetHA{})
	says, apart := *v.HA != (model.HA{}), l.apart(v)
	if says {
		do(model.SetHA{HA: v.HA})
	}
	do(model.SetHA{HA: &model.HA{}, Disable: true})
	if apart {
		do(model.KeepApart{New: true})
	}
	if says || apart {
		l.read("read the HA configuration", "/cluster/ha/resources", nil)
		l.read("read the HA configuration", "/cluster/ha/rules", nil)
	}
}

// apart reports whether HA, which moves guests, has to be told to keep this one away
// from others. From 9 on it can be.
func (l *life) apart(v model.VM) bool {
	return l.at.Release >= 9 && slices.ContainsFunc(v.Place.AntiAffinity, func(s model.Selector) bool {
		return s.Matches(v.Labels) && slices.ContainsFunc(l.want.VMs, func(o model.VM) bool {
			return o.HA != nil && o.Owner != v.Owner && s.Matches(o.Labels)
		})
	})
}

// strayed is a guest that is there already, outside of the pool that it should be
// in: rights on the pool don't reach it yet. Or it is in one that it is to leave.
func (l *life) strayed(v model.VM) {
	for _, g := range l.at.Have.Tagged(v.Owner) {
		leaves := v.Pool == "" && g.Config != nil && g.Config.Marker.Manages(model.PoolMark(g.Pool))
		if g.Pool == v.Pool || v.Pool == "" && !leaves {
			continue
		}
		path := vmPath(g.VMID)
		if leaves {
			path = guestPath(v)
			l.read("see which pool guests are in", "/cluster/resources", map[string]string{"pool": poolPath(g.Pool)})
		}
		l.see("see guests and read their configs", path)
		l.deeds = append(l.deeds, deed{action: model.SetPool{VMID: g.VMID, Pool: v.Pool, From: g.Pool}, of: v.Owner.Key, guest: path})
	}
}

// snapshot is the life of a snapshot.
func (l *life) snapshot(s model.Snapshot) {
	i := slices.IndexFunc(l.want.VMs, func(v model.VM) bool { return v.Owner.Key == s.VM })
	if i < 0 {
		return
	}
	d := deed{of: s.Owner.Key, guest: guestPath(l.want.VMs[i])}
	l.read("see snapshots", vmCall+"/snapshot", map[string]string{"vmid": d.guest})
	actions := []model.Action{model.Snap{Name: s.Name, Memory: s.Memory}, model.Unsnap{Name: s.Name}}
	if s.Revert != "" {
		actions = append(actions, model.Rollback{Name: s.Name})
	}
	for _, d.action = range actions {
		l.deeds = append(l.deeds, d)
	}
}

// share is the life of a directory mapping. One of somebody else's is used as it
// is.
func (l *life) share(s model.Share) {
	if d, there := l.at.Have.Dirs[s.Owner.Name]; there && !d.Made {
		return
	}
	name := s.Owner.Name
	for _, a := range []model.Action{model.MakeShare{Name: name, New: true}, model.MakeShare{Name: name}, model.RemoveShare{Name: name}} {
		l.deeds = append(l.deeds, deed{action: a, of: s.Owner.Key})
	}
}
