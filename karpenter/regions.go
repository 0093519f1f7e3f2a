package karpenter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/spec"
)

// Region is a Proxmox cluster that nodes can be made on.
type Region struct {
	Name    string
	Cluster spec.Cluster
	Site    *site.Site

	connection manifest.Connection
	identity   string // see [site.Config.Identity]
}

// declared is a region as somebody has declared it.
type declared struct {
	name       string
	by         string // who declares it, for messages
	connection manifest.Connection
	cluster    spec.Cluster
	identity   string
	wrong      string // why it can't be used; empty: it can
}

// Regions are the Proxmox clusters that nodes can be made on.
type Regions struct {
	sites   *site.Sites
	set     string
	proxmox http.RoundTripper
	log     *slog.Logger
	// changed gets how templates are, as it changes.
	changed func(model.Key)
	// observe gets the requests to a region; nil: nobody does.
	observe func(region string) func(pve.Exchange)

	mu    sync.Mutex
	all   map[string]*Region
	wrong map[string]string // regions that can't be used, and why
	read  bool              // all that is declared was read once

	further []declared // by the Secret with the original's configuration, when it was read last
	unread  error      // why it can't be read now; nil: it can
}

func newRegions(sites *site.Sites, set string, proxmox http.RoundTripper, log *slog.Logger) *Regions {
	return &Regions{sites: sites, set: set, proxmox: proxmox, log: log, changed: func(model.Key) {}, all: map[string]*Region{}, wrong: map[string]string{}}
}

// errUnread says that it isn't known yet which regions there are.
var errUnread = errors.New("the regions weren't read yet")

// isUnread reports whether it isn't known yet which regions there are: nothing is decided about objects until then.
func (r *Regions) isUnread() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.read
}

// Get finds a region. The error says what to do.
func (r *Regions) Get(name string) (*Region, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch one, why := r.all[name], r.wrong[name]; {
	case one != nil:
		return one, nil
	case why != "":
		return nil, fmt.Errorf("region %s can't be used: %s", name, why)
	case !r.read:
		return nil, errUnread
	}
	return nil, fmt.Errorf("there is no region %s: create a Provider of that name, or give one the label %s=%s%s", name, labelRegion, name, r.known())
}

// fromSecret notes what the Secret with the original's configuration declares, or why it can't be read, and returns what it declared last.
func (r *Regions) fromSecret(list []declared, why error) []declared {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unread = why; why == nil {
		r.further = list
	}
	return r.further
}

// known lists the regions, behind a sentence. The caller holds the lock.
func (r *Regions) known() string {
	text := "; no region is known"
	if names := model.NamesOf(r.all); len(names) > 0 {
		text = "; known are " + strings.Join(names, ", ")
	}
	if r.unread != nil {
		text += "; " + r.unread.Error()
	}
	return text
}

// All returns the usable regions, by name, and an error if one isn't usable, or none is known yet.
func (r *Regions) All() ([]*Region, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.read {
		return nil, errUnread
	}
	var list []*Region
	for _, name := range model.NamesOf(r.all) {
		list = append(list, r.all[name])
	}
	var errs []error
	for _, name := range model.NamesOf(r.wrong) {
		errs = append(errs, fmt.Errorf("region %s can't be used: %s", name, r.wrong[name]))
	}
	if r.unread != nil {
		errs = append(errs, r.unread)
	}
	return list, errors.Join(errs...)
}

// troubled reports whether there is a region that can't be used.
func (r *Regions) troubled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.wrong) > 0 || r.unread != nil
}

// await waits until the regions were read, for a moment: Karpenter's controllers begin when ours do.
func (r *Regions) await(ctx context.Context) {
	const tries, pause = 50, 100 * time.Millisecond
	for range tries {
		if _, err := r.Names(); err == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// Names returns the names of all declared regions, usable or not.
func (r *Regions) Names() ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.read {
		return nil, errUnread
	}
	names := append(model.NamesOf(r.all), model.NamesOf(r.wrong)...)
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Meant returns the regions of an object: the one that it names, or all.
func (r *Regions) Meant(name string) ([]*Region, error) {
	if name == "" {
		list, err := r.All()
		if errors.Is(err, errUnread) {
			return nil, err
		}
		if len(list) == 0 && err == nil {
			err = errors.New("there is no region: create a Provider for your Proxmox cluster")
		}
		if len(list) > 0 {
			err = nil // one that can't be used keeps no other one back
		}
		return list, err
	}
	one, err := r.Get(name)
	if err != nil {
		return nil, err
	}
	return []*Region{one}, nil
}

// update takes over which regions are declared. A region whose connection is as before goes on.
func (r *Regions) update(list []declared) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read = true
	wrong, by := map[string]string{}, map[string]declared{}
	for _, w := range list {
		if first, twice := by[w.name]; twice {
			wrong[w.name] = fmt.Sprintf("%s and %s both stand for it; give one of them another name by the label %s", first.by, w.by, labelRegion)
			continue
		}
		by[w.name] = w
	}
	for name, w := range by {
		if w.wrong != "" && wrong[name] == "" {
			wrong[name] = w.wrong
		}
		was := r.all[name]
		switch {
		case wrong[name] != "":
			continue // the former connection, if there is one, goes on
		case was != nil && reflect.DeepEqual(was.connection, w.connection) && was.identity == w.identity:
			next := *was
			next.Cluster = w.cluster
			r.all[name] = &next
		default:
			if err := r.open(w, was); err != nil {
				wrong[name] = err.Error()
			}
		}
	}
	for name, was := range r.all {
		if _, there := by[name]; !there {
			delete(r.all, name)
			go was.Site.Close()
		}
	}
	for name := range r.all {
		delete(wrong, name)
	}
	r.wrong = wrong
}

// open connects a region anew. The caller holds the lock.
func (r *Regions) open(w declared, was *Region) error {
	if was != nil {
		same := was.connection
		same.Credentials = w.connection.Credentials
		if reflect.DeepEqual(same, w.connection) && was.identity == w.identity {
			if ok, err := was.Site.Relogin(w.connection.Credentials); ok && err == nil {
				next := *was
				next.connection, next.Cluster = w.connection, w.cluster
				r.all[w.name] = &next
				return nil
			}
		}
	}
	cfg := site.Config{Proxmox: w.connection.Config(), SSH: w.connection.SSH, Keys: w.connection.Keys, Identify: true, Identity: w.identity}
	cfg.Proxmox.RoundTripper, cfg.Proxmox.Logger = r.proxmox, r.log.With("region", w.name)
	if r.observe != nil {
		cfg.Proxmox.Observe = r.observe(w.name)
	}
	opened, err := r.sites.Open(cfg, site.Options{Door: Door, Set: r.set, Range: w.cluster.Range, Options: engine.Options{
		Parallel: maxParallel, Verify: verifyNodes,
		Changed: func(o engine.Outcome) { r.changed(o.Owner.Key) },
		Trouble: func(why *plan.Wait, _ time.Time) {
			if why != nil {
				r.log.Warn("trouble with Proxmox", "region", w.name, "reason", why.Reason, "error", why.Text)
			}
		},
	}})
	if err != nil {
		return err
	}
	if was != nil {
		go was.Site.Close()
	}
	r.all[w.name] = &Region{Name: w.name, Cluster: w.cluster, Site: opened, connection: w.connection, identity: w.identity}
	return nil
}

// verifyNodes is within which time the configs of all nodes are read again: nodes come and go, and nobody is to change them by hand, so
// that a thousand of them cost no more requests than a few.
const verifyNodes = 24 * time.Hour

// maxParallel is how many machines of a region are worked on at once.
const maxParallel = 1000

// close ends all regions. Machines stay as they are.
func (r *Regions) close() {
	r.mu.Lock()
	all := r.all
	r.all, r.read = map[string]*Region{}, false
	r.mu.Unlock()
	for _, one := range all {
		one.Site.Close()
	}
}

// zones are the Proxmox nodes that a region may use, by name.
func (r *Region) zones(ctx context.Context) ([]string, error) {
	var names []string
	err := r.Site.View(ctx, func(have *model.Observed) {
		for _, name := range model.NamesOf(have.Nodes) {
			if len(r.Cluster.Nodes) == 0 || slices.Contains(r.Cluster.Nodes, name) {
				names = append(names, name)
			}
		}
	})
	return names, err
}
