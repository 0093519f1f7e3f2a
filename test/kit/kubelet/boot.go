package kubelet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/pvesim/guestos"
)

// round is how often a simulator is looked at.
const round = 50 * time.Millisecond

// watch starts and stops kubelets as VMs boot and end.
func (f *Fleet) watch(ctx context.Context, sims []*pvesim.Sim) {
	tick := time.NewTicker(round)
	defer tick.Stop()
	defer func() {
		for _, n := range f.byDisk {
			f.end(n)
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		up := map[string]bool{}
		for i, sim := range sims {
			for _, m := range f.booted(fmt.Sprint(i), sim) {
				if up[m.disk] = true; m.conf != nil {
					f.boot(ctx, sim, m)
				}
			}
		}
		for disk, n := range f.byDisk {
			if !up[disk] {
				f.end(n)
			}
		}
	}
}

// machine is a VM whose system is up.
type machine struct {
	vmid, run  int
	node, name string
	disk       string
	conf       pvesim.Conf // only of those that have booted since the last look
}

// booted are the machines of a cluster that are up.
func (f *Fleet) booted(place string, sim *pvesim.Sim) (list []machine) {
	now := sim.Now()
	sim.Do(func(st *pvesim.State) {
		for id, vm := range st.VMs {
			host := st.Nodes[vm.Node]
			if vm.Run == nil || vm.Run.Booted.IsZero() || now.Before(vm.Run.Booted) || !vm.Run.Paused.IsZero() || host == nil || host.State == pvesim.Offline {
				continue
			}
			m := machine{vmid: id, run: vm.Run.PID, node: vm.Node, name: vm.Name(), disk: fmt.Sprintf("%s/%d/%s", place, id, vm.Conf["smbios1"])}
			if n := f.byDisk[m.disk]; n == nil || n.run != m.run {
				m.conf = maps.Clone(vm.Conf)
			}
			list = append(list, m)
		}
	})
	return list
}

// boot starts a machine.
func (f *Fleet) boot(ctx context.Context, sim *pvesim.Sim, m machine) {
	n := f.byDisk[m.disk]
	if n == nil { // its first boot
		n = &node{fleet: f}
		var err error
		if n.Settings, err = readDiscs(sim, m); err != nil {
			n.Settings = nil
			if !errors.Is(err, errNoJoin) {
				f.note(m.name, fmt.Errorf("read the seed: %w", err))
			}
		}
		f.mu.Lock()
		f.byDisk[m.disk] = n
		f.mu.Unlock()
	}
	f.end(n)
	n.run = m.run
	if n.Settings == nil || f.Joins != nil && !f.Joins(m.name) {
		return
	}
	if n.Name == "" {
		n.Name = m.name
	}
	n.capacity, n.addresses = capacity(m.conf, n.MaxPods), nil
	for _, p := range sim.Addresses(m.vmid) {
		if a := p.Addr(); !a.IsLinkLocalUnicast() {
			n.addresses = append(n.addresses, net.IP(a.AsSlice()))
		}
	}
	var alive context.Context
	alive, n.stop = context.WithCancel(ctx)
	n.ended, n.pods = make(chan struct{}), newMailbox()
	f.mu.Lock()
	f.byName[n.Name] = n
	f.mu.Unlock()
	go n.live(alive)
	f.revisit(n.Name)
}

// end is what happens to a machine when its VM ends.
func (f *Fleet) end(n *node) {
	if n.stop == nil {
		return
	}
	n.stop()
	<-n.ended
	n.stop, n.run = nil, 0
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byName[n.Name] == n {
		delete(f.byName, n.Name)
	}
	delete(f.last, n.Name)
}

// readDiscs reads the seed of a machine, from the discs in its drives.
func readDiscs(sim *pvesim.Sim, m machine) (*Settings, error) {
	for _, value := range m.conf {
		volume, options, _ := strings.Cut(value, ",")
		if !strings.Contains(options, "media=cdrom") {
			continue
		}
		data, err := sim.ReadVolume(m.node, volume)
		if err != nil {
			return nil, err
		}
		if img, ok := guestos.OpenISO(data); ok && strings.EqualFold(img.Label, "cidata") {
			return ReadSeed(img.Files())
		}
	}
	return nil, errNoJoin
}
