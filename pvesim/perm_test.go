package pvesim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// bareSim has a state and nothing that runs.
func bareSim(release string) *Sim {
	s := &Sim{world: &World{Release: release}, state: newState()}
	s.state.Access.Users[rootUser] = &User{ID: rootUser, Enable: true}
	return s
}

func (s *Sim) grant(path, kind, who, role string, propagate bool) {
	s.state.Access.ACL = append(s.state.Access.ACL, ACLEntry{Path: path, Kind: kind, Who: who, Role: role, Propagate: propagate})
	s.state.Access.rights = nil
}

func TestGrantsAreInheritedAsProxmoxDoes(t *testing.T) {
	s := bareSim("9.2")
	acc := &s.state.Access
	acc.Users["ann@pve"] = &User{ID: "ann@pve", Enable: true, Groups: map[string]bool{"ops": true, "dev": true}, Tokens: map[string]*Token{
		"sep": {PrivSep: true}, "all": {},
	}}
	acc.Users["bob@pve"] = &User{ID: "bob@pve", Enable: true, Groups: map[string]bool{"ops": true}}
	acc.Users[rootUser].Tokens = map[string]*Token{"sep": {PrivSep: true}, "all": {}}
	acc.Groups["ops"], acc.Groups["dev"] = &Group{ID: "ops"}, &Group{ID: "dev"}
	s.state.Pools["web"] = &Pool{ID: "web", VMs: map[int]bool{201: true}, Storages: map[string]bool{"fast": true}}
	s.state.Pools["web/test"] = &Pool{ID: "web/test", VMs: map[int]bool{202: true}, Storages: map[string]bool{"fast": true}}
	s.state.Pools["closed"] = &Pool{ID: "closed", VMs: map[int]bool{203: true}}
	for _, g := range []struct {
		path, kind, who, role string
		propagate             bool
	}{
		{"/vms", "user", "ann@pve", "PVEVMAdmin", true},
		{"/vms/101", "user", "ann@pve", "PVEAuditor", true},
		{"/vms/102", "user", "ann@pve", "NoAccess", true},
		{"/vms/103", "group", "ops", "PVEVMUser", true},
		{"/vms/104", "user", "ann@pve", "PVEAuditor", false},
		{"/vms/104", "group", "ops", "PVEVMUser", true},
		{"/vms/105", "group", "ops", "PVEAuditor", true},
		{"/vms/105", "group", "dev", "PVEVMUser", true},
		{"/storage", "user", "ann@pve", "PVEDatastoreAdmin", false},
		{"/pool", "user", "bob@pve", "PVEPoolUser", true},
		{"/pool/web", "user", "bob@pve", "PVEVMUser", true},
		{"/pool/web/test", "user", "bob@pve", "PVEDatastoreUser", true},
		{"/pool/closed", "user", "ann@pve", "NoAccess", true},
		{"/vms", "token", "ann@pve!sep", "PVEVMUser", true},
		{"/", "token", "ann@pve!sep", "PVEDatastoreAdmin", true},
		{"/nodes", "token", "root@pam!sep", "PVEAuditor", true},
	} {
		s.grant(g.path, g.kind, g.who, g.role, g.propagate)
	}
	for _, tc := range []struct {
		reason, who, path, priv string
		want                    bool
	}{
		{"a propagating grant reaches everything below", "ann@pve", "/vms/100", "VM.Allocate", true},
		{"nothing is granted above it", "ann@pve", "/", "VM.Audit", false},
		{"a deeper grant replaces the inherited one", "ann@pve", "/vms/101", "VM.Allocate", false},
		{"… and gives what it gives", "ann@pve", "/vms/101", "VM.Audit", true},
		{"NoAccess takes everything away", "ann@pve", "/vms/102", "VM.Audit", false},
		{"a group's grant replaces the inherited one too", "ann@pve", "/vms/103", "VM.Allocate", false},
		{"members of a group have its grants", "bob@pve", "/vms/103", "VM.PowerMgmt", true},
		{"at one path a user's own grant beats the group's", "ann@pve", "/vms/104", "VM.PowerMgmt", false},
		{"… but counts below it only if it propagates", "ann@pve", "/vms/104/disk", "VM.PowerMgmt", true},
		{"grants of several groups add up", "ann@pve", "/vms/105", "Sys.Audit", true},
		{"grants of several groups add up", "ann@pve", "/vms/105", "VM.Console", true},
		{"a grant that doesn't propagate holds at its path", "ann@pve", "/storage", "Datastore.Allocate", true},
		{"… and not below", "ann@pve", "/storage/local", "Datastore.Allocate", false},
		{"a pool's grant holds for its guests", "bob@pve", "/vms/201", "VM.PowerMgmt", true},
		{"… and for no other", "bob@pve", "/vms/299", "VM.PowerMgmt", false},
		{"a pool in a pool has its own grants", "bob@pve", "/vms/202", "VM.PowerMgmt", false},
		{"a storage in two pools has the grants of both", "bob@pve", "/storage/fast", "Datastore.AllocateSpace", true},
		{"a storage in two pools has the grants of both", "bob@pve", "/storage/fast", "VM.PowerMgmt", true},
		{"NoAccess on a pool bars its guests", "ann@pve", "/vms/203", "VM.Audit", false},
		{"a separated token has what both have", "ann@pve!sep", "/vms/100", "VM.PowerMgmt", true},
		{"… not what only its user has", "ann@pve!sep", "/vms/100", "VM.Allocate", false},
		{"… nor what only the token has", "ann@pve!sep", "/storage/local", "Datastore.Allocate", false},
		{"… so its user's limits are its own", "ann@pve!sep", "/vms/102", "VM.PowerMgmt", false},
		{"a token without separation is its user", "ann@pve!all", "/vms/100", "VM.Allocate", true},
		{"a token that doesn't exist has nothing", "ann@pve!gone", "/vms/100", "VM.Audit", false},
		{"root may do everything", "root@pam", "/anything", "Permissions.Modify", true},
		{"root's token may too", "root@pam!all", "/anything", "Permissions.Modify", true},
		{"root's separated token has its own grants", "root@pam!sep", "/nodes/pve1", "Sys.Audit", true},
		{"… and no more", "root@pam!sep", "/vms/100", "VM.Audit", false},
		{"a path that isn't one belongs to root", "root@pam!all", "", "VM.Audit", false},
	} {
		if got := s.has(parseIdentity(tc.who), tc.path, tc.priv); got != tc.want {
			t.Errorf("%s: %s %s on %s: %v, want %v", tc.reason, tc.who, tc.priv, tc.path, got, tc.want)
		}
	}
}

func TestDenialsNamePathAndPrivilege(t *testing.T) {
	s := bareSim("9.2")
	s.state.Access.Users["ann@pve"] = &User{ID: "ann@pve", Enable: true}
	s.grant("/vms/151", "user", "ann@pve", "PVEAuditor", true)
	s.grant("/sdn/zones/localnetwork/vmbr0/20", "user", "ann@pve", "PVESDNUser", true)
	ann := &identity{user: "ann@pve"}
	for _, tc := range []struct {
		err  error
		want string
	}{
		{s.need(ann, "/vms/151", "VM.Audit"), ""},
		{s.need(ann, "/vms/151", "VM.Audit", "VM.Config.Memory", "VM.Config.CPU"), "Permission check failed (/vms/151, VM.Config.Memory)"},
		{s.needAny(ann, "/vms/151", "VM.Console", "VM.Audit"), ""},
		{s.needAny(ann, "/storage/local", "Datastore.Audit", "Datastore.AllocateSpace"), "Permission check failed (/storage/local, Datastore.Audit|Datastore.AllocateSpace)"},
		{s.needModify(ann, "/vms/151"), "Permission check failed (/vms/151, Permissions.Modify|VM.Allocate)"},
		{s.needModify(ann, "/vms"), "Permission check failed (/vms, Permissions.Modify)"},
		{s.needModify(ann, "/storage/local"), "Permission check failed (/storage/local, Permissions.Modify|Datastore.Allocate)"},
		{s.needModify(ann, "/pool/x"), "Permission check failed (/pool/x, Permissions.Modify|Pool.Allocate)"},
		{s.needBridge(ann, "localnetwork", "vmbr0", "SDN.Use"), ""},
		{s.needBridge(ann, "localnetwork", "vmbr1", "SDN.Use"), "Permission check failed (/sdn/zones/localnetwork/vmbr1, SDN.Use)"},
		{s.needVM(ann, 151, "nopool", "VM.Audit"), ""},
		{s.needVM(ann, 152, "nopool", "VM.Audit"), "Permission check failed (/vms/152, VM.Audit)"},
		{s.need(nil, "/", "Sys.Audit"), "Permission check failed (/, Sys.Audit)"},
		{s.need(ann, "/vms/151", "VM.Monitor"), "invalid privilege 'VM.Monitor'"},
	} {
		got := ""
		if tc.err != nil {
			got = tc.err.Error()
		}
		if got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

func TestReleasesHaveTheirPrivileges(t *testing.T) {
	for _, tc := range []struct {
		release string
		count   int
		have    []string
		lack    []string
	}{
		{"9.2", 47, []string{"VM.GuestAgent.Audit", "VM.Replicate"}, []string{"VM.Monitor"}},
		{"8.4", 42, []string{"VM.Monitor"}, []string{"VM.GuestAgent.Audit", "VM.Replicate"}},
	} {
		table := bareSim(tc.release).privTable()
		if len(table.names) != tc.count {
			t.Errorf("%s has %d privileges, want %d: %v", tc.release, len(table.names), tc.count, table.names)
		}
		for _, p := range tc.have {
			if !slices.Contains(table.list(table.roles["PVEVMAdmin"]), p) {
				t.Errorf("%s: PVEVMAdmin lacks %s", tc.release, p)
			}
		}
		for _, p := range tc.lack {
			if slices.Contains(table.names, p) {
				t.Errorf("%s has %s", tc.release, p)
			}
		}
		for _, p := range []string{"Permissions.Modify", "Sys.Modify", "Mapping.Modify", "Realm.Allocate"} {
			if table.roles["PVEAdmin"]&table.setOf(p) != 0 {
				t.Errorf("%s: PVEAdmin has %s", tc.release, p)
			}
		}
	}
}

func TestPathsHaveOneSpelling(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "0": "", "/": "/", "//": "/", "vms": "/vms", "/vms/": "/vms", "//vms///100": "/vms/100",
		"/storage/my-store_1.x": "/storage/my-store_1.x", "/vms/a b": "", "/vms/ARRAY(0x1)": "", "/pool/é": "/pool/é",
	} {
		if got := normalizePath(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// referenceRights computes rights in the plainest way: walk the path, look
// at the whole list at every step, remember nothing.
func referenceRights(s *Sim, who *identity, path string) map[string]bool {
	roles := func(id *identity, path string) map[string]bool {
		found := map[string]bool{}
		parts := strings.Split(strings.Trim(path, "/"), "/")
		for depth := 0; depth <= len(parts); depth++ {
			at := "/" + strings.Join(parts[:depth], "/")
			final := at == path
			pick := func(match func(ACLEntry) bool) map[string]bool {
				out := map[string]bool{}
				for _, e := range s.state.Access.ACL {
					if e.Path == at && (final || e.Propagate) && match(e) {
						out[e.Role] = true
					}
				}
				return out
			}
			var here map[string]bool
			if id.token() {
				here = pick(func(e ACLEntry) bool { return e.Kind == "token" && e.Who == id.name() })
			} else {
				here = pick(func(e ACLEntry) bool { return e.Kind == "user" && e.Who == id.user })
				if len(here) == 0 {
					here = pick(func(e ACLEntry) bool {
						return e.Kind == "group" && s.state.Access.Users[id.user].Groups[e.Who]
					})
				}
			}
			if len(here) > 0 {
				found = here
			}
		}
		if found[noAccess] {
			return map[string]bool{noAccess: true}
		}
		return found
	}
	own := func(id *identity) map[string]bool {
		all := roles(id, path)
		if !all[noAccess] {
			for name, p := range s.state.Pools {
				member := false
				for vmid := range p.VMs {
					member = member || path == fmt.Sprintf("/vms/%d", vmid)
				}
				for storage := range p.Storages {
					member = member || path == "/storage/"+storage
				}
				if member {
					for role := range roles(id, "/pool/"+name) {
						all[role] = true
					}
				}
			}
		}
		out := map[string]bool{}
		if all[noAccess] {
			return out
		}
		for role := range all {
			p, _ := s.rolePrivs(role)
			for _, name := range s.privTable().list(p) {
				out[name] = true
			}
		}
		return out
	}
	user := &identity{user: who.user}
	if !who.token() || !s.findToken(who).PrivSep {
		return own(user)
	}
	out, users := own(who), own(user)
	for p := range out {
		if !users[p] {
			delete(out, p)
		}
	}
	return out
}

func TestRememberedRightsAreTheComputedOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := bareSim("9.2")
		acc := &s.state.Access
		acc.Groups["ops"], acc.Groups["dev"] = &Group{ID: "ops"}, &Group{ID: "dev"}
		for _, id := range []string{"ann@pve", "bob@pve"} {
			acc.Users[id] = &User{ID: id, Enable: true, Groups: map[string]bool{"ops": id == "ann@pve"},
				Tokens: map[string]*Token{"sep": {PrivSep: true}, "all": {}}}
		}
		for _, p := range []string{"web", "web/in", "db"} {
			s.state.Pools[p] = &Pool{ID: p}
		}
		paths := []string{"/", "/vms", "/vms/100", "/vms/101", "/vms/102", "/storage", "/storage/a", "/storage/b", "/pool", "/pool/web", "/pool/web/in", "/pool/db", "/access/groups"}
		whos := []string{"ann@pve", "bob@pve", "ann@pve!sep", "bob@pve!sep", "ann@pve!all"}
		grantees := []ACLEntry{
			{Kind: "user", Who: "ann@pve"}, {Kind: "user", Who: "bob@pve"}, {Kind: "group", Who: "ops"}, {Kind: "group", Who: "dev"},
			{Kind: "token", Who: "ann@pve!sep"}, {Kind: "token", Who: "bob@pve!sep"},
		}
		roles := []string{"PVEVMUser", "PVEAuditor", "PVEDatastoreUser", "NoAccess", "PVEPoolAdmin"}
		pools := []string{"web", "web/in", "db"}
		t.Repeat(map[string]func(*rapid.T){
			"grant": func(t *rapid.T) {
				e := rapid.SampledFrom(grantees).Draw(t, "to")
				e.Path, e.Role, e.Propagate = rapid.SampledFrom(paths).Draw(t, "path"), rapid.SampledFrom(roles).Draw(t, "role"), rapid.Bool().Draw(t, "propagate")
				s.dropACL(func(o ACLEntry) bool { o.Propagate = e.Propagate; return o == e })
				acc.ACL = append(acc.ACL, e)
				s.accessChanged()
			},
			"join": func(t *rapid.T) {
				s.addVMToPool(rapid.IntRange(100, 102).Draw(t, "vm"), rapid.SampledFrom(pools).Draw(t, "pool"))
			},
			"give storage": func(t *rapid.T) {
				s.addStorageToPool(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "storage"), rapid.SampledFrom(pools).Draw(t, "pool"))
			},
			"destroy": func(t *rapid.T) { s.removeVMAccess(rapid.IntRange(100, 102).Draw(t, "vm")) },
			"remove":  func(t *rapid.T) { s.removeStorageAccess(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "storage")) },
			"": func(t *rapid.T) {
				for _, name := range whos {
					who := parseIdentity(name)
					for _, path := range paths {
						want := referenceRights(s, who, path)
						got := s.privTable().list(s.rightsOf(who, path).set)
						if len(got) != len(want) {
							t.Fatalf("%s on %s: got %v, want %v", name, path, got, want)
						}
						for _, p := range got {
							if !want[p] {
								t.Fatalf("%s on %s: got %v, want %v", name, path, got, want)
							}
						}
					}
				}
			},
		})
	})
}

func BenchmarkFilterTenThousandGuests(b *testing.B) {
	s := bareSim("9.2")
	acc := &s.state.Access
	acc.Users["ann@pve"] = &User{ID: "ann@pve", Enable: true, Tokens: map[string]*Token{"sep": {PrivSep: true}}}
	s.state.Pools["web"] = &Pool{ID: "web"}
	s.grant("/pool/web", "user", "ann@pve", "PVEVMUser", true)
	s.grant("/vms", "token", "ann@pve!sep", "PVEVMUser", true)
	for vmid := 100; vmid < 10100; vmid += 2 {
		s.addVMToPool(vmid, "web")
	}
	who := parseIdentity("ann@pve!sep")
	b.ReportAllocs()
	for b.Loop() {
		seen := 0
		for vmid := 100; vmid < 10100; vmid++ {
			if s.has(who, vmPath(vmid), "VM.Audit") {
				seen++
			}
		}
		if seen != 5000 {
			b.Fatal(seen)
		}
	}
}
