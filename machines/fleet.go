package machines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/machines/providerspec"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/site"
)

// fleet are the Proxmox clusters of all Machines, and how the machines are there. It wakes Machines
// when something has changed.
type fleet struct {
	options Options
	direct  client.Client
	log     *slog.Logger

	feed   feed
	logins sync.Mutex // held while sites are opened and closed; taken before mu

	mu       sync.Mutex
	berths   map[string]*berth // by the source of their login
	outcomes map[model.Owner]site.Outcome
	lost     map[model.Owner]bool
	going    map[model.Owner]bool // that are being removed
}

// feed wakes Machines.
type feed struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// berth is a Proxmox cluster with the login of some Machines.
type berth struct {
	site     *site.Site
	login    providerspec.Login
	machines map[model.Owner]model.Owner // whose templates they are made from
	trouble  *plan.Wait
	since    time.Time
}

func newFleet(o Options, direct client.Client, log *slog.Logger) *fleet {
	return &fleet{options: o, direct: direct, log: log, berths: map[string]*berth{}, outcomes: map[model.Owner]site.Outcome{}, lost: map[model.Owner]bool{}, going: map[model.Owner]bool{}}
}

// Start is called by the controller.
func (f *feed) Start(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = q
	return nil
}

func (f *feed) wake(o model.Owner) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.queue != nil && o.Kind == Kind {
		f.queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.Namespace, Name: o.Name}})
	}
}

// closing has the manager close the sites at the end.
type closing struct{ *fleet }

// Start is called by the manager.
func (c closing) Start(ctx context.Context) error {
	<-ctx.Done()
	c.logins.Lock()
	defer c.logins.Unlock()
	for _, b := range c.list() {
		b.site.Close()
	}
	return nil
}

// at is the berth of a login, which is opened if it isn't yet. The error says that new secrets don't work; the
// berth goes on with the former ones then.
func (f *fleet) at(ctx context.Context, login providerspec.Login) (*berth, error) {
	f.logins.Lock()
	defer f.logins.Unlock()
	f.mu.Lock()
	b := f.berths[login.Source]
	f.mu.Unlock()
	if b == nil {
		b = &berth{machines: map[model.Owner]model.Owner{}}
		if err := f.open(b, login); err != nil {
			return nil, err
		}
		f.mu.Lock()
		f.berths[login.Source] = b
		f.mu.Unlock()
		return b, nil
	}
	if reflect.DeepEqual(b.login.Proxmox.Credentials, login.Proxmox.Credentials) && reflect.DeepEqual(b.login.SSH, login.SSH) {
		return b, nil
	}
	if err := f.probe(ctx, login); err != nil {
		return b, fmt.Errorf("the token that is given now doesn't work, so the former one goes on: %s", act.Judge(err).Text)
	}
	if ok, err := b.site.Relogin(login.Proxmox.Credentials); err != nil {
		return b, err
	} else if ok && reflect.DeepEqual(b.login.SSH, login.SSH) {
		b.login = login
		return b, nil
	}
	b.site.Close() // machines are put into the next one when they are looked at again
	next := &berth{machines: map[model.Owner]model.Owner{}}
	err := f.open(next, login)
	f.mu.Lock()
	defer f.mu.Unlock()
	for o := range b.machines {
		f.feed.wake(o)
	}
	if err != nil {
		delete(f.berths, login.Source)
		return nil, err
	}
	f.berths[login.Source] = next
	return next, nil
}

func (f *fleet) list() []*berth {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.berths))
}

// open connects. Whether Proxmox can be reached shows later.
func (f *fleet) open(b *berth, login providerspec.Login) error {
	cfg := f.config(login)
	s, err := f.options.Sites.Open(cfg, site.Options{Door: Door, Set: f.options.Set, Options: engine.Options{
		Changed: f.changed,
		Trouble: func(w *plan.Wait, since time.Time) { f.troubled(b, w, since) },
		Claim:   f.claim,
	}})
	if err != nil {
		return err
	}
	b.site, b.login = s, login
	return nil
}

func (f *fleet) config(login providerspec.Login) site.Config {
	cfg := site.Config{Proxmox: login.Proxmox, SSH: login.SSH, Proxy: login.Proxy, Identify: true}
	cfg.Proxmox.RoundTripper, cfg.Proxmox.Logger = f.options.Proxmox, f.log
	return cfg
}

// probe tries new secrets.
func (f *fleet) probe(ctx context.Context, login providerspec.Login) error {
	c, err := pve.New(f.config(login).Proxmox)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Version(ctx)
	return err
}

// changed notes how a machine is.
func (f *fleet) changed(o site.Outcome) {
	if o.Owner.Kind != Kind {
		return
	}
	f.mu.Lock()
	f.outcomes[o.Owner] = o
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

// outcome is how a machine is, and what is wrong with its cluster as a whole.
func (f *fleet) outcome(b *berth, o model.Owner) (out site.Outcome, known bool, trouble *plan.Wait) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out, known = f.outcomes[o]
	return out, known, b.trouble
}

// put has a machine looked after.
func (f *fleet) put(b *berth, vm model.VM, image *model.Image) error {
	f.mu.Lock()
	b.machines[vm.Owner] = image.Owner
	if o, known := f.outcomes[vm.Owner]; vm.Deleted && !f.going[vm.Owner] {
		f.going[vm.Owner] = true
		if known && o.State != model.StateGone {
			delete(f.outcomes, vm.Owner) // it is about what was wanted before
		}
	}
	f.mu.Unlock()
	return errors.Join(b.site.PutImage(image.Owner, *image), b.site.Put(vm.Owner, vm))
}

// forget drops a machine that is gone. The copies of its template go with the last one that is made from it.
func (f *fleet) forget(ctx context.Context, o model.Owner) {
	f.mu.Lock()
	delete(f.outcomes, o)
	delete(f.lost, o)
	delete(f.going, o)
	f.mu.Unlock()
	for _, b := range f.list() {
		f.mu.Lock()
		image, ours := b.machines[o]
		delete(b.machines, o)
		used := slices.Contains(slices.Collect(maps.Values(b.machines)), image)
		f.mu.Unlock()
		if !ours {
			continue
		}
		b.site.Forget(o)
		if used {
			continue
		}
		if err := b.site.Remove(ctx, image); err != nil {
			f.log.Warn("remove the copies of a template", "template", image.Name, "error", err)
		}
	}
}

// of is the berth that a machine is in; nil: none.
func (f *fleet) of(o model.Owner) *berth {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.berths {
		if _, ok := b.machines[o]; ok {
			return b
		}
	}
	return nil
}

// errLost: a guest that was there is gone from Proxmox. It isn't made again.
var errLost = errors.New("the guest is gone from Proxmox, and isn't made again with the user-data of the former one")

// claim writes down which VMID a machine gets, before a guest is made under it.
func (f *fleet) claim(ctx context.Context, owner model.Owner, vmid int, _ string) error {
	if owner.Kind != Kind {
		return nil
	}
	var m clusterv1alpha1.Machine
	if err := f.direct.Get(ctx, types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}, &m); err != nil {
		return err
	}
	switch {
	case string(m.UID) != owner.UID:
		return fmt.Errorf("%s is another one by now", owner.Key)
	case recordOf(&m).Made:
		f.mu.Lock()
		f.lost[owner] = true
		f.mu.Unlock()
		f.feed.wake(owner)
		return errLost
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": m.UID}, "status": map[string]any{"providerStatus": map[string]any{"vmid": vmid}}})
	if err != nil {
		return err
	}
	return f.direct.Patch(ctx, &m, client.RawPatch(types.MergePatchType, patch))
}

// isLost reports whether a machine's guest is gone.
func (f *fleet) isLost(o model.Owner) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost[o]
}

// found notes that a machine may be made again.
func (f *fleet) found(o model.Owner) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.lost, o)
}
