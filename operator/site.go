package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/proxplane/proxplane/act"
	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pve"
)

// site is a Provider that is looked after: a client, an observer and a session of
// the engine, which serve all objects of the Provider. Each has a goroutine of its
// own, so that one that doesn't work keeps no other one back.
type site struct {
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
	client     *pve.Client
	observer   *observe.Observer
	session    *engine.Session
	cancel     context.CancelFunc
}

// maxParallel is how many objects of a Provider are worked on at once: more than
// Proxmox can do, and few enough to be kept in mind.
const maxParallel = 1000

// startSite starts one when the former one of the same name has ended, if there is
// one.
func startSite(ctx context.Context, key model.Key, d *deps, former *site) *site {
	ctx, cancel := context.WithCancel(ctx)
	s := &site{
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
func (s *site) assign(a assignment) {
	s.mu.Lock()
	s.asked = a
	link := s.link
	s.mu.Unlock()
	s.party.Expect(a.desired)
	if link != nil {
		link.session.Want(a.desired, a.versions)
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
	s.deps.ledger.wake(s.key, false)
}

// touches reports whether something may still be changed in Proxmox for the object
// that is known by an identity.
func (s *site) touches(identity string) bool {
	s.mu.Lock()
	link, closing := s.link, s.closing
	s.mu.Unlock()
	return closing != nil || link != nil && link.session.Touches(identity)
}

// retryPause is how long it takes until a connection is tried again.
const retryPause = 15 * time.Second

// run connects, and connects anew when that is asked for.
func (s *site) run(ctx context.Context) {
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
func (s *site) connect(ctx context.Context) bool {
	s.mu.Lock()
	asked, link := s.asked, s.link
	s.mu.Unlock()
	switch {
	case asked.connection == nil:
		return true // whoever asks says what is wrong
	case link == nil:
		return s.tell(s.open(ctx, asked))
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
		return s.tell(s.relogin(link, next))
	}
	s.disconnect()
	return s.tell(s.open(ctx, asked))
}

// another reports whether the link is for another Proxmox than is asked for.
func (l *link) another(proxmox string) bool {
	is := l.observer.Identity()
	if proxmox == "" {
		return l.proxmox != "" && is == "" // any will do, and this one was refused, or may be
	}
	return proxmox != l.proxmox && proxmox != is
}

// probe tries a connection that is to take the place of another one.
func (s *site) probe(ctx context.Context, next manifest.Connection) error {
	client, err := pve.New(s.config(next))
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.Version(ctx)
	return err
}

// config is a connection for a client.
func (s *site) config(c manifest.Connection) pve.Config {
	cfg := c.Config()
	cfg.RoundTripper = s.deps.proxmox
	return cfg
}

// relogin goes on with other credentials, which work.
func (s *site) relogin(link *link, next manifest.Connection) error {
	if err := link.client.SetCredentials(next.Credentials); err != nil {
		return err
	}
	s.mu.Lock()
	link.connection = next
	s.mu.Unlock()
	s.log.Info("new credentials are in use")
	link.session.Look()
	return nil
}

// tell notes what is wrong with the connection, if anything.
func (s *site) tell(err error) bool {
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
func (s *site) open(ctx context.Context, asked assignment) error {
	cfg := s.config(*asked.connection)
	cfg.Logger = s.log
	cfg.Observe = s.deps.metrics.exchange(s.key)
	client, err := pve.New(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &link{connection: *asked.connection, client: client, cancel: cancel, proxmox: asked.proxmox,
		observer: observe.New(client).Verifying(asked.connection.Keys).Identifying(asked.proxmox).Sharing(&s.deps.loads, strings.Join(client.Endpoints(), " "))}
	l.session = engine.New(l.observer, act.New(client).OverSSH(asked.connection.SSH).Signing(asked.connection.Keys)).Serve(ctx, engine.Options{
		Parallel: maxParallel,
		Events:   s.event,
		Changed:  func(o engine.Outcome) { s.deps.ledger.told(s.key, o) },
		Trouble:  s.troubled,
		Looked:   func() { s.looked(l) },
		Claim:    s.claim,
		Party:    s.party,
	})
	s.mu.Lock()
	s.link = l
	asked = s.asked
	s.mu.Unlock()
	l.session.Want(asked.desired, asked.versions)
	return nil
}

// disconnect ends what works over the link, if there is one.
func (s *site) disconnect() {
	s.mu.Lock()
	l := s.link
	s.link, s.closing, s.machines, s.trouble = nil, l, nil, nil
	s.mu.Unlock()
	if l == nil {
		return
	}
	l.cancel()
	<-l.session.Done()
	l.client.Close()
	s.mu.Lock()
	s.closing = nil
	s.mu.Unlock()
	s.deps.ledger.forget(s.key)
}

// troubled notes that Proxmox as a whole can't be used, or that it can again.
func (s *site) troubled(w *plan.Wait, _ time.Time) {
	s.mu.Lock()
	if w != nil && w.Reason == engine.WaitOther && s.link != nil {
		w = &plan.Wait{Reason: w.Reason, Text: w.Text + s.whichProxmox(s.link.observer.Refused())}
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
func (s *site) whichProxmox(is string) string {
	return fmt.Sprintf("; put the endpoint back; or, if its machines are there by now, or are to be made there anew, kubectl annotate --overwrite -n %s provider %s %s=%s",
		s.key.Namespace, s.key.Name, api.Proxmox, is)
}

// looked notes what was seen.
func (s *site) looked(l *link) {
	machines := map[string]int{}
	l.observer.View(func(have *model.Observed) {
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

func (s *site) askVersion(l *link) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	v, err := l.client.Version(ctx)
	if err != nil {
		return // the session tells what is wrong
	}
	s.mu.Lock()
	s.version = v.Version
	s.mu.Unlock()
	s.deps.ledger.wake(s.key, false)
}
