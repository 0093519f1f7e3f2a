package importer

import (
	"context"
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/spec/export"
	"github.com/proxplane/proxplane/status"
)

// adoptAll puts our marks on machines, if that is agreed to.
func (i *importing) adoptAll(ctx context.Context, u *ui.UI, c *target.Site, list []importedMachine) error {
	have := c.Observer.Snapshot()
	for _, m := range list {
		if err := unclaimed(have, m); err != nil {
			return err
		}
	}
	if err := i.agreed(ctx, u, list); err != nil {
		return err
	}
	if err := i.markAll(ctx, u, c, list); err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(m importedMachine) bool { return !m.given }) {
		fmt.Fprintln(u.Err, status.Wrap("Keep the manifests above. A manifest that gives such a machine another metadata.name would make a second one beside it.", u.Page(u.Err).Width, ""))
	}
	return nil
}

// agreed asks whether machines are to be adopted, those that can be.
func (i *importing) agreed(ctx context.Context, u *ui.UI, list []importedMachine) error {
	for _, m := range list {
		if m.doubt != nil {
			return m.doubt
		}
		if len(m.differences) > 0 && !m.given {
			return ui.Advise(fmt.Errorf("VM %d isn't adopted: its manifest would change it", m.guest.VMID), m.differences...)
		}
		if m.guest.Lock != "" {
			return fmt.Errorf("VM %d is locked (%s)", m.guest.VMID, m.guest.Lock)
		}
	}
	for _, m := range list {
		fmt.Fprintln(u.Err, i.becomes(m))
	}
	return u.Agree(ctx, i.yes, status.Count(len(list), "machine is adopted", "machines are adopted"))
}

// becomes says what adoption changes about a machine.
func (i *importing) becomes(m importedMachine) string {
	vm, name := fmt.Sprintf("VM %d on %s", m.guest.VMID, m.guest.Node), fmt.Sprintf("%s of set %s", status.Name(m.owner.Key), i.Set)
	switch was := m.guest.Config.Marker; {
	case was == nil:
		return fmt.Sprintf("%s becomes %s: a marker in its description, and two tags. Nothing else changes.", vm, name)
	case was.Owner.ID() == m.owner.ID():
		return fmt.Sprintf("%s is %s already: its marker and its tags are written anew. Nothing else changes.", vm, name)
	default:
		return fmt.Sprintf("%s is %s now, and becomes %s: its marker and its tags change, and nothing else.", vm, status.Name(was.Owner.Key), name)
	}
}

// markAll puts our marks on machines.
func (i *importing) markAll(ctx context.Context, u *ui.UI, c *target.Site, list []importedMachine) error {
	hand := c.Site.ByHand(ctx)
	for _, m := range list {
		if err := mark(ctx, hand, m); err != nil {
			return c.Fail(err)
		}
		fmt.Fprintf(u.Err, "✓ VM %d is %s now\n", m.guest.VMID, status.Name(m.owner.Key))
	}
	return nil
}

// mark puts our marks on one machine, if it is still as it was seen.
func mark(ctx context.Context, hand *engine.Hand, m importedMachine) error {
	for _, a := range export.Marks(m.object, m.want, m.guest) {
		if err := hand.Do(ctx, m.guest, a); err != nil {
			return fmt.Errorf("adopt VM %d: %w", m.guest.VMID, err)
		}
	}
	return nil
}
