package cli

import (
	"context"
	"crypto/x509"
	"errors"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/host/ssh"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/pve"
)

// cluster is a Proxmox that a command works on.
type cluster struct {
	manifest.Wanted
	client   *pve.Client
	observer *observe.Observer
	actor    *act.Actor
	engine   *engine.Engine

	namespace string // of the objects that are wanted, in Kubernetes
}

// connect makes a cluster. Nothing is asked yet.
func (u *ui) connect(w manifest.Wanted) (*cluster, error) {
	return u.connectWith(w, func(*pve.Config) {})
}

// connectWith does so with settings of its own for the client.
func (u *ui) connectWith(w manifest.Wanted, set func(*pve.Config)) (*cluster, error) {
	cfg := w.Connection.Config()
	cfg.Logger = u.log.logger
	set(&cfg)
	client, err := pve.New(cfg)
	if err != nil && len(cfg.TLS.CA) > 0 && !x509.NewCertPool().AppendCertsFromPEM(cfg.TLS.CA) {
		return nil, advise(err, "It comes from --ca-file, PVE_CA_BUNDLE, or ca.crt in the Secret.")
	}
	if err != nil {
		return nil, err
	}
	hosts, err := u.hosts(w.Connection.SSH)
	if err != nil {
		return nil, err
	}
	c := &cluster{Wanted: w, client: client, observer: observe.New(client).Verifying(w.Connection.Keys), actor: act.New(client).OverSSH(hosts).Signing(w.Connection.Keys)}
	c.engine = engine.New(c.observer, c.actor)
	return c, nil
}

// hosts is how nodes are logged in to, with where their keys are remembered.
func (u *ui) hosts(given *ssh.Hosts) (*ssh.Hosts, error) {
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
	return t.connect(u, w)
}

func (t *target) connect(u *ui, w manifest.Wanted) (*cluster, error) {
	c, err := u.connect(w)
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
	var loads observe.Loads
	for _, w := range all {
		c, err := t.connect(u, w)
		if err != nil {
			return nil, err
		}
		if len(all) > 1 {
			c.observer.Identifying("").Sharing(&loads, "") // several Providers may lead to one Proxmox
		}
		list = append(list, c)
	}
	return list, nil
}
