package operator

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/site"
)

// link is a connection to Proxmox with what works over it.
type link struct {
	connection manifest.Connection
	proxmox    string // see assignment
	site       *site.Site
}

// connect connects the provider with the connection that is asked for, and reports whether it
// is connected.
func (p *provider) connect(ctx context.Context) bool {
	p.mu.Lock()
	asked, link := p.asked, p.link
	p.mu.Unlock()
	switch {
	case asked.connection == nil:
		return true // whoever asks says what is wrong
	case link == nil:
		return p.tell(p.open(asked))
	case reflect.DeepEqual(link.connection, *asked.connection) && !link.another(asked.proxmox):
		return p.tell(nil)
	}
	next := *asked.connection
	if err := p.probe(ctx, next); errors.Is(err, context.Canceled) {
		return true
	} else if err != nil {
		return p.tell(fmt.Errorf("the new connection doesn't work, so the former one stays in use: %s", act.Judge(err).Text))
	}
	same := link.connection
	same.Credentials = next.Credentials
	if reflect.DeepEqual(same, next) && !link.another(asked.proxmox) {
		if ok, err := p.relogin(link, next); ok || err != nil {
			return p.tell(err)
		}
	}
	p.disconnect()
	return p.tell(p.open(asked))
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
func (p *provider) probe(ctx context.Context, next manifest.Connection) error {
	client, err := pve.New(p.config(next))
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.Version(ctx)
	return err
}

// config is a connection for a client.
func (p *provider) config(c manifest.Connection) pve.Config {
	cfg := c.Config()
	cfg.RoundTripper = p.deps.proxmox
	return cfg
}

// relogin goes on with other credentials, which work; false: other Providers go on with those
// of before.
func (p *provider) relogin(link *link, next manifest.Connection) (bool, error) {
	ok, err := link.site.Relogin(next.Credentials)
	if err != nil || !ok {
		return ok, err
	}
	p.mu.Lock()
	link.connection = next
	p.mu.Unlock()
	p.log.Info("new credentials are in use")
	return true, nil
}

// open connects and starts to work. Whether Proxmox can be reached shows later.
func (p *provider) open(asked assignment) error {
	cfg := site.Config{
		Proxmox: p.config(*asked.connection), Web: p.deps.web, SSH: asked.connection.SSH, Keys: asked.connection.Keys, Identify: true, Identity: asked.proxmox,
	}
	cfg.Proxmox.Logger = p.log
	cfg.Proxmox.Observe = p.deps.metrics.exchange(p.key)
	l := &link{connection: *asked.connection, proxmox: asked.proxmox}
	var err error
	l.site, err = p.deps.clusters.Open(cfg, site.Options{Options: engine.Options{
		Parallel: maxParallel,
		Events:   p.event,
		Changed:  func(o engine.Outcome) { p.deps.ledger.record(p.key, o) },
		Trouble:  p.troubled,
		Looked:   func() { p.looked(l) },
		Claim:    p.claim,
		Party:    p.party,
	}})
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.link = l
	asked = p.asked
	p.mu.Unlock()
	l.site.Want(asked.desired, asked.versions)
	return nil
}

// disconnect ends what works over the link, if there is one.
func (p *provider) disconnect() {
	p.mu.Lock()
	l := p.link
	p.link, p.closing, p.machines, p.trouble = nil, l, nil, nil
	p.mu.Unlock()
	if l == nil {
		return
	}
	l.site.Close()
	p.mu.Lock()
	p.closing = nil
	p.mu.Unlock()
	p.deps.ledger.forget(p.key)
}
