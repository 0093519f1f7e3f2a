package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/spec/suggest"
)

// look reads the lists of the cluster.
func (c *cluster) look(ctx context.Context) (*model.Observed, error) {
	have, err := c.observer.Look(ctx)
	if err != nil {
		return nil, c.fail(err)
	}
	return c.lookCloser(ctx, have), nil
}

// lookNow reads the lists, and from each node whether its guests run right now: lists are
// some seconds late about that.
func (c *cluster) lookNow(ctx context.Context) (*model.Observed, error) {
	if err := c.observer.Refresh(ctx, 0); err != nil {
		return nil, c.fail(err)
	}
	if err := c.observer.Powers(ctx); err != nil {
		return nil, c.fail(err)
	}
	return c.lookCloser(ctx, c.observer.Snapshot()), nil
}

// lookCloser reads what the lists don't show of new guests: for some seconds they
// have neither name nor state there. Who can't be read stays as the lists have it.
func (c *cluster) lookCloser(ctx context.Context, have *model.Observed) *model.Observed {
	var vague []int
	for id, g := range have.Guests {
		n := have.Nodes[g.Node]
		if !g.Container && n != nil && n.Online && (nameless(g) || g.Status == model.StatusUnknown) {
			vague = append(vague, id)
		}
	}
	if len(vague) == 0 {
		return have
	}
	var readers errgroup.Group
	readers.SetLimit(reads)
	for _, id := range vague {
		readers.Go(func() error {
			_ = c.observer.Status(ctx, id)
			if nameless(have.Guests[id]) {
				_ = c.observer.Config(ctx, id)
			}
			return nil
		})
	}
	_ = readers.Wait()
	return c.observer.Snapshot()
}

// nameless tells whether the lists don't know a guest's name. Their figures may
// be of a moment at which it had none yet: then they show a makeshift.
func nameless(g *model.Guest) bool { return g.Name == "" || g.Name == fmt.Sprintf("VM %d", g.VMID) }

// bare is a name without "vm/" or its like.
func bare(name string) string {
	for _, prefix := range []string{"vm/", "vms/", "virtualmachine/", "clone/", "vmclone/"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return rest
		}
	}
	return name
}

// errNoGuest: there is no such machine (yet).
var errNoGuest = errors.New("there is no such machine")

// noGuestError is errNoGuest in words.
type noGuestError string

func (e noGuestError) Error() string        { return string(e) }
func (e noGuestError) Is(target error) bool { return target == errNoGuest }

// findGuest finds a machine by its name or VMID.
func findGuest(have *model.Observed, name string) (*model.Guest, error) {
	name = bare(name)
	if id, err := strconv.Atoi(name); err == nil {
		if g := have.Guests[id]; g != nil && !g.Container {
			return g, nil
		}
		return nil, advise(noGuestError(fmt.Sprintf("there is no VM %d", id)), "proxplane get vms shows which there are.")
	}
	named := slices.DeleteFunc(slices.Clone(have.Named(name)), func(g *model.Guest) bool { return g.Container })
	switch len(named) {
	case 1:
		return named[0], nil
	case 0:
		return nil, advise(noGuestError(fmt.Sprintf("no VM is named %q", name)), nearNames(have, name), "proxplane get vms shows which there are.")
	}
	var ids []string
	for _, g := range named {
		ids = append(ids, fmt.Sprintf("%d on %s", g.VMID, g.Node))
	}
	model.SortNames(ids)
	return nil, advise(fmt.Errorf("several VMs are named %q: %s", name, strings.Join(ids, ", ")), "Say which one by its VMID.")
}

// nearNames says which name was probably meant.
func nearNames(have *model.Observed, name string) string {
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

// findGuests finds several; one that is named twice is there once.
func findGuests(have *model.Observed, names []string) ([]*model.Guest, error) {
	var list []*model.Guest
	for _, name := range names {
		g, err := findGuest(have, name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, g) {
			list = append(list, g)
		}
	}
	return list, nil
}

// vm is the client's handle for a guest.
func (c *cluster) vm(g *model.Guest) pve.VM { return c.client.VM(g.Node, g.VMID) }

// at is where a guest is.
func at(g *model.Guest) model.Target { return model.Target{VMID: g.VMID, Node: g.Node} }

// reads is how many requests are made at once where something is read of many
// guests.
const reads = 8

// readAll reads something of each guest.
func (c *cluster) readAll(ctx context.Context, vmids []int, read func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(reads)
	for _, id := range vmids {
		g.Go(func() error { return read(ctx, id) })
	}
	return c.fail(g.Wait())
}

// sorted are guests by name, then by VMID.
func sorted(have *model.Observed, keep func(*model.Guest) bool) []*model.Guest {
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
