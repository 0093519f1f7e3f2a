package inspect

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/spec"
)

// A machine that isn't listed may only be invisible: Proxmox lists what the credentials
// may see. Whether a VMID is taken everybody may ask.

// provedGone reports whether a machine that isn't listed is gone. An error says that
// nobody can know.
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
