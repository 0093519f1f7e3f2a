package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/spec/suggest"
)

// Look reads the lists of the cluster.
func (c *Site) Look(ctx context.Context) (*model.Observed, error) {
	have, err := c.Observer.Look(ctx)
	if err != nil {
		return nil, c.Fail(err)
	}
	return c.lookCloser(ctx, have), nil
}

// LookNow reads the lists, and from each node whether its guests run right now: lists are
// some seconds late about that.
func (c *Site) LookNow(ctx context.Context) (*model.Observed, error) {
	if err := c.Observer.Refresh(ctx, 0); err != nil {
		return nil, c.Fail(err)
	}
	if err := c.Observer.Powers(ctx); err != nil {
		return nil, c.Fail(err)
	}
	return c.lookCloser(ctx, c.Observer.Snapshot()), nil
}

// Silent says of which nodes' machines the power states are only those of the cluster's list, since the nodes didn't answer; empty: of
// none. Nodes that are offline aren't among them: the list itself says so.
func Silent(have *model.Observed) string {
	nodes := map[string]bool{}
	for _, g := range have.Guests {
		if n := have.Nodes[g.Node]; g.StalePower && !g.Template && !g.Container && n != nil && n.Online {
			nodes[g.Node] = true
		}
	}
	if len(nodes) == 0 {
		return ""
	}
	names := model.NamesOf(nodes)
	return fmt.Sprintf("no answer from %s: what is shown of machines there is what the cluster's list says, which may be old", ui.AndList(names))
}

// lookCloser reads what the lists don't show of new guests: for some seconds they
// have neither name nor state there. Who can't be read stays as the lists have it.
func (c *Site) lookCloser(ctx context.Context, have *model.Observed) *model.Observed {
	var vague []int
	for id, g := range have.Guests {
		n := have.Nodes[g.Node]
		if !g.Container && n != nil && n.Online && (Nameless(g) || g.Status == model.StatusUnknown) {
			vague = append(vague, id)
		}
	}
	if len(vague) == 0 {
		return have
	}
	var readers errgroup.Group
	readers.SetLimit(ReadsAtOnce)
	for _, id := range vague {
		readers.Go(func() error {
			_ = c.Observer.Status(ctx, id)
			if Nameless(have.Guests[id]) {
				_ = c.Observer.Config(ctx, id)
			}
			return nil
		})
	}
	_ = readers.Wait()
	return c.Observer.Snapshot()
}

// Nameless reports whether the lists don't know a guest's name. Their figures may
// be of a moment at which it had none yet: then they show a makeshift.
func Nameless(g *model.Guest) bool { return g.Name == "" || g.Name == fmt.Sprintf("VM %d", g.VMID) }

// Bare returns a name without a leading "vm/" or the like.
func Bare(name string) string {
	for _, prefix := range []string{"vm/", "vms/", "virtualmachine/", "clone/", "vmclone/"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return rest
		}
	}
	return name
}

// ErrNoGuest says that there is no such machine (yet).
var ErrNoGuest = errors.New("there is no such machine")

// noGuestError is errNoGuest in words.
type noGuestError string

func (e noGuestError) Error() string        { return string(e) }
func (e noGuestError) Is(target error) bool { return target == ErrNoGuest }

// whichThereAre says what a search was made in: Proxmox lists only what the credentials may see.
const whichThereAre = "proxplane get vms shows which there are, of those that these credentials may see (VM.Audit)."

// FindGuest finds a machine by its name or VMID.
func FindGuest(have *model.Observed, name string) (*model.Guest, error) {
	name = Bare(name)
	if id, err := strconv.Atoi(name); err == nil {
		if g := have.Guests[id]; g != nil && !g.Container {
			return g, nil
		}
		return nil, ui.Advise(noGuestError(fmt.Sprintf("there is no VM %d", id)), whichThereAre)
	}
	named := slices.DeleteFunc(slices.Clone(have.Named(name)), func(g *model.Guest) bool { return g.Container })
	switch len(named) {
	case 1:
		return named[0], nil
	case 0:
		return nil, ui.Advise(noGuestError(fmt.Sprintf("no VM is named %q", name)), NearNames(have, name), whichThereAre)
	}
	var ids []string
	for _, g := range named {
		ids = append(ids, fmt.Sprintf("%d on %s", g.VMID, g.Node))
	}
	model.SortNames(ids)
	return nil, ui.Advise(fmt.Errorf("several VMs are named %q: %s", name, strings.Join(ids, ", ")), "Say which one by its VMID.")
}

// Find finds a machine by its name or VMID in what was looked at. That a VMID isn't listed doesn't mean that it is free: a
// guest may not be visible to these credentials, or it is a container.
func (c *Site) Find(ctx context.Context, have *model.Observed, name string) (*model.Guest, error) {
	g, err := FindGuest(have, name)
	id, isID := strconv.Atoi(Bare(name))
	switch {
	case !errors.Is(err, ErrNoGuest) || isID != nil:
		return g, err
	case have.Guests[id] != nil:
		return nil, noGuestError(fmt.Sprintf("%d is the container %q: proxplane manages VMs only", id, have.Guests[id].Name))
	}
	switch taken := c.Client.Cluster().CheckID(ctx, id); {
	case errors.Is(taken, pve.ErrExists):
		return nil, ui.Advise(noGuestError(fmt.Sprintf("VM %d isn't visible to %s", id, ui.Who(c.Connection.Credentials))),
			fmt.Sprintf("Grant VM.Audit on /vms/%d, or use credentials that have it.", id))
	case taken != nil && !errors.Is(taken, pve.ErrInvalid):
		return nil, c.Fail(fmt.Errorf("ask whether VMID %d is taken: %w", id, taken))
	}
	return nil, err
}

// FindAll finds several, as [Site.Find] does; one that is named twice is there once.
func (c *Site) FindAll(ctx context.Context, have *model.Observed, names []string) ([]*model.Guest, error) {
	var list []*model.Guest
	for _, name := range names {
		g, err := c.Find(ctx, have, name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, g) {
			list = append(list, g)
		}
	}
	return list, nil
}

// NearNames says which name was probably meant.
func NearNames(have *model.Observed, name string) string {
	var names []string
	for _, g := range have.Guests {
		names = append(names, g.Name)
	}
	model.SortNames(names)
	if best, ok := suggest.Nearest(name, names); ok {
		return fmt.Sprintf("Did you mean %s?", best)
	}
	return ""
}

// VM returns the client's handle for a guest.
func (c *Site) VM(g *model.Guest) pve.VM { return c.Client.VM(g.Node, g.VMID) }

// At returns where a guest is.
func At(g *model.Guest) model.Target { return model.Target{VMID: g.VMID, Node: g.Node} }

// ReadsAtOnce is how many requests are made at once where something is read of many
// guests.
const ReadsAtOnce = 8

// ReadAll reads something of each guest.
func (c *Site) ReadAll(ctx context.Context, vmids []int, read func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(ReadsAtOnce)
	for _, id := range vmids {
		g.Go(func() error { return read(ctx, id) })
	}
	return c.Fail(g.Wait())
}

// Sorted returns guests by name, then by VMID.
func Sorted(have *model.Observed, keep func(*model.Guest) bool) []*model.Guest {
	var list []*model.Guest
	for _, g := range have.Guests {
		if keep(g) {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b *model.Guest) int {
		if n := model.CompareNames(a.Name, b.Name); n != 0 {
			return n
		}
		return a.VMID - b.VMID
	})
	return list
}
