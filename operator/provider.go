package operator

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// provider manages a Provider: its part of a site, which serves all objects of the
// Provider. Each has a goroutine of its own, so that a broken one doesn't block others.
// Providers with the same connection share what works on their Proxmox, see package site.
type provider struct {
	key  model.Key
	deps *deps
	log  *slog.Logger
	// party counts its machines together with those of other Providers.
	party *engine.Party

	cancel context.CancelFunc
	wake   chan struct{}
	ended  chan struct{}

	mu       sync.Mutex
	asked    assignment // what it is to do
	link     *link      // how it is connected; nil: not yet
	closing  *link      // the former connection, while calls over it are in flight
	problem  string     // with what is asked for; the link goes on as it is
	trouble  *plan.Wait // with Proxmox
	version  string     // of Proxmox
	machines map[string]int
	making   map[model.Owner]bool // machines that were begun and weren't ready yet
	claims   map[model.Owner]int  // VMIDs that were written down for machines
}

// assignment is what a provider is to do.
type assignment struct {
	connection *manifest.Connection // nil: there is no valid connection
	proxmox    string               // which Proxmox that is to be; empty: any
	desired    model.Desired
	versions   map[model.Key]int64
	version    int64 // of the Provider
}

// maxParallel is how many objects of a Provider are worked on at once: more than
// Proxmox can do, and few enough to be kept in mind.
const maxParallel = 1000

// startProvider starts a provider when the former one of the same name has ended, if there is
// one.
func startProvider(ctx context.Context, key model.Key, d *deps, former *provider) *provider {
	ctx, cancel := context.WithCancel(ctx)
	p := &provider{
		key: key, deps: d, log: d.log.With("provider", key.Namespace+"/"+key.Name), cancel: cancel,
		wake: make(chan struct{}, 1), ended: make(chan struct{}), making: map[model.Owner]bool{}, claims: map[model.Owner]int{},
		party: d.budget.Join("Provider " + key.Namespace + "/" + key.Name),
	}
	go func() {
		defer close(p.ended)
		defer p.party.Leave()
		if former != nil {
			<-former.ended
		}
		p.run(ctx)
	}()
	return p
}

// assign says what the provider is to do from now on.
func (p *provider) assign(a assignment) {
	p.mu.Lock()
	p.asked = a
	p.keepClaims()
	link := p.link
	p.mu.Unlock()
	p.party.Expect(a.desired)
	if link != nil {
		link.site.Want(a.desired, a.versions)
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
	p.deps.ledger.wake(p.key, false)
}

// touches reports whether something may still be changed in Proxmox for the object
// that is known by an identity.
func (p *provider) touches(identity string) bool {
	p.mu.Lock()
	link, closing := p.link, p.closing
	p.mu.Unlock()
	return closing != nil || link != nil && link.site.Touches(identity)
}

// retryPause is how long it takes until a connection is tried again.
const retryPause = 15 * time.Second

// run connects, and connects anew when that is asked for.
func (p *provider) run(ctx context.Context) {
	defer p.disconnect()
	for {
		var again <-chan time.Time
		if !p.connect(ctx) {
			again = time.After(retryPause)
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-again:
		}
	}
}

// tell records the error of the connection, if any.
func (p *provider) tell(err error) bool {
	text := ""
	if err != nil {
		text = err.Error()
	}
	p.mu.Lock()
	changed := p.problem != text
	p.problem = text
	p.mu.Unlock()
	if changed && err != nil {
		p.log.Warn("connect", "error", err)
	}
	p.deps.ledger.wake(p.key, false)
	return err == nil
}

// troubled notes that Proxmox as a whole can't be used, or that it can again.
func (p *provider) troubled(w *plan.Wait, _ time.Time) {
	p.mu.Lock()
	if w != nil && w.Reason == model.WaitOther && p.link != nil {
		w = &plan.Wait{Reason: w.Reason, Text: w.Text + p.whichProxmox(p.link.site.Observer().Refused())}
	}
	p.trouble = w
	if w == nil {
		p.version = "" // there may be another one by now
	}
	p.mu.Unlock()
	if w != nil {
		p.deps.ledger.doubt(p.key, *w)
		p.log.Warn("trouble with Proxmox", "reason", w.Reason, "error", w.Text)
	} else {
		p.deps.ledger.trust(p.key)
		p.log.Info("Proxmox answers")
	}
	p.deps.ledger.wakeAll(p.key)
	p.deps.ledger.wake(p.key, false)
}

// whichProxmox says what to do about a Provider that leads to another Proxmox than before.
func (p *provider) whichProxmox(is string) string {
	return fmt.Sprintf("; put the endpoint back; or, if its machines are there by now, or are to be made there anew, kubectl annotate --overwrite -n %s provider %s %s=%s",
		p.key.Namespace, p.key.Name, api.Proxmox, is)
}

// looked notes what was seen.
func (p *provider) looked(l *link) {
	machines := map[string]int{}
	l.site.Observer().View(func(have *model.Observed) {
		for _, g := range have.Guests {
			if _, _, ours := model.ParseStateTag(g.Tags); ours && !g.Template {
				machines[string(g.Status)]++
			}
		}
	})
	p.mu.Lock()
	ask := p.version == ""
	p.machines = machines
	p.mu.Unlock()
	if ask {
		go p.askVersion(l)
	}
	p.deps.ledger.wake(p.key, false)
}

func (p *provider) askVersion(l *link) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	v, err := l.site.Client().Version(ctx)
	if err != nil {
		return // the session tells what is wrong
	}
	p.mu.Lock()
	p.version = v.Version
	p.mu.Unlock()
	p.deps.ledger.wake(p.key, false)
}
