package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/spec"
	"github.com/proxplane/proxplane/status"
)

// A machine that isn't listed may only be invisible: Proxmox lists what the credentials
// may see. Whether a VMID is taken everybody may ask.

// provedGone reports whether a machine that isn't listed is gone. The error is that this
// can't be known.
func (w *awaiting) provedGone(ctx context.Context, c *target.Site, name string) (bool, string, error) {
	ids := w.vmidsOf(name)
	for _, id := range ids {
		switch err := c.Client.Cluster().CheckID(ctx, id); {
		case errors.Is(err, pve.ErrExists):
			return false, "", ui.Advise(
				fmt.Errorf("whether %s is gone isn't known: VMID %d is taken by a machine that isn't visible to %s", target.Bare(name), id, ui.Who(c.Connection.Credentials)),
				fmt.Sprintf("Grant VM.Audit on /vms/%d, or use credentials that have it.", id))
		case err != nil:
			return false, "", c.Fail(fmt.Errorf("ask whether VMID %d is taken: %w", id, err))
		}
	}
	if _, err := strconv.Atoi(target.Bare(name)); err == nil || w.seen[name] != 0 {
		return true, "gone", nil
	}
	rights, err := c.Client.Access().Permissions(ctx, "", "/vms")
	switch {
	case err != nil:
		return false, "", c.Fail(err)
	case !rights["/vms"]["VM.Audit"]: // on those below it
		return false, "", ui.Advise(
			fmt.Errorf("whether %s is gone isn't known: %s sees only some machines, and none of that name", target.Bare(name), ui.Who(c.Connection.Credentials)),
			"Name it by its VMID, give its manifest with -f, or grant VM.Audit on /vms.")
	}
	return true, "gone", nil
}

// wantedGone reports whether the machine of an object of the manifests is gone, as its plan says it: none proves to be the
// object's, whoever has its VMID. An error says that nobody can know.
func (w *awaiting) wantedGone(ctx context.Context, c *target.Site, o plan.Object) (bool, string, error) {
	unknown := func(wait plan.Wait) error {
		return fmt.Errorf("whether %s is gone isn't known: %s", o.Owner.Name, status.CLI.Wait(wait))
	}
	if o.Wait != nil && (o.Wait.Reason == model.WaitUnseen || o.Wait.Do.Do.Doubts()) {
		return false, "", unknown(*o.Wait)
	}
	want := c.Desired
	want.VMs = slices.Clone(want.VMs)
	fixed := 0
	for i, v := range want.VMs {
		if v.Owner == o.Owner {
			want.VMs[i].Deleted, fixed = true, v.VMID
		}
	}
	p, err := c.Site.Replan(ctx, want)
	if err != nil {
		return false, "", c.Fail(err)
	}
	at := slices.IndexFunc(p.Objects, func(one plan.Object) bool { return one.Owner == o.Owner })
	have := c.Observer.Snapshot()
	switch left := p.Objects[at]; {
	case left.Gone:
		return true, "gone" + takenBy(have.Guests[cmp.Or(fixed, w.seen[o.Owner.Name])], o.Owner.Set), nil
	case have.Guests[left.VMID] != nil:
		w.seen[o.Owner.Name] = left.VMID
		return stillThere(have.Guests[left.VMID])
	case left.Wait != nil:
		return false, unknown(*left.Wait).Error(), nil
	}
	return false, "not all that matters was read yet", nil
}

// takenBy says who has the VMID of a machine that is gone.
func takenBy(g *model.Guest, set string) string {
	switch {
	case g == nil:
		return ""
	case g.Marker() == nil:
		return fmt.Sprintf("; VMID %d is taken by %q on %s, which isn't proxplane's", g.VMID, g.Name, g.Node)
	case g.Marker().Owner.Set != set:
		return fmt.Sprintf("; VMID %d is taken by %q on %s, which is %s of the set %s", g.VMID, g.Name, g.Node, g.Marker().Owner.Key, g.Marker().Owner.Set)
	}
	return fmt.Sprintf("; VMID %d is taken by %q on %s, which is %s", g.VMID, g.Name, g.Node, g.Marker().Owner.Key)
}

// vmidsOf are the VMIDs that a machine has, or would have got from proxplane by its name.
func (w *awaiting) vmidsOf(name string) []int {
	if id, err := strconv.Atoi(target.Bare(name)); err == nil {
		return []int{id}
	}
	if id := w.seen[name]; id != 0 {
		return []int{id}
	}
	owner := model.Owner{Door: manifest.Door, Set: w.Set, Key: model.Key{Kind: "VirtualMachine", Name: target.Bare(name)}}
	for id := range owner.Candidates(spec.DefaultRange) {
		return []int{id}
	}
	return nil
}
