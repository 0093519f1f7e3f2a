package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/proxplane/proxplane/act"
	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/site"
)

// provider is a Provider that is looked after: its part of a site, which
// serves all objects of the Provider. Each has a goroutine of its own, so that one that
// doesn't work keeps no other one back. Providers with the same connection share what
// works on their Proxmox, see package site.
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
}

// assignment is what a site is to do.
type assignment struct {
	connection *manifest.Connection // nil: nobody knows how to connect
	proxmox    string               // which Proxmox that is to be; empty: any
	desired    model.Desired
	versions   map[model.Key]int64
	version    int64 // of the Provider
}

// link is a connection to Proxmox with what works over it.
type link struct {
	connection manifest.Connection
	proxmox    string // see assignment
	site       *site.Site
}

// maxParallel is how many objects of a Provider are worked on at once: more than
// Proxmox can do, and few enough to be kept in mind.
const maxParallel = 1000

// startSite starts one when the former one of the same name has ended, if there is
// one.
func startSite(ctx context.Context, key model.Key, d *deps, former *provider) *provider {
	ctx, cancel := context.WithCancel(ctx)
	s := &provider{
		key: key, deps: d, log: d.log.With("provider", key.Namespace+"/"+key.Name), cancel: cancel,
		wake: make(chan struct{}, 1), ended: make(chan struct{}), making: map[model.Owner]bool{},
		party: d.budget.Join("Provider " + key.Namespace + "/" + key.Name),
	}
	go func() {
		defer close(s.ended)
		defer s.party.Leave()
		if former != nil {
			<-former.ended
		}
		s.run(ctx)
	}()
	return s
}

// assign says what the site is to do from now on.
func (s *provider) assign(a assignment) {
	s.mu.Lock()
	s.asked = a
	link := s.link
	s.mu.Unlock()
	s.party.Expect(a.desired)
	if link != nil {
		link.site.Want(a.desired, a.versions)
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
	s.deps.ledger.wake(s.key, false)
}

// touches reports whether something may still be changed in Proxmox for the object
// that is known by an identity.
func (s *provider) touches(identity string) bool {
	s.mu.Lock()
	link, closing := s.link, s.closing
	s.mu.Unlock()
	return closing != nil || link != nil && link.site.Touches(identity)
}

// retryPause is how long it takes until a connection is tried again.
const retryPause = 15 * time.Second

// run connects, and connects anew when that is asked for.
func (s *provider) run(ctx context.Context) {
	defer s.disconnect()
	for {
		var again <-chan time.Time
		if !s.connect(ctx) {
			again = time.After(retryPause)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-again:
		}
	}
}

// connect sees to it that the site is connected as is asked for; false: it isn't
// yet.
func (s *provider) connect(ctx context.Context) bool {
	s.mu.Lock()
	asked, link := s.asked, s.link
	s.mu.Unlock()
	switch {
	case asked.connection == nil:
		return true // whoever asks says what is wrong
	case link == nil:
		return s.tell(s.open(asked))
	case reflect.DeepEqual(link.connection, *asked.connection) && !link.another(asked.proxmox):
		return s.tell(nil)
	}
	next := *asked.connection
	if err := s.probe(ctx, next); errors.Is(err, context.Canceled) {
		return true
	} else if err != nil {
		return s.tell(fmt.Errorf("what is asked for now doesn't work, so the former connection goes on: %s", act.Judge(err).Text))
	}
	same := link.connection
	same.Credentials = next.Credentials
	if reflect.DeepEqual(same, next) && !link.another(asked.proxmox) {
		if ok, err := s.relogin(link, next); ok || err != nil {
			return s.tell(err)
		}
	}
	s.disconnect()
	return s.tell(s.open(asked))
}

// another reports whether the link is for another Proxmox than is asked for.
func (l *link) another(proxmox string) bool {
	is := l.site.Identity()
	if proxmox == "" {
		return l.proxmox != "" && is == "" // any will do, and this one was refused, or may be
	}
	return proxmox != l.proxmox && proxmox != is
}

// probe tries a connection that is to take the place of another one.
func (s *provider) probe(ctx context.Context, next manifest.Connection) error {
	client, err := pve.New(s.config(next))
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.Version(ctx)
	return err
}

// config is a connection for a client.
func (s *provider) config(c manifest.Connection) pve.Config {
	cfg := c.Config()
	cfg.RoundTripper = s.deps.proxmox
	return cfg
}

// relogin goes on with other credentials, which work; false: other Providers go on with those
// of before.
func (s *provider) relogin(link *link, next manifest.Connection) (bool, error) {
	ok, err := link.site.Relogin(next.Credentials)
	if err != nil || !ok {
		return ok, err
	}
	s.mu.Lock()
	link.connection = next
	s.mu.Unlock()
	s.log.Info("new credentials are in use")
	return true, nil
}

// tell notes what is wrong with the connection, if anything.
func (s *provider) tell(err error) bool {
	text := ""
	if err != nil {
		text = err.Error()
	}
	s.mu.Lock()
	changed := s.problem != text
	s.problem = text
	s.mu.Unlock()
	if changed && err != nil {
		s.log.Warn("connect", "error", err)
	}
	s.deps.ledger.wake(s.key, false)
	return err == nil
}

// open connects and starts to work. Whether Proxmox can be reached shows later.
func (s *provider) open(asked assignment) error {
	cfg := site.Config{
		Proxmox: s.config(*asked.connection), SSH: asked.connection.SSH, Keys: asked.connection.Keys, Identify: true, Identity: asked.proxmox,
	}
	cfg.Proxmox.Logger = s.log
	cfg.Proxmox.Observe = s.deps.metrics.exchange(s.key)
	l := &link{connection: *asked.connection, proxmox: asked.proxmox}
	var err error
	l.site, err = s.deps.clusters.Open(cfg, site.Options{Options: engine.Options{
		Parallel: maxParallel,
		Events:   s.event,
		Changed:  func(o engine.Outcome) { s.deps.ledger.told(s.key, o) },
		Trouble:  s.troubled,
		Looked:   func() { s.looked(l) },
		Claim:    s.claim,
		Party:    s.party,
	}})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.link = l
	asked = s.asked
	s.mu.Unlock()
	l.site.Want(asked.desired, asked.versions)
	return nil
}

// disconnect ends what works over the link, if there is one.
func (s *provider) disconnect() {
	s.mu.Lock()
	l := s.link
	s.link, s.closing, s.machines, s.trouble = nil, l, nil, nil
	s.mu.Unlock()
	if l == nil {
		return
	}
	l.site.Close()
	s.mu.Lock()
	s.closing = nil
	s.mu.Unlock()
	s.deps.ledger.forget(s.key)
}

// troubled notes that Proxmox as a whole can't be used, or that it can again.
func (s *provider) troubled(w *plan.Wait, _ time.Time) {
	s.mu.Lock()
	if w != nil && w.Reason == model.WaitOther && s.link != nil {
		w = &plan.Wait{Reason: w.Reason, Text: w.Text + s.whichProxmox(s.link.site.Observer().Refused())}
	}
	s.trouble = w
	if w == nil {
		s.version = "" // there may be another one by now
	}
	s.mu.Unlock()
	if w != nil {
		s.deps.ledger.doubt(s.key, *w)
		s.log.Warn("trouble with Proxmox", "reason", w.Reason, "error", w.Text)
	} else {
		s.log.Info("Proxmox answers")
	}
	s.deps.ledger.wakeAll(s.key)
	s.deps.ledger.wake(s.key, false)
}

// whichProxmox says what to do about a Provider that leads to another Proxmox than before.
func (s *provider) whichProxmox(is string) string {
	return fmt.Sprintf("; put the endpoint back; or, if its machines are there by now, or are to be made there anew, kubectl annotate --overwrite -n %s provider %s %s=%s",
		s.key.Namespace, s.key.Name, api.Proxmox, is)
}

// looked notes what was seen.
func (s *provider) looked(l *link) {
	machines := map[string]int{}
	l.site.Observer().View(func(have *model.Observed) {
		for _, g := range have.Guests {
			if _, _, ours := model.ParseStateTag(g.Tags); ours && !g.Template {
				machines[string(g.Status)]++
			}
		}
	})
	s.mu.Lock()
	ask := s.version == ""
	s.machines = machines
	s.mu.Unlock()
	if ask {
		go s.askVersion(l)
	}
	s.deps.ledger.wake(s.key, false)
}

func (s *provider) askVersion(l *link) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	v, err := l.site.Client().Version(ctx)
	if err != nil {
		return // the session tells what is wrong
	}
	s.mu.Lock()
	s.version = v.Version
	s.mu.Unlock()
	s.deps.ledger.wake(s.key, false)
}
