//go:build linux

package qemu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pvesim"
)

// unplugTimeout is how long a guest may take to give a device back.
const unplugTimeout = 30 * time.Second

// Change plugs and unplugs until the guest has what m has. What was done
// before an error stays done.
func (b *Backend) Change(ctx context.Context, m *pvesim.Machine) error {
	g, err := b.guest(m.ID)
	if err != nil {
		return err
	}
	if m, err = b.resolve(m); err != nil {
		return err
	}
	g.turn.Lock()
	defer g.turn.Unlock()
	c := &change{guest: g, backend: b, want: m}
	for _, step := range []func(context.Context) error{c.drives, c.nics, c.cpus, c.memory} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// change is a guest on its way to what it is wanted to be.
type change struct {
	*guest
	backend *Backend
	want    *pvesim.Machine
}

// note records a step that was done.
func (c *change) note(fn func(have *pvesim.Machine)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn(&c.machine)
}

func drive(list []pvesim.MachineDrive, key string) (pvesim.MachineDrive, bool) {
	i := slices.IndexFunc(list, func(d pvesim.MachineDrive) bool { return d.Key == key })
	if i < 0 {
		return pvesim.MachineDrive{}, false
	}
	return list[i], true
}

func without[T any](list []T, drop func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), drop)
}

func (c *change) drives(ctx context.Context) error {
	same := func(key string) func(pvesim.MachineDrive) bool {
		return func(d pvesim.MachineDrive) bool { return d.Key == key }
	}
	for _, old := range slices.Clone(c.machine.Drives) {
		now, stays := drive(c.want.Drives, old.Key)
		switch {
		case stays && old.Disk == now.Disk && old.ISO == now.ISO:
			continue
		case stays && old.CDROM && now.CDROM:
			if err := c.changeDisc(ctx, old, now); err != nil {
				return err
			}
			c.note(func(m *pvesim.Machine) { m.Drives = append(without(m.Drives, same(old.Key)), now) })
			continue
		}
		if err := c.unplug(ctx, old.Key); err != nil {
			return err
		}
		if err := c.dropNode(ctx, old); err != nil {
			return err
		}
		c.note(func(m *pvesim.Machine) { m.Drives = without(m.Drives, same(old.Key)) })
	}
	for _, now := range c.want.Drives {
		if _, there := drive(c.machine.Drives, now.Key); there {
			continue
		}
		if err := c.plugDrive(ctx, now); err != nil {
			return err
		}
		c.note(func(m *pvesim.Machine) { m.Drives = append(slices.Clone(m.Drives), now) })
	}
	return nil
}

func (c *change) plugDrive(ctx context.Context, d pvesim.MachineDrive) error {
	dev, err := driveDevice(c.want, d)
	if err != nil {
		return err
	}
	delete(dev, "bootindex") // of no use any more
	if node, ok := c.backend.node(d); ok {
		if err := c.qmp.do(ctx, "blockdev-add", node, nil); err != nil {
			return err
		}
	}
	if err := c.qmp.do(ctx, "device_add", dev, nil); err != nil {
		return errors.Join(err, c.dropNode(ctx, d))
	}
	return nil
}

// dropNode lets QEMU close a disk that no device reads any more.
func (c *change) dropNode(ctx context.Context, d pvesim.MachineDrive) error {
	node, ok := c.backend.node(d)
	if !ok {
		return nil
	}
	return c.qmp.do(ctx, "blockdev-del", map[string]any{"node-name": node["node-name"]}, nil)
}

// changeDisc puts another disc into a drive, or takes it out.
func (c *change) changeDisc(ctx context.Context, old, now pvesim.MachineDrive) error {
	tray := map[string]any{"id": old.Key}
	if err := c.qmp.do(ctx, "blockdev-open-tray", map[string]any{"id": old.Key, "force": true}, nil); err != nil {
		return err
	}
	if _, had := c.backend.node(old); had {
		if err := c.qmp.do(ctx, "blockdev-remove-medium", tray, nil); err != nil {
			return err
		}
		if err := c.dropNode(ctx, old); err != nil {
			return err
		}
	}
	node, has := c.backend.node(now)
	if !has {
		return nil
	}
	if err := c.qmp.do(ctx, "blockdev-add", node, nil); err != nil {
		return err
	}
	insert := map[string]any{"id": old.Key, "node-name": node["node-name"]}
	if err := c.qmp.do(ctx, "blockdev-insert-medium", insert, nil); err != nil {
		return err
	}
	return c.qmp.do(ctx, "blockdev-close-tray", tray, nil)
}

// unplug takes a device out, by its id or its path, and waits until the
// guest has let go of it.
func (c *change) unplug(ctx context.Context, id string) error {
	path := id
	if !strings.HasPrefix(id, "/") {
		path = "/machine/peripheral/" + id
	}
	events, stop := c.qmp.watch()
	defer stop()
	if err := c.qmp.do(ctx, "device_del", map[string]any{"id": id}, nil); err != nil {
		return err
	}
	// Not for all devices does QEMU tell that they are gone.
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	deadline := time.NewTimer(unplugTimeout)
	defer deadline.Stop()
	for {
		select {
		case e := <-events:
			if refusals[e.Event] && (e.text("device") == id || e.text("path") == path) {
				return fmt.Errorf("the guest keeps %s", id)
			}
		case <-look.C:
			var notFound *qmpError
			if err := c.qmp.do(ctx, "qom-list", map[string]any{"path": path}, nil); errors.As(err, &notFound) {
				return nil
			} else if err != nil {
				return err
			}
		case <-deadline.C:
			return fmt.Errorf("the guest doesn't let go of %s", id)
		}
	}
}

// refusals are the events of a guest that won't give a device back.
var refusals = map[string]bool{"DEVICE_UNPLUG_GUEST_ERROR": true, "MEM_UNPLUG_ERROR": true}

func (c *change) nics(ctx context.Context) error {
	for _, old := range slices.Clone(c.machine.NICs) {
		i := slices.IndexFunc(c.want.NICs, func(n pvesim.MachineNIC) bool { return n.Key == old.Key })
		if i >= 0 && c.want.NICs[i].Model == old.Model && c.want.NICs[i].MAC == old.MAC {
			if err := c.recable(ctx, old, c.want.NICs[i]); err != nil {
				return err
			}
			continue
		}
		if err := c.unplug(ctx, old.Key); err != nil {
			return err
		}
		if err := c.qmp.do(ctx, "netdev_del", map[string]any{"id": old.Key}, nil); err != nil {
			return err
		}
		c.note(func(m *pvesim.Machine) {
			c.ports[old.Key].unplug()
			delete(c.ports, old.Key)
			m.NICs = without(m.NICs, func(n pvesim.MachineNIC) bool { return n.Key == old.Key })
		})
	}
	for _, now := range c.want.NICs {
		if slices.ContainsFunc(c.machine.NICs, func(n pvesim.MachineNIC) bool { return n.Key == now.Key }) {
			continue
		}
		if err := c.plugNIC(ctx, now); err != nil {
			return err
		}
	}
	return nil
}

// recable changes what a card is connected to.
func (c *change) recable(ctx context.Context, old, now pvesim.MachineNIC) error {
	if segmentOf(old) != segmentOf(now) {
		c.ports[old.Key].move(segmentOf(now))
	}
	if down(old) != down(now) {
		if err := c.qmp.do(ctx, "set_link", map[string]any{"name": now.Key, "up": !down(now)}, nil); err != nil {
			return err
		}
	}
	c.note(func(m *pvesim.Machine) {
		m.NICs = slices.Clone(m.NICs)
		for i := range m.NICs {
			if m.NICs[i].Key == now.Key {
				m.NICs[i] = now
			}
		}
	})
	return nil
}

func (c *change) plugNIC(ctx context.Context, n pvesim.MachineNIC) error {
	dev, err := nicDevice(c.want, n)
	if err != nil {
		return err
	}
	port, end, err := c.backend.lan.plug(segmentOf(n), n.Lease)
	if err != nil {
		return err
	}
	defer end.Close()
	name := "cable-" + n.Key
	err = c.qmp.send(ctx, "getfd", map[string]any{"fdname": name}, nil, end)
	if err == nil {
		err = c.qmp.do(ctx, "netdev_add", object{"type": "dgram", "id": n.Key, "local": object{"type": "fd", "str": name}}, nil)
	}
	if err == nil {
		if err = c.qmp.do(ctx, "device_add", dev, nil); err != nil {
			_ = c.qmp.do(ctx, "netdev_del", map[string]any{"id": n.Key}, nil)
		}
	}
	if err == nil && down(n) {
		err = c.qmp.do(ctx, "set_link", map[string]any{"name": n.Key, "up": false}, nil)
	}
	if err != nil {
		port.unplug()
		return err
	}
	c.note(func(m *pvesim.Machine) {
		c.ports[n.Key] = port
		m.NICs = append(slices.Clone(m.NICs), n)
	})
	return nil
}
