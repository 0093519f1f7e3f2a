package pvesim

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pvesim/access"
)

// worldCheck gathers what is wrong with a world, so that its author learns
// all of it at once.
type worldCheck struct {
	*World
	sim      *Sim // for what depends on the release
	problems []string
}

func (k *worldCheck) addf(format string, args ...any) {
	k.problems = append(k.problems, fmt.Sprintf(format, args...))
}

// checkWorld says what is wrong with a world of which defaults are filled in.
func (s *Sim) checkWorld(w *World) error {
	k := &worldCheck{World: w, sim: s}
	k.checkNodes()
	k.checkStorages()
	k.checkAccess()
	k.checkGuests()
	k.checkBehaviour()
	switch len(k.problems) {
	case 0:
		return nil
	case 1:
		return errors.New("world: " + k.problems[0])
	}
	return fmt.Errorf("world: %d things are wrong:\n  %s", len(k.problems), strings.Join(k.problems, "\n  "))
}

var nodeName = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`)

func (k *worldCheck) hasNode(name string) bool {
	return slices.ContainsFunc(k.Nodes, func(n WorldNode) bool { return n.Name == name })
}

func (k *worldCheck) checkNodes() {
	if len(k.Nodes) > 1 && k.Cluster == "" {
		k.addf("%d nodes are a cluster, which needs a name: cluster", len(k.Nodes))
	}
	seen := map[string]bool{}
	for i, n := range k.Nodes {
		switch {
		case !nodeName.MatchString(n.Name):
			k.addf("nodes[%d]: %q is no name for a node", i, n.Name)
		case seen[n.Name]:
			k.addf("node %s is there twice", n.Name)
		}
		seen[n.Name] = true
		if n.State != Online && n.State != Offline && n.State != Unreachable {
			k.addf("node %s: state %q isn't online, offline or unreachable", n.Name, n.State)
		}
		if _, err := netip.ParseAddr(n.IP); err != nil {
			k.addf("node %s: ip %q is no address", n.Name, n.IP)
		}
		if n.CPUs < 0 {
			k.addf("node %s: %d CPUs", n.Name, n.CPUs)
		}
		k.checkNetwork(n)
		k.checkPCI(n)
		for _, b := range n.Bridges {
			if err := k.sim.schema.CheckFormat("pve-iface", b.Name); err != nil {
				k.addf("node %s: bridge %q: %s", n.Name, b.Name, oneLine(err))
			}
			if _, err := netip.ParsePrefix(b.CIDR); err != nil && b.CIDR != "" {
				k.addf("node %s: bridge %s: cidr %q isn't like 192.168.77.2/24", n.Name, b.Name, b.CIDR)
			}
		}
		if n.Name == k.Entry && n.State != Online {
			k.addf("entry: node %s is %s, so that nobody would answer", n.Name, n.State)
		}
	}
	if !k.hasNode(k.Entry) {
		k.addf("entry: there is no node %q", k.Entry)
	}
}

func (k *worldCheck) checkStorages() {
	seen := map[string]bool{}
	for _, st := range k.Storages {
		if err := k.sim.schema.CheckFormat("pve-storage-id", st.Name); err != nil {
			k.addf("storage %q: %s", st.Name, oneLine(err))
		}
		if seen[st.Name] {
			k.addf("storage %s is there twice", st.Name)
		}
		seen[st.Name] = true
		typ := storageTypes[st.Type]
		if typ == nil {
			k.addf("storage %s: there is no type %q, only %s", st.Name, st.Type, strings.Join(sortedKeys(storageTypes), ", "))
			continue
		}
		for _, c := range st.Content {
			if !slices.Contains(typ.content, c) {
				k.addf("storage %s: a storage of type %s can't hold %q, only %s", st.Name, st.Type, c, strings.Join(typ.content, ", "))
			}
		}
		k.checkStorageOptions(st)
		for _, n := range st.Nodes {
			if !k.hasNode(n) {
				k.addf("storage %s: there is no node %q", st.Name, n)
			}
		}
		for _, v := range st.Volumes {
			k.checkSystem(fmt.Sprintf("volume %s:%s", st.Name, v.Name), v.System)
			for _, n := range v.Nodes {
				if !k.hasNode(n) {
					k.addf("volume %s:%s: there is no node %q", st.Name, v.Name, n)
				}
			}
		}
	}
}

func (k *worldCheck) checkStorageOptions(st WorldStorage) {
	known := k.sim.optionsOf(st.Type)
	for _, name := range sortedKeys(st.Options) {
		if _, ok := known[name]; !ok {
			k.addf("storage %s: type %s has no option %q", st.Name, st.Type, name)
		}
	}
	for _, name := range sortedKeys(known) {
		given := st.Options[name] != "" || name == "path" && (st.Path != "" || st.Type == "nfs" || st.Type == "cifs")
		if known[name].required && !given {
			hint := ""
			if st.Type == "zfs" {
				hint = " (a local pool is of type zfspool)"
			}
			k.addf("storage %s: type %s needs %s%s", st.Name, st.Type, name, hint)
		}
	}
	if path := st.Path; path != "" && !strings.HasPrefix(path, "/") {
		k.addf("storage %s: path %q doesn't begin with a slash", st.Name, path)
	}
}

func (k *worldCheck) checkAccess() {
	users, tokens := map[string]bool{}, map[string]bool{}
	for _, u := range k.Users {
		if err := verifyUserName(u.ID); err != nil {
			k.addf("user %q: %s; names look like root@pam", u.ID, oneLine(err))
		} else if realm := realmOf(u.ID); realm != "pam" && realm != "pve" {
			k.addf("user %s: there is no realm %q, only pam and pve", u.ID, realm)
		}
		if users[u.ID] {
			k.addf("user %s is there twice", u.ID)
		}
		users[u.ID] = true
		k.checkKeys(u)
		for _, t := range u.Tokens {
			id := u.ID + "!" + t.Name
			tokens[id] = true
			if !tokenName.MatchString("a@pve!" + t.Name) {
				k.addf("token %s: %q is no name for a token", id, t.Name)
			}
			if t.Secret == "" {
				k.addf("token %s has no secret", id)
			}
		}
	}
	roles := maps.Clone(k.sim.privTable().Roles)
	for _, r := range k.Roles {
		if _, builtin := k.sim.privTable().Roles[r.Name]; builtin || r.Name == "" {
			k.addf("role %q can't be made", r.Name)
		}
		roles[r.Name] = 0
		for _, p := range r.Privs {
			if _, ok := k.sim.privTable().Bit[p]; !ok {
				k.addf("role %s: Proxmox VE %s has no privilege %q", r.Name, k.Release, p)
			}
		}
	}
	for _, a := range k.ACL {
		switch {
		case !aclPaths[k.sim.atLeast(9)].MatchString(access.CleanPath(a.Path)):
			k.addf("acl: no rights can be given on %q", a.Path)
		case (a.User == "") == (a.Token == ""):
			k.addf("acl on %s: want a user or a token", a.Path)
		case a.User != "" && !users[a.User]:
			k.addf("acl on %s: there is no user %q", a.Path, a.User)
		case a.Token != "" && !tokens[a.Token]:
			k.addf("acl on %s: there is no token %q", a.Path, a.Token)
		}
		if _, ok := roles[a.Role]; !ok {
			k.addf("acl on %s: there is no role %q", a.Path, a.Role)
		}
	}
}

func (k *worldCheck) checkGuests() {
	pools := map[string]bool{}
	for _, p := range k.Pools {
		pools[p.ID] = true
		if err := k.sim.schema.CheckFormat("pve-poolid", p.ID); err != nil {
			k.addf("pool %q: %s", p.ID, oneLine(err))
		}
	}
	for _, g := range k.Guests {
		last := g.ID + max(1, g.Count) - 1
		if g.ID < 100 || last > 999999999 {
			k.addf("guest %d: VMIDs are 100 to 999999999", g.ID)
		}
		if !k.hasNode(g.Node) {
			k.addf("guest %d: there is no node %q", g.ID, g.Node)
		}
		if g.Pool != "" && !pools[g.Pool] {
			k.addf("guest %d: there is no pool %q", g.ID, g.Pool)
		}
		if g.Count < 0 {
			k.addf("guest %d: count %d", g.ID, g.Count)
		}
		k.checkSystem(fmt.Sprintf("guest %d", g.ID), g.System)
		k.checkConfig(g)
	}
	for _, sys := range k.Systems {
		k.checkSystem(fmt.Sprintf("systems: VM %d", sys.VMID), sys.System)
	}
}

// checkConfig checks a guest's options as if it were created.
func (k *worldCheck) checkConfig(g WorldGuest) {
	create := k.sim.schema.Lookup("POST", "/nodes/{node}/qemu")
	for _, key := range sortedKeys(g.Config) {
		value := g.Config[key]
		if key == "name" {
			value = strings.ReplaceAll(value, "%d", "0")
		}
		p := create.Param(key)
		if p == nil || slices.Contains(createParams, key) {
			k.addf("guest %d: there is no option %q", g.ID, key)
			continue
		}
		for _, text := range p.Verify(key, value, noCPUModels) {
			k.addf("guest %d: %s: %s", g.ID, key, strings.ReplaceAll(strings.TrimSpace(text), "\n", ", "))
		}
	}
}

func (k *worldCheck) checkSystem(what string, s System) {
	if _, named := k.Kernels[s]; !named && !slices.Contains([]System{"", WithAgent, WithoutAgent, NoSystem}, s) {
		k.addf("%s: system %q isn't agent, plain, none or one of the kernels", what, s)
	}
}

// checkBehaviour looks at figures that can't be negative, and at faults.
func (k *worldCheck) checkBehaviour() {
	for name, group := range map[string]any{"timing": k.Timing, "load": k.Load, "locks": k.Locks} {
		v := reflect.ValueOf(group)
		for i := range v.NumField() {
			if v.Field(i).Int() < 0 {
				field, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
				k.addf("%s: %s is negative", name, field)
			}
		}
	}
	for i, f := range k.Faults {
		if err := f.Check(); err != nil {
			k.addf("faults[%d]: %v", i, err)
		}
		if f.Away != "" && f.Away != "." && !k.hasNode(f.Away) {
			k.addf("faults[%d]: there is no node %q", i, f.Away)
		}
	}
	if _, _, err := k.DHCP.Bounds(); err != nil {
		k.addf("dhcp: %v", err)
	}
}

// oneLine is an error without the newline that Proxmox puts at the end.
func oneLine(err error) string { return strings.TrimSpace(err.Error()) }
