package machines

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/site"
)

// fleet are the Proxmox clusters of all Machines, and how the machines are there. It wakes Machines
// when something has changed.
type fleet struct {
	options Options
	cached  client.Reader
	direct  client.Client
	log     *slog.Logger

	feed   feed
	logins sync.Mutex // held while sites are opened and closed; taken before mu

	mu       sync.Mutex
	berths   map[string]*berth // by the source of their login
	outcomes map[model.Owner]outcome
	lost     map[model.Owner]bool
	going    map[model.Owner]bool // that are being removed
	written  map[model.Owner]written
	specs    map[model.Owner]string       // digests of what machines are made from, until that is written down
	changing map[model.Owner]time.Time    // since when machines that were up to date are changed
	up       map[model.Owner]time.Time    // since when guests are up whose Machines don't say so yet
	released map[model.Owner]bool         // that are gone and need no template any more
	removing map[model.Owner]site.Outcome // templates whose copies are removed
}

func newFleet(o Options, cached client.Reader, direct client.Client, log *slog.Logger) *fleet {
	return &fleet{options: o, cached: cached, direct: direct, log: log, berths: map[string]*berth{}, outcomes: map[model.Owner]outcome{}, lost: map[model.Owner]bool{}, going: map[model.Owner]bool{},
		written: map[model.Owner]written{}, specs: map[model.Owner]string{}, changing: map[model.Owner]time.Time{}, up: map[model.Owner]time.Time{}, released: map[model.Owner]bool{}, removing: map[model.Owner]site.Outcome{}}
}

// closing has the manager close the sites at the end, and those without machines earlier.
type closing struct{ *fleet }

// Start implements the manager's interface of runnables.
func (c closing) Start(ctx context.Context) error {
	each := time.NewTicker(time.Minute)
	defer each.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case now := <-each.C:
			c.closeEmpty(now)
		}
	}
	c.logins.Lock()
	defer c.logins.Unlock()
	for _, b := range c.list() {
		b.site.Close()
	}
	return nil
}

func (f *fleet) list() []*berth {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.berths))
}

// outcome is how a machine is in a cluster.
type outcome struct {
	site.Outcome
	in *berth
}

// changed notes how a machine is in a cluster, or a template whose copies are removed.
func (f *fleet) changed(b *berth, o site.Outcome) {
	if o.Owner.Kind != Kind {
		f.templateChanged(o)
		return
	}
	f.mu.Lock()
	f.outcomes[o.Owner] = outcome{o, b}
	f.mu.Unlock()
	f.feed.wake(o.Owner)
}

// troubled notes that a Proxmox cluster can't be used at all, or can again.
func (f *fleet) troubled(b *berth, w *plan.Wait, since time.Time) {
	f.mu.Lock()
	b.trouble, b.since = w, since
	var all []model.Owner
	for o := range b.machines {
		all = append(all, o)
	}
	f.mu.Unlock()
	if w != nil {
		f.log.Warn("trouble with Proxmox", "endpoints", b.login.Proxmox.Endpoints, "reason", w.Reason, "error", w.Text)
	}
	for _, o := range all {
		f.feed.wake(o)
	}
}

// outcome is how a machine is in a cluster, and what is wrong with that as a whole.
func (f *fleet) outcome(b *berth, o model.Owner) (out site.Outcome, known bool, trouble *plan.Wait) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if is, seen := f.outcomes[o]; seen && is.in == b {
		out, known = is.Outcome, true
	}
	return out, known, b.trouble
}

// addresses are those that Proxmox reports of a machine.
func (f *fleet) addresses(o model.Owner) (list []netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.outcomes[o].Addresses {
		list = append(list, p.Addr())
	}
	return list
}

// put has a machine looked after.
func (f *fleet) put(b *berth, vm model.VM, image *model.Image) error {
	f.mu.Lock()
	b.machines[vm.Owner] = image.Owner
	if !vm.Deleted {
		delete(f.released, vm.Owner)
		delete(f.removing, image.Owner)
	}
	if o, known := f.outcomes[vm.Owner]; vm.Deleted && !f.going[vm.Owner] {
		f.going[vm.Owner] = true
		if known && o.State != model.StateGone {
			delete(f.outcomes, vm.Owner) // it is about what was wanted before
		}
	}
	f.mu.Unlock()
	return errors.Join(b.site.PutImage(image.Owner, *image), b.site.Put(vm.Owner, vm))
}

// vanished drops a machine whose object is gone, or has been given to another controller, though we haven't let it go: somebody has removed its finalizers. What it has
// in Proxmox stays there.
func (f *fleet) vanished(ctx context.Context, name types.NamespacedName) {
	f.mu.Lock()
	var gone []model.Owner
	for _, b := range f.berths {
		for o := range b.machines {
			if o.Namespace == name.Namespace && o.Name == name.Name {
				gone = append(gone, o)
			}
		}
	}
	f.mu.Unlock()
	for _, o := range gone {
		f.log.Warn("a Machine was removed without us, or given to another controller: what it has in Proxmox stays there", "machine", o.Key)
		f.forget(ctx, o)
	}
}

// forget drops a machine that is gone, or is let go. The copies of its template go with the last one that is made from it.
func (f *fleet) forget(ctx context.Context, o model.Owner) {
	f.mu.Lock()
	delete(f.outcomes, o)
	delete(f.lost, o)
	delete(f.going, o)
	delete(f.written, o)
	delete(f.specs, o)
	delete(f.changing, o)
	delete(f.up, o)
	delete(f.released, o)
	f.mu.Unlock()
	for _, b := range f.list() {
		f.mu.Lock()
		image, ours := b.machines[o]
		delete(b.machines, o)
		used := slices.Contains(slices.Collect(maps.Values(b.machines)), image)
		_, removing := f.removing[image]
		if ours && !used {
			delete(f.removing, image)
		}
		f.mu.Unlock()
		if !ours {
			continue
		}
		b.site.Forget(o)
		if used || removing {
			continue
		}
		if err := b.site.Remove(ctx, image); err != nil {
			f.log.Warn("remove the copies of a template", "template", image.Name, "error", err)
		}
	}
}
