package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/proxplane/proxplane/imagefile"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// What people set up once and manifests name: bridges, mappings, rights, storages that were added
// just now. It is read when a plan asks for it, and kept for a while. What can't be read isn't
// known, which stops nobody: Proxmox decides then.

// factsAge is how long such facts are kept.
const factsAge = 5 * time.Minute

// forgetFacts drops facts that are too old for a list.
func (o *Observer) forgetFacts(at time.Time) {
	if at.Sub(o.factsAt) > factsAge {
		o.have.Bridges, o.have.Hosts, o.have.Mappings, o.have.Devices, o.have.Rights, o.have.Held, o.have.URLs, o.have.Firewall, o.have.FirewallOff, o.rooms = nil, nil, nil, nil, nil, nil, nil, nil, nil, nil
		o.factsAt = at
	}
}

// unknowable reports whether an error means that something can't be known, rather than that nothing
// works at all.
func unknowable(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !errors.Is(err, pve.ErrUnauthorized)
}

// keep adds a fact to a map that others may still read.
func keep[K comparable, V any](m map[K]V, key K, value V) map[K]V {
	out := maps.Clone(m)
	if out == nil {
		out = map[K]V{}
	}
	out[key] = value
	return out
}

// namesOf returns the names of what a list has; nil: it couldn't be read.
func namesOf[T any](list []T, err error, name func(T) string) map[string]bool {
	if err != nil {
		return nil
	}
	names := map[string]bool{}
	for _, item := range list {
		names[name(item)] = true
	}
	return names
}

// Bridges reads the bridges of a node.
func (o *Observer) Bridges(ctx context.Context, node string) error {
	list, err := o.client.Node(node).Network(ctx, "any_bridge")
	if err != nil && !unknowable(ctx, err) {
		return fmt.Errorf("list the bridges of %s: %w", node, err)
	}
	if errors.Is(err, pve.ErrNodeUnreachable) {
		o.nodeAway(node)
	}
	names := namesOf(list, err, func(i pve.Interface) string { return i.Name })
	o.mu.Lock()
	defer o.mu.Unlock()
	o.have.Bridges, o.have.Hosts = keep(o.have.Bridges, node, names), keep(o.have.Hosts, node, hostsOf(list))
	return nil
}

// hostsOf are what a node has on its bridges itself.
func hostsOf(list []pve.Interface) map[string]model.BridgeHost {
	const ethernet = 1500 // what an interface has that says no MTU
	hosts := map[string]model.BridgeHost{}
	for _, i := range list {
		if !i.Active {
			continue
		}
		hosts[i.Name] = model.BridgeHost{Address: i.CIDR, Address6: i.CIDR6, Gateway: i.Gateway, Gateway6: i.Gateway6, MTU: cmp.Or(i.MTU, ethernet)}
	}
	return hosts
}

// mapping is one of the resource mappings of a cluster.
type mapping struct {
	ID   string   `json:"id"`
	Map  []string `json:"map"` // "node=pve1,path=0000:01:00.0,…"
	Live bool     `json:"live-migration-capable"`
}

// devices returns the devices of the mapping.
func (m mapping) devices() model.Devices {
	d := model.Devices{On: map[string][]string{}, Live: m.Live}
	for _, entry := range m.Map {
		said := map[string]string{}
		for part := range strings.SplitSeq(entry, ",") {
			k, value, _ := strings.Cut(part, "=")
			said[k] = value
		}
		if node := said["node"]; node != "" {
			d.On[node] = append(d.On[node], cmp.Or(said["path"], said["id"]))
		}
	}
	return d
}

// Mappings reads the mappings of a kind of devices: pci or usb.
func (o *Observer) Mappings(ctx context.Context, kind string) error {
	var list []mapping
	err := o.client.Call(ctx, http.MethodGet, "/cluster/mapping/"+kind, nil, &list)
	if err != nil && !unknowable(ctx, err) {
		return fmt.Errorf("list the mappings of %s devices: %w", kind, err)
	}
	names := namesOf(list, err, func(m mapping) string { return m.ID })
	o.mu.Lock()
	defer o.mu.Unlock()
	o.have.Mappings = keep(o.have.Mappings, kind, names)
	for _, m := range list {
		if on := m.devices(); len(on.On) > 0 {
			o.have.Devices = keep(o.have.Devices, kind+"/"+m.ID, on)
		}
	}
	return nil
}

// URL asks a node whether it can fetch a file, or reads the file's beginning with this
// process; for key see [model.URLKey]. Without the privilege the answer is unknown.
func (o *Observer) URL(ctx context.Context, key string) error {
	node, url := model.ParseURLKey(key)
	named := model.Image{URL: url}.Address()
	if node == "" {
		said := o.fromHere(ctx, url)
		if ctx.Err() != nil {
			return fmt.Errorf("look at %s: %w", named, context.Cause(ctx))
		}
		o.urlSeen(key, said)
		return nil
	}
	meta, err := o.client.Node(node).URLMetadata(ctx, url, nil)
	if err != nil && !unknowable(ctx, err) {
		return fmt.Errorf("ask %s for %s: %w", node, named, err)
	}
	said := model.URLState{Size: meta.Size}
	switch text := serverSays(err); {
	case errors.Is(err, pve.ErrURL):
		said.Missing = text
	case errors.Is(err, pve.ErrDownload) && strings.HasPrefix(text, "500 Can't connect"):
		said.Unreachable = strings.TrimPrefix(text, "500 ")
	}
	o.urlSeen(key, said)
	return nil
}

func (o *Observer) urlSeen(key string, said model.URLState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.have.URLs = keep(o.have.URLs, key, said)
}

// Fetching sets the client for files at URLs.
func (o *Observer) Fetching(w *imagefile.Web) *Observer {
	o.web = w
	return o
}

// fromHere looks at the first bytes of a file.
func (o *Observer) fromHere(ctx context.Context, url string) model.URLState {
	saw, err := o.web.Look(ctx, imagefile.Source{URL: url, Packing: model.Packing(url)})
	said := model.URLState{Size: saw.Size, Format: saw.Format, Disk: saw.Disk, Elsewhere: saw.Elsewhere, Plain: saw.Plain}
	switch {
	case err == nil:
	case errors.Is(err, imagefile.ErrMissing):
		said.Missing = err.Error()
	case errors.Is(err, imagefile.ErrContent), errors.Is(err, imagefile.ErrRedirect):
		said.Wrong = err.Error()
	default:
		said.Unreachable = err.Error()
	}
	return said
}

// serverSays returns what the server of a URL answered, in Proxmox' words.
func serverSays(err error) string {
	var e *pve.Error
	if !errors.As(err, &e) {
		return ""
	}
	_, text, _ := strings.Cut(e.Text, "'")
	return strings.TrimSuffix(strings.TrimSpace(text), "'")
}

// Rights reads the privileges of these credentials on a path.
func (o *Observer) Rights(ctx context.Context, path string) error {
	p, err := o.client.Access().Permissions(ctx, "", path)
	if err != nil && !unknowable(ctx, err) {
		return fmt.Errorf("read the privileges on %s: %w", path, err)
	}
	var held map[string]bool
	if err == nil {
		held = map[string]bool{}
	}
	for priv := range p[path] {
		held[priv] = true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.have.Rights = keep(o.have.Rights, path, held)
	return nil
}

// Held reads all privileges of these credentials, by one request. Privileges that were read path by path before are
// dropped.
func (o *Observer) Held(ctx context.Context) error {
	at := time.Now()
	p, err := o.client.Access().Permissions(ctx, "", "")
	if err != nil && !unknowable(ctx, err) {
		return fmt.Errorf("read the privileges of these credentials: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.have.Held != nil {
		o.have.Rights = nil
	}
	if err == nil && p == nil {
		p = pve.Permissions{} // nothing was granted
	}
	o.have.Held = &model.Held{Paths: p, At: at}
	return nil
}

// forgetRights drops the privileges on a guest that is destroyed: Proxmox removes its entries with it.
func (o *Observer) forgetRights(vmid int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	path := fmt.Sprintf("/vms/%d", vmid)
	if _, read := o.have.Rights[path]; read {
		o.have.Rights = maps.Clone(o.have.Rights)
		delete(o.have.Rights, path)
	}
	if o.have.Held == nil || o.have.Held.Paths[path] == nil {
		return
	}
	left := model.Held{Paths: maps.Clone(o.have.Held.Paths), At: o.have.Held.At}
	delete(left.Paths, path)
	o.have.Held = &left
}

// Storages reads a node's storages, since the list shows new ones only after the next status round.
func (o *Observer) Storages(ctx context.Context, node string) error {
	list, err := o.client.Node(node).Storages(ctx, pve.StorageFilter{Enabled: true})
	if err != nil && !unknowable(ctx, err) {
		return fmt.Errorf("list the storages of %s: %w", node, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.rooms == nil {
		o.rooms = map[place]*model.Room{}
	}
	for name, s := range o.have.Storages {
		if s.Late[node] {
			o.rooms[place{node: node, storage: name}] = nil
		}
	}
	for _, s := range list {
		if s.Active {
			o.rooms[place{node: node, storage: s.Name}] = &model.Room{Total: s.Total, Used: s.Used}
		}
	}
	o.have.Storages = maps.Clone(o.have.Storages)
	for name, s := range o.have.Storages {
		changed := *s
		changed.OnNode, changed.Late = maps.Clone(s.OnNode), maps.Clone(s.Late)
		o.have.Storages[name] = &changed
	}
	o.fillRooms()
	return nil
}

// fillRooms takes over what nodes have said of storages that the list doesn't know about yet.
func (o *Observer) fillRooms() {
	for at, room := range o.rooms {
		s := o.have.Storages[at.storage]
		if s == nil || !s.Late[at.node] {
			continue
		}
		delete(s.Late, at.node)
		if room != nil {
			s.OnNode[at.node] = *room
		}
	}
}
