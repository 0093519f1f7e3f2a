package cli

import (
	"context"
	"crypto/x509"
	"errors"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/host/ssh"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/site"
)

// cluster is a Proxmox that a command works on.
type cluster struct {
	manifest.Wanted
	site     *site.Site
	client   *pve.Client       // the site's
	observer *observe.Observer // the same

	namespace string // of the objects that are wanted, in Kubernetes
}

// connect makes a cluster. Nothing is asked yet.
func connect(u *ui, w manifest.Wanted) (*cluster, error) {
	return connectWith(u, w, new(site.Sites), func(*site.Config) {})
}

// connectWith does so among other clusters, with settings of its own.
func connectWith(u *ui, w manifest.Wanted, sites *site.Sites, set func(*site.Config)) (*cluster, error) {
	hosts, err := hosts(u, w.Connection.SSH)
	if err != nil {
		return nil, err
	}
	cfg := site.Config{Proxmox: w.Connection.Config(), SSH: hosts, Keys: w.Connection.Keys}
	cfg.Proxmox.Logger = u.log.logger
	set(&cfg)
	s, err := sites.Open(cfg, site.Options{})
	if ca := cfg.Proxmox.TLS.CA; err != nil && len(ca) > 0 && !x509.NewCertPool().AppendCertsFromPEM(ca) {
		return nil, advise(err, "It comes from --ca-file, PVE_CA_BUNDLE, or ca.crt in the Secret.")
	}
	if err != nil {
		return nil, err
	}
	return &cluster{Wanted: w, site: s, client: s.Client(), observer: s.Observer()}, nil
}

// hosts is how nodes are logged in to, with where their keys are remembered.
func hosts(u *ui, given *ssh.Hosts) (*ssh.Hosts, error) {
	if given == nil {
		return nil, nil
	}
	h := *given
	var err error
	h.KnownHostsFile, err = (&login{}).knownHostsFile(u)
	return &h, err
}

// fail adds to an error how the cluster was to be reached, for the sake of the
// person who reads it.
func (c *cluster) fail(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	failed := &clusterError{conn: c.Connection, err: err}
	if l := act.Judge(err).Lacks; l != nil {
		failed.remedy = c.remedy(*l)
	}
	return failed
}

// cluster connects to the one Proxmox that a command is about. Of several Providers it is
// the one that the machines of these names belong to.
func (t *target) cluster(u *ui, names ...string) (*cluster, error) {
	w, err := t.one(u, names...)
	if err != nil {
		return nil, err
	}
	return t.connect(u, w, new(site.Sites), func(*site.Config) {})
}

func (t *target) connect(u *ui, w manifest.Wanted, sites *site.Sites, set func(*site.Config)) (*cluster, error) {
	c, err := connectWith(u, w, sites, set)
	if err == nil && t.objects != nil {
		c.namespace = t.objects.name
	}
	return c, err
}

// clusters connects to each Proxmox of the manifests.
func (t *target) clusters(u *ui) ([]*cluster, error) {
	all, err := t.wanted(u)
	if err != nil {
		return nil, err
	}
	var list []*cluster
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
