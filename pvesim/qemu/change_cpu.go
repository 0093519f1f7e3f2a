//go:build linux

package qemu

import (
	"context"
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/pvesim"
)

// hotCPU is a place for a CPU, as QEMU lists them.
type hotCPU struct {
	Type  string         `json:"type"`
	Props map[string]int `json:"props"`
	Path  string         `json:"qom-path"` // "": none is plugged there
}

// cpus plugs CPUs until there are as many as wanted, or takes the last ones
// away.
func (c *change) cpus(ctx context.Context) error {
	for c.machine.CPUs != c.want.CPUs {
		var places []hotCPU
		if err := c.qmp.do(ctx, "query-hotpluggable-cpus", nil, &places); err != nil {
			return err
		}
		slices.SortFunc(places, func(a, b hotCPU) int {
			return a.Props["socket-id"]*c.want.Cores + a.Props["core-id"] - b.Props["socket-id"]*c.want.Cores - b.Props["core-id"]
		})
		step := 1
		if c.machine.CPUs < c.want.CPUs {
			free := slices.IndexFunc(places, func(p hotCPU) bool { return p.Path == "" })
			if free < 0 {
				return fmt.Errorf("the machine has places for %d CPUs", len(places))
			}
			if err := c.qmp.do(ctx, "device_add", cpuDevice(c.want, free), nil); err != nil {
				return err
			}
		} else {
			step = -1
			last := places[c.machine.CPUs-1]
			if err := c.unplug(ctx, last.Path); err != nil {
				return err
			}
		}
		c.note(func(m *pvesim.Machine) { m.CPUs += step })
	}
	return nil
}

// memory plugs memory modules, or takes the last ones away.
func (c *change) memory(ctx context.Context) error {
	for i := len(c.machine.Modules); i < len(c.want.Modules); i++ {
		mib := c.want.Modules[i]
		if err := c.qmp.do(ctx, "object-add", moduleBackend(i, mib), nil); err != nil {
			return err
		}
		if err := c.qmp.do(ctx, "device_add", moduleDevice(i), nil); err != nil {
			return err
		}
		c.note(func(m *pvesim.Machine) { m.Modules = append(slices.Clone(m.Modules), mib) })
	}
	for i := len(c.machine.Modules) - 1; i >= len(c.want.Modules); i-- {
		if err := c.unplug(ctx, fmt.Sprintf("dimm%d", i)); err != nil {
			return err
		}
		if err := c.qmp.do(ctx, "object-del", map[string]any{"id": fmt.Sprintf("mem-dimm%d", i)}, nil); err != nil {
			return err
		}
		c.note(func(m *pvesim.Machine) { m.Modules = m.Modules[:i] })
	}
	return nil
}
