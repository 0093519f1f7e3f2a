package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// target finds the node that has a guest.
func (o *Observer) target(vmid int) (model.Target, bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	g := o.have.Guests[vmid]
	if g == nil {
		return model.Target{}, false
	}
	return model.Target{VMID: vmid, Node: g.Node}, true
}

// read asks about one guest, on the node that has it. A guest that isn't there
// any more, or is elsewhere, is looked for once.
func (o *Observer) read(ctx context.Context, vmid int, what string, ask func(pve.VM) error) error {
	t, ok := o.target(vmid)
	if !ok {
		return nil
	}
	err := ask(o.client.VM(t.Node, vmid))
	if !errors.Is(err, pve.ErrNotFound) {
		return wrap(err, what, t)
	}
	if err := o.Refresh(ctx, 0); err != nil {
		return err
	}
	t, ok = o.target(vmid)
	if !ok {
		return nil // gone, and the list says so
	}
	if err = ask(o.client.VM(t.Node, vmid)); errors.Is(err, pve.ErrNotFound) {
		// Gone between the list and the question. Lists to come know better.
		o.Gone(vmid)
		return nil
	}
	return wrap(err, what, t)
}

func wrap(err error, what string, t model.Target) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read %s of VM %s: %w", what, t, err)
}

// Config reads a guest's config. One request returns the present and the pending values,
// with the digest.
func (o *Observer) Config(ctx context.Context, vmid int) error {
	if g := o.containerOf(vmid); g != nil {
		return o.container(ctx, g)
	}
	return o.read(ctx, vmid, "the config", func(vm pve.VM) error {
		at := time.Now()
		settings, err := vm.Pending(ctx)
		if err != nil {
			return err
		}
		got := readingOf(settings)
		o.judge(got.config, vmid)
		o.judge(got.config.Running, vmid)
		o.change(vmid, func(r *record) {
			if r.changed.After(at) {
				return // what we got may be older than the change
			}
			o.doubtSeed(r.config, got.config)
			if r.config != nil && r.config.Digest != got.config.Digest {
				r.snapshots = nil // they are in the same file
			}
			r.config, r.configAt = got.config, at
			r.name, r.lock, r.template = got.name, got.lock, got.template
		})
		return nil
	})
}

// judge decides whether the marker of a config that was read under a VMID proves its owner.
func (o *Observer) judge(c *model.Config, vmid int) {
	if c == nil {
		return
	}
	if c.Marker != nil && !c.Marker.Of(vmid) {
		c.Marker = nil // somebody has copied it with the guest that it was made for
	}
	c.Signed = o.keys.Verify(c.Marker)
}

// CheckGone checks whether a destroyed guest is gone from its node.
func (o *Observer) CheckGone(ctx context.Context, vmid int) error {
	t, ok := o.target(vmid)
	if !ok {
		return nil
	}
	o.Changed(vmid) // whatever is left of it, it isn't as it was
	o.forgetRights(vmid)
	_, err := o.client.VM(t.Node, vmid).Pending(ctx)
	switch {
	case errors.Is(err, pve.ErrNotFound):
		o.Gone(vmid)
		return nil
	case errors.Is(err, pve.ErrForbidden):
		// Rights to a guest, its own and its pool's, go with it, and are asked
		// for before it is looked for.
		return o.Refresh(ctx, 0)
	}
	return wrap(err, "the config", t)
}

// readStatus reads a guest's present power state and its HA state.
func (o *Observer) readStatus(ctx context.Context, vmid int) error {
	return o.read(ctx, vmid, "the status", func(vm pve.VM) error {
		at := time.Now()
		s, err := vm.Status(ctx)
		if err != nil {
			return err
		}
		o.change(vmid, func(r *record) {
			r.haState, r.haAt = "", at
			if s.HA.Managed {
				r.haState = cmp.Or(s.HA.State, queued)
			}
			r.takeStatus(s, at)
		})
		return nil
	})
}

// Sure reports whether a guest's power state is known from a newer source than the list,
// which may be late.
func (o *Observer) Sure(vmid int) bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	r := o.records[vmid]
	return r != nil && r.sure()
}

// Touched reports whether lists since a time have shown that somebody may have changed a guest:
// it is gone or on another node, has another name, was started or stopped, or a task of others
// has changed it.
func (o *Observer) Touched(vmid int, since time.Time) bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	r := o.records[vmid]
	return r == nil || r.touched.After(since)
}

// Proved reports whether a guest's config, with its proof of ownership, was read within a
// duration.
func (o *Observer) Proved(vmid int, within time.Duration) bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	r := o.records[vmid]
	return r == nil || r.config != nil && time.Since(r.configAt) <= within
}

// Outdated reports whether a guest's config or power state was last read before these
// times. It is false for a node that is offline.
func (o *Observer) Outdated(vmid int, configs, powers time.Time) (config, power bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	r := o.records[vmid]
	if r == nil || r.listed.Container || o.have.Nodes[r.listed.Node] == nil || !o.have.Nodes[r.listed.Node].Online {
		return false, false
	}
	return r.config == nil || r.configAt.Before(configs), !r.listed.Template && r.statusAt.Before(powers)
}

// takeStatus takes over what a guest's status says that was asked for at a
// time.
func (r *record) takeStatus(s pve.VMStatus, at time.Time) {
	was, now := r.guest().Status, statusOf(s.Status, s.QMPStatus)
	if was == model.StatusUnknown && r.power != "" {
		was = r.power // there were doubts, but that is what was certain before
	}
	r.status, r.statusAt, r.power, r.unseen = now, at, now, false
	r.figures = figures{known: true, name: s.Name, cpus: int(s.CPUs), memory: s.MaxMemory, disk: s.MaxDisk}
	if r.restarted(now, s.Uptime, at) || now != was {
		r.forgetAgent()
		r.started = time.Time{}
	}
	const slack = 10 * time.Second // Proxmox counts whole seconds, and clones take a while
	r.stray = s.Uptime > 0 && !r.born.IsZero() && at.Add(-time.Duration(s.Uptime)*time.Second).Before(r.born.Add(-slack))
	if s.Uptime > 0 && r.started.IsZero() {
		r.started = at.Add(-time.Duration(s.Uptime) * time.Second)
	}
	if r.config != nil && (r.lock != s.Lock || now != was && len(r.config.Pending) > 0) {
		r.forgetConfig()
	}
}

// Snapshots reads a guest's snapshots.
func (o *Observer) Snapshots(ctx context.Context, vmid int) error {
	return o.read(ctx, vmid, "the snapshots", func(vm pve.VM) error {
		at := time.Now()
		list, _, err := vm.Snapshots(ctx)
		if err != nil {
			return err
		}
		infos := []model.SnapshotInfo{}
		for _, s := range list {
			infos = append(infos, model.SnapshotInfo{
				Name: s.Name, Parent: s.Parent, Description: s.Description, Memory: s.VMState, Time: s.Time.Unix(),
			})
		}
		o.change(vmid, func(r *record) {
			if !r.changed.After(at) {
				r.snapshots = infos
			}
		})
		return nil
	})
}

// HA reads the HA resources, groups and rules.
func (o *Observer) HA(ctx context.Context) error {
	list, err := o.client.HA().Resources(ctx)
	if err != nil {
		return fmt.Errorf("list what is under HA: %w", err)
	}
	all := map[string]map[string]string{}
	for _, r := range list {
		all[r.ID] = haOf(r)
	}
	rules, limits, err := o.haRules(ctx)
	if err != nil {
		return err
	}
	groups := map[string]bool{}
	for name := range limits {
		groups[name] = true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.have.HA, o.have.Rules, o.have.HAGroups, o.have.HALimits = all, rules, groups, limits
	return nil
}

func haOf(r pve.HAResource) map[string]string {
	m := map[string]string{"state": r.State}
	if r.Group != "" {
		m["group"] = r.Group
	}
	if r.MaxRestart != nil {
		m["max_restart"] = strconv.Itoa(*r.MaxRestart)
	}
	if r.MaxRelocate != nil {
		m["max_relocate"] = strconv.Itoa(*r.MaxRelocate)
	}
	return m
}
