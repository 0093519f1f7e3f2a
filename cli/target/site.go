package target

import (
	"context"
	"crypto/x509"
	"errors"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/cli/login"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/host/ssh"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/site"
)

// Site is a Proxmox that a command works on.
type Site struct {
	manifest.Wanted
	Site     *site.Site
	Client   *pve.Client       // the site's
	Observer *observe.Observer // the same

	Namespace string // of the objects that are wanted, in Kubernetes
}

// Connect makes a site of a Proxmox. Nothing is asked yet.
func Connect(u *ui.UI, w manifest.Wanted) (*Site, error) {
	return ConnectWith(u, w, new(site.Sites), func(*site.Config) {})
}

// ConnectWith makes one among other sites, with settings of its own.
func ConnectWith(u *ui.UI, w manifest.Wanted, sites *site.Sites, set func(*site.Config)) (*Site, error) {
	hosts, err := Hosts(u, w.Connection.SSH)
	if err != nil {
		return nil, err
	}
	cfg := site.Config{Proxmox: w.Connection.Config(), SSH: hosts, Keys: w.Connection.Keys}
	cfg.Proxmox.Logger = u.Log.Logger
	set(&cfg)
	s, err := sites.Open(cfg, site.Options{})
	if ca := cfg.Proxmox.TLS.CA; err != nil && len(ca) > 0 && !x509.NewCertPool().AppendCertsFromPEM(ca) {
		return nil, ui.Advise(err, "It comes from --ca-file, PVE_CA_BUNDLE, or ca.crt in the Secret.")
	}
	if err != nil {
		return nil, err
	}
	return &Site{Wanted: w, Site: s, Client: s.Client(), Observer: s.Observer()}, nil
}

// Hosts returns how to log in to nodes, and where their keys are remembered.
func Hosts(u *ui.UI, given *ssh.Hosts) (*ssh.Hosts, error) {
	if given == nil {
		return nil, nil
	}
	h := *given
	var err error
	h.KnownHostsFile, err = (&login.SSH{}).KnownHostsFile(u)
	return &h, err
}

// Fail adds to an error how the cluster was to be reached, for the sake of the
// person who reads it.
func (c *Site) Fail(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	failed := &ui.SiteError{Conn: c.Connection, Err: err}
	if l := act.Judge(err).Lacks; l != nil {
		failed.Remedy = c.Remedy(*l)
	}
	return failed
}

// Site connects to the one Proxmox that a command is about. Of several Providers it is
// the one that the machines of these names belong to.
func (t *Target) Site(u *ui.UI, names ...string) (*Site, error) {
	w, err := t.One(u, names...)
	if err != nil {
		return nil, err
	}
	return t.connect(u, w, new(site.Sites), func(*site.Config) {})
}

func (t *Target) connect(u *ui.UI, w manifest.Wanted, sites *site.Sites, set func(*site.Config)) (*Site, error) {
	c, err := ConnectWith(u, w, sites, set)
	if err == nil && t.Objects != nil {
		c.Namespace = t.Objects.Name
	}
	return c, err
}

// Sites connects to each Proxmox of the manifests.
func (t *Target) Sites(u *ui.UI) ([]*Site, error) {
	all, err := t.Wanted(u)
	if err != nil {
		return nil, err
	}
	var list []*Site
	var sites site.Sites
	several := func(cfg *site.Config) { cfg.Identify, cfg.Trusted = len(all) > 1, true } // they may lead to one Proxmox
	for _, w := range all {
		c, err := t.connect(u, w, &sites, several)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}
