package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/proxplane/proxplane/model"
)

// checkVIP finds out whether the VIP is free and where the machines are, as far as that can be seen.
func (w *Work) checkVIP(ctx context.Context, f *File, nodes []string) error {
	const field = "provider.vip"
	vip, err := netip.ParseAddr(f.Provider.VIP)
	if err != nil {
		return err
	}
	if err := w.readGuests(ctx); err != nil {
		return err
	}
	running, err := w.withAgents(ctx)
	if err != nil {
		return err
	}
	w.Site.Observer().AskAddresses(ctx, running)
	var holder string
	if err := w.Site.View(ctx, func(have *model.Observed) {
		for _, g := range have.Guests {
			for _, h := range g.Holdings() {
				if h.Address == vip {
					holder = fmt.Sprintf("VM %d (%s)", g.VMID, g.Name)
				}
			}
		}
	}); err != nil {
		return err
	}
	if holder == "" {
		if holder, err = w.otherVIP(ctx, f); err != nil {
			return err
		}
	}
	if cluster, is := strings.CutPrefix(holder, "cluster "); is {
		return &Error{Field: field, Text: fmt.Sprintf("%s is the VIP of cluster %s; give a free address", vip, cluster)}
	}
	if holder != "" {
		return &Error{Field: field, Text: fmt.Sprintf("%s is the address of %s; give a free one", vip, holder)}
	}
	if err := w.checkBridge(ctx, f, vip, nodes); err != nil {
		return err
	}
	if at := answers(ctx, vip); at != "" {
		return &Error{Field: field, Text: fmt.Sprintf("%s is in use: something answers at %s; give a free address", vip, at)}
	}
	return nil
}

// withAgents are the guests that run and have an agent. Lists are late about those that were started just now.
func (w *Work) withAgents(ctx context.Context) (running []*model.Guest, err error) {
	var doubted []int
	look := func(have *model.Observed) {
		running, doubted = nil, nil
		for id, g := range have.Guests {
			switch {
			case g.Config == nil || !model.AgentOn(g.Config.Options):
			case g.Status == model.StatusUnknown:
				doubted = append(doubted, id)
			default:
				running = append(running, g)
			}
		}
	}
	if err := w.Site.View(ctx, look); err != nil {
		return nil, err
	}
	if len(doubted) > 0 {
		if _, err := power(ctx, w.Site, doubted); err != nil {
			return nil, err
		}
		err = w.Site.View(ctx, look)
	}
	return running, err
}

// checkBridge compares the VIP with the addresses of Proxmox' nodes, and with the network that the bridge has an address
// of, unless the file says that the machines have another one.
func (w *Work) checkBridge(ctx context.Context, f *File, vip netip.Addr, nodes []string) error {
	if members, err := w.Site.Client().Cluster().Status(ctx); err == nil { // who may not look finds out later
		for _, m := range members {
			if at, err := netip.ParseAddr(m.IP); err == nil && at == vip {
				return &Error{Field: "provider.vip", Text: fmt.Sprintf("%s is the address of node %s; give a free one", vip, m.Name)}
			}
		}
	}
	own := f.Provider.VLANTag != 0 || f.Provider.Network.Prefix != "" || len(f.Nodes.ControlPlane.Addresses) > 0
	for _, n := range nodes {
		list, err := w.Site.Client().Node(n).Network(ctx, "any_bridge")
		if err != nil {
			continue
		}
		for _, i := range list {
			for _, text := range []string{i.CIDR, i.CIDR6} {
				p, err := netip.ParsePrefix(text)
				switch {
				case err != nil:
				case p.Addr() == vip:
					return &Error{Field: "provider.vip", Text: fmt.Sprintf("%s is the address of node %s; give a free one", vip, n)}
				case own || i.Name != f.Provider.Bridge || p.Addr().Is4() != vip.Is4():
				case p.Contains(vip) && reserved(p.Masked(), vip):
					return &Error{Field: "provider.vip", Text: fmt.Sprintf("%s is no address for machines in %s; give another one", vip, p.Masked())}
				case p.Contains(vip) && i.Gateway == vip.String():
					return &Error{Field: "provider.vip", Text: fmt.Sprintf("%s is the gateway of node %s; give a free address", vip, n)}
				case !p.Contains(vip):
					return &Error{Field: "provider.vip", Text: fmt.Sprintf("%s is outside of %s, the network of %s on %s; if the machines get addresses of another network, say it in provider.network.prefix", vip, p.Masked(), i.Name, n)}
				}
			}
		}
	}
	return nil
}

// answers finds something that answers at an address: a server that speaks TLS, or a machine that
// refuses the connection. It is asked only if this computer is in the same network: elsewhere,
// routers and proxies answer for addresses that nobody has.
func answers(ctx context.Context, vip netip.Addr) (at string) {
	const patience = time.Second
	if !near(vip) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var all sync.WaitGroup
	var mu sync.Mutex
	for _, port := range []int{apiPort, distributions["rke2"].join} {
		all.Go(func() {
			to := net.JoinHostPort(vip.String(), strconv.Itoa(port))
			d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // nothing is sent
			conn, err := d.DialContext(ctx, "tcp", to)
			if err == nil {
				conn.Close()
			}
			if err == nil || errors.Is(err, syscall.ECONNREFUSED) {
				mu.Lock()
				at = to
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return at
}

// near reports whether this computer is in the network of an address.
func near(vip netip.Addr) bool {
	list, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(list, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Contains(vip)
	})
}

// otherVIP finds another cluster of this Proxmox that has the VIP; empty: none has.
func (w *Work) otherVIP(ctx context.Context, f *File) (string, error) {
	names, err := Names(ctx, w.Site)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		c, err := Find(ctx, w.Site, w.In, name)
		switch {
		case errors.Is(err, ErrNoCluster):
		case err != nil:
			return "", err
		case name != f.Name && c.Record.File.Provider.VIP == f.Provider.VIP:
			return "cluster " + name, nil
		}
	}
	return "", nil
}

// readGuests reads the configs of all guests: they say which addresses are taken.
func (w *Work) readGuests(ctx context.Context) error {
	var ids []int
	if err := w.Site.View(ctx, func(have *model.Observed) {
		for id, g := range have.Guests {
			if g.Config == nil && !g.Template && !g.Container {
				ids = append(ids, id)
			}
		}
	}); err != nil {
		return err
	}
	errs := make([]error, len(ids))
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() { _, errs[i] = w.Site.Observer().Known(ctx, id) })
	}
	all.Wait()
	return errors.Join(errs...)
}
