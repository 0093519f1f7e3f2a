package site

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/host/ssh"
	"github.com/proxplane/proxplane/imagefile"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/pve"
)

// Config is the connection to a Proxmox cluster.
type Config struct {
	// Proxmox is for the client. Callers share a client if its endpoints, credentials, TLS and
	// round tripper are equal; everything else is that of the first caller.
	Proxmox pve.Config
	SSH     *ssh.Hosts // login to nodes, for files without an API; nil: none
	Keys    model.Keys // keys for the proofs of ownership; none: they aren't signed

	// Proxy is the URL of the HTTP proxy to go through; empty: Proxmox.Proxy, or the environment's.
	Proxy string

	// Web is the transport of requests for images at URLs; nil: the network.
	Web http.RoundTripper

	// Identify reads the identity of the cluster, with one request. Clients of one cluster
	// then share a limit, whatever their credentials.
	Identify bool
	// Identity is the required identity of the cluster (see [Site.Identity]); empty: any. What one
	// caller requires holds for all that share a client with it.
	Identity string
	// Trusted says that the identity that servers report is trusted. Without it, only clients
	// with the same endpoints share a limit: a malicious server could use up the limit of
	// others.
	Trusted bool
}

// same reports whether two callers have the same connection. Which cluster they require isn't
// compared, see [cluster.suits].
func (c Config) same(o Config) bool {
	return slices.Equal(c.Proxmox.Endpoints, o.Proxmox.Endpoints) && reflect.DeepEqual(c.Proxmox.Credentials, o.Proxmox.Credentials) &&
		reflect.DeepEqual(c.Proxmox.TLS, o.Proxmox.TLS) && c.Proxmox.RoundTripper == o.Proxmox.RoundTripper && c.Web == o.Web &&
		reflect.DeepEqual(c.SSH, o.SSH) && reflect.DeepEqual(c.Keys, o.Keys) &&
		c.Proxy == o.Proxy && c.Identify == o.Identify && c.Trusted == o.Trusted
}

// Sites are the Proxmox clusters that a process manages. The zero value is ready to use;
// parts of a process that may connect to the same cluster should share one.
type Sites struct {
	mu    sync.Mutex
	open  []*cluster
	loads observe.Loads
}

// Open opens a site that isn't shared.
func Open(cfg Config, opts Options) (*Site, error) { return new(Sites).Open(cfg, opts) }

// Open opens a caller's part of a cluster. It sends no request yet. The caller must close
// the site.
func (s *Sites) Open(cfg Config, opts Options) (*Site, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.open {
		if !c.suits(cfg) {
			continue
		}
		if site := c.enter(cfg.Identity, opts); site != nil {
			return site, nil
		}
	}
	c, err := s.newCluster(cfg)
	if err != nil {
		return nil, err
	}
	s.open = append(s.open, c)
	return c.enter(cfg.Identity, opts), nil
}

// cluster is a Proxmox cluster with what works on it, for all of its callers.
type cluster struct {
	sites    *Sites
	client   *pve.Client
	observer *observe.Observer
	actor    *act.Actor
	engine   *engine.Engine
	slow     slowSums

	// Both are guarded by Sites.mu.
	cfg     Config
	callers map[*Site]string // with the identity that each requires

	mu      sync.Mutex
	session *engine.Session // nil: nobody wants anything
	end     context.CancelFunc
	joined  int                   // callers that the session is for
	owners  map[model.Owner]*Site // who has put what
}

// suits reports whether a caller with that connection can share the cluster. One that requires
// no identity shares with one that does: a Provider has the identity written down, and a second
// one for the same Proxmox, or another door, doesn't know it yet.
func (c *cluster) suits(cfg Config) bool {
	switch required, is := c.required(), c.observer.Identity(); {
	case !c.cfg.same(cfg):
		return false
	case cfg.Identity == required:
		return true
	case cfg.Identity == "":
		return c.observer.Refused() == "" // else the others are wrong about it, or this one is to say so itself
	default:
		return required == "" && (is == "" || is == cfg.Identity)
	}
}

// required returns the identity that callers require; empty: none does.
func (c *cluster) required() string {
	for _, identity := range c.callers {
		if identity != "" {
			return identity
		}
	}
	return ""
}

// enter adds a caller; nil: another cluster than it requires has answered by now. The caller holds Sites.mu.
func (c *cluster) enter(identity string, opts Options) *Site {
	if !c.observer.Require(cmp.Or(identity, c.required())) {
		return nil
	}
	s := newSite(c, opts)
	c.callers[s] = identity
	return s
}

func (s *Sites) newCluster(cfg Config) (*cluster, error) {
	if cfg.Proxy != "" {
		proxy, err := url.Parse(cfg.Proxy)
		if err != nil {
			return nil, fmt.Errorf("the URL of the proxy: %w", err)
		}
		cfg.Proxmox.Proxy = http.ProxyURL(proxy)
	}
	client, err := pve.New(cfg.Proxmox)
	if err != nil {
		return nil, err
	}
	web := imagefile.New(cfg.Web)
	c := &cluster{
		sites: s, cfg: cfg, callers: map[*Site]string{}, client: client, owners: map[model.Owner]*Site{},
		observer: observe.New(client).Verifying(cfg.Keys).Fetching(web), actor: act.New(client).OverSSH(cfg.SSH).Signing(cfg.Keys).Fetching(web),
	}
	if cfg.Identify {
		among := strings.Join(client.Endpoints(), " ")
		if cfg.Trusted {
			among = ""
		}
		c.observer.Identifying(cfg.Identity).Sharing(&s.loads, among)
	}
	c.engine = engine.New(c.observer, c.actor)
	return c, nil
}

// join gives a caller a session of its own, within the one of the cluster.
func (c *cluster) join(opts engine.Options) *engine.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		ctx, end := context.WithCancel(context.Background())
		c.session, c.end = c.engine.Serve(ctx, engine.Options{Parallel: opts.Parallel}), end
	}
	c.joined++
	return c.session.Join(opts)
}

// leave ends the part of one caller, and everything with the last one. It returns when no
// call of that caller is in flight.
func (c *cluster) leave(s *Site, session *engine.Session) {
	if session != nil {
		c.part(session)
	}
	c.sites.mu.Lock()
	delete(c.callers, s)
	c.observer.Require(c.required())
	last := len(c.callers) == 0
	if last {
		c.sites.open = slices.DeleteFunc(c.sites.open, func(o *cluster) bool { return o == c })
	}
	c.sites.mu.Unlock()
	if last {
		c.client.Close()
	}
}

// part ends a caller's part of the session, and the session with the last part.
func (c *cluster) part(session *engine.Session) {
	c.mu.Lock()
	c.joined--
	all, end := c.session, c.end
	if c.joined == 0 {
		c.session = nil
	}
	last := c.joined == 0
	c.mu.Unlock()
	if !last {
		<-session.Leave()
		return
	}
	end()
	<-all.Done()
}

// relogin replaces the credentials for the only caller; false: there are other callers.
func (c *cluster) relogin(credentials pve.Credentials) (bool, error) {
	c.sites.mu.Lock()
	defer c.sites.mu.Unlock()
	next := c.cfg
	next.Proxmox.Credentials = credentials
	taken := slices.ContainsFunc(c.sites.open, func(o *cluster) bool { return o != c && o.cfg.same(next) })
	if len(c.callers) > 1 || taken {
		return false, nil
	}
	if err := c.client.SetCredentials(credentials); err != nil {
		return false, err
	}
	c.cfg = next
	return true, nil
}

// claim records that a site wants an owner's object; false: another site wants it.
func (c *cluster) claim(owner model.Owner, by *Site) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.owners[owner]; other != nil && other != by {
		return false
	}
	c.owners[owner] = by
	return true
}

// disown ends a site's claims to some owners' objects.
func (c *cluster) disown(by *Site, owners ...model.Owner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, owner := range owners {
		if c.owners[owner] == by {
			delete(c.owners, owner)
		}
	}
}
