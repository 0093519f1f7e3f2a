package pvesim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pvesim/access"
)

// defaultContent is what Proxmox lets a storage hold when nothing is said.
var defaultContent = map[string]string{
	"dir":     "images,rootdir,vztmpl,iso,snippets,backup",
	"nfs":     "images",
	"lvm":     "images,rootdir",
	"lvmthin": "images,rootdir",
	"zfspool": "images,rootdir",
	"rbd":     "images,rootdir",
}

// build fills the simulator's state with what is in a world.
func (s *Sim) build(w *World) error {
	st := s.state
	st.Cluster, st.Version = w.Cluster, len(w.Nodes)
	for i, n := range w.Nodes {
		s.addWorldNode(w, i, n)
	}
	for _, dir := range w.Dirs {
		st.Dirs[dir] = true
	}
	st.DHCP.Range, st.DHCP.Bits = w.DHCP.Range, w.DHCP.Bits
	s.addWorldAccess(w)
	for _, p := range w.Pools {
		st.Pools[p.ID] = &Pool{ID: p.ID, Comment: p.Comment, HasNote: p.Comment != "", VMs: map[int]bool{}, Storages: map[string]bool{}}
	}
	if err := s.addWorldStorages(w); err != nil {
		return err
	}
	for _, g := range w.Guests {
		if err := s.addWorldGuest(g); err != nil {
			return fmt.Errorf("guest %d: %w", g.ID, err)
		}
	}
	for _, t := range w.Containers {
		if err := s.addWorldContainer(t); err != nil {
			return fmt.Errorf("container %d: %w", t.ID, err)
		}
	}
	return nil
}

func (s *Sim) addWorldNode(w *World, i int, n WorldNode) {
	node := &Node{
		Name: n.Name, ID: i + 1, IP: n.IP, State: n.State, CPUs: n.CPUs, Memory: int64(n.Memory), NUMA: n.NUMA,
		Used: 1 << 30, Root: 100 << 30, Booted: s.now().Add(-time.Hour), Conf: map[string]string{},
		NICs: n.NICs, PCI: n.PCI,
	}
	if w.Cluster == "" {
		node.ID = 0
	}
	for _, name := range n.NICs {
		node.Bridges = append(node.Bridges, unusedNIC(name))
	}
	for _, b := range n.Bonds {
		opts := map[string]string{"autostart": "1", "families": "inet", "slaves": strings.Join(b.Slaves, " ")}
		if b.Mode != "" {
			opts["bond_mode"] = b.Mode
		}
		node.Bridges = append(node.Bridges, &Bridge{Name: b.Name, Type: "bond", Opts: opts})
	}
	for _, b := range n.Bridges {
		bridge := &Bridge{Name: b.Name, Type: "bridge", Opts: map[string]string{"autostart": "1", "families": "inet"}}
		if addr, bits, ok := strings.Cut(b.CIDR, "/"); ok {
			bridge.Opts["address"], bridge.Opts["netmask"], bridge.Opts["method"] = addr, bits, "static"
		}
		if len(b.Ports) > 0 {
			bridge.Opts["bridge_ports"] = strings.Join(b.Ports, " ")
		}
		node.Bridges = append(node.Bridges, bridge)
	}
	s.state.Nodes[n.Name] = node
}

func (s *Sim) addWorldAccess(w *World) {
	acc := &s.state.Access
	for _, u := range w.Users {
		user := &access.User{ID: u.ID, Enable: true, Password: u.Password, Groups: map[string]bool{}, Props: map[string]string{}, Tokens: map[string]*access.Token{}, SSHKeys: u.SSHKeys}
		for _, t := range u.Tokens {
			user.Tokens[t.Name] = &access.Token{Secret: t.Secret, PrivSep: t.PrivSep}
		}
		acc.Users[u.ID] = user
	}
	for _, r := range w.Roles {
		privs := map[string]bool{}
		for _, p := range r.Privs {
			privs[p] = true
		}
		acc.Roles[r.Name] = privs
	}
	for _, a := range w.ACL {
		entry := access.Entry{Path: a.Path, Role: a.Role, Kind: "user", Who: a.User, Propagate: a.Propagate == nil || *a.Propagate}
		if a.Token != "" {
			entry.Kind, entry.Who = "token", a.Token
		}
		acc.ACL = append(acc.ACL, entry)
	}
}

func (s *Sim) addWorldStorages(w *World) error {
	for _, ws := range w.Storages {
		conf := map[string]string{}
		for k, v := range ws.Options {
			conf[k] = v
		}
		conf["content"] = strings.Join(ws.Content, ",")
		if len(ws.Content) == 0 {
			conf["content"] = defaultContent[ws.Type]
		}
		if ws.Path != "" {
			conf["path"] = ws.Path
		}
		if ws.Shared && ws.Type != "nfs" {
			conf["shared"] = "1"
		}
		if len(ws.Nodes) > 0 {
			conf["nodes"] = strings.Join(ws.Nodes, ",")
		}
		st := &Storage{ID: ws.Name, Type: ws.Type, Conf: conf}
		s.state.Storages[ws.Name] = st
		for _, n := range w.Nodes {
			if !st.OnNode(n.Name) {
				continue
			}
			sp := s.space(ws.Name, n.Name)
			if ws.Size > 0 {
				sp.Total = int64(ws.Size)
			}
			sp.Base = int64(ws.Used)
			for _, v := range ws.Volumes {
				if len(v.Nodes) > 0 && !slices.Contains(v.Nodes, n.Name) {
					continue
				}
				if err := s.placeWorldVolume(n.Name, ws.Name, v); err != nil {
					return fmt.Errorf("volume %s:%s: %w", ws.Name, v.Name, err)
				}
			}
		}
	}
	s.settleStorages()
	return nil
}

// placeWorldVolume puts a file onto a storage, now or later.
func (s *Sim) placeWorldVolume(node, storage string, v WorldVolume) error {
	v.System = v.System.Meant()
	if v.After == 0 {
		return s.addWorldVolume(node, storage, v)
	}
	if _, err := s.state.Storages[storage].parseName(v.Name); err != nil {
		return err
	}
	s.later(v.After.D(), func(*actor) {
		_ = s.addWorldVolume(node, storage, v) // the storage may be gone by then
	})
	return nil
}
