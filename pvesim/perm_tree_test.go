package pvesim

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/proxplane/proxplane/pvesim/access"
	_ "github.com/proxplane/proxplane/test/kit/chance"
)

// referenceRights computes rights in the plainest way: walk the path, look
// at the whole list at every step, remember nothing.
func referenceRights(s *Sim, who *access.Identity, path string) map[string]bool {
	roles := func(id *access.Identity, path string) map[string]bool {
		found := map[string]bool{}
		parts := strings.Split(strings.Trim(path, "/"), "/")
		for depth := 0; depth <= len(parts); depth++ {
			at := "/" + strings.Join(parts[:depth], "/")
			final := at == path
			pick := func(match func(access.Entry) bool) map[string]bool {
				out := map[string]bool{}
				for _, e := range s.state.Access.ACL {
					if e.Path == at && (final || e.Propagate) && match(e) {
						out[e.Role] = true
					}
				}
				return out
			}
			var here map[string]bool
			if id.Token() {
				here = pick(func(e access.Entry) bool { return e.Kind == "token" && e.Who == id.Name() })
			} else {
				here = pick(func(e access.Entry) bool { return e.Kind == "user" && e.Who == id.User })
				if len(here) == 0 {
					here = pick(func(e access.Entry) bool {
						return e.Kind == "group" && s.state.Access.Users[id.User].Groups[e.Who]
					})
				}
			}
			if len(here) > 0 {
				found = here
			}
		}
		if found[access.NoAccess] {
			return map[string]bool{access.NoAccess: true}
		}
		return found
	}
	own := func(id *access.Identity) map[string]bool {
		all := roles(id, path)
		if !all[access.NoAccess] {
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
		if all[access.NoAccess] {
			return out
		}
		for role := range all {
			p, _ := s.rolePrivs(role)
			for _, name := range s.privTable().List(p) {
				out[name] = true
			}
		}
		return out
	}
	user := &access.Identity{User: who.User}
	if !who.Token() || !s.findToken(who).PrivSep {
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
		acc.Groups["ops"], acc.Groups["dev"] = &access.Group{ID: "ops"}, &access.Group{ID: "dev"}
		for _, id := range []string{"ann@pve", "bob@pve"} {
			acc.Users[id] = &access.User{ID: id, Enable: true, Groups: map[string]bool{"ops": id == "ann@pve"},
				Tokens: map[string]*access.Token{"sep": {PrivSep: true}, "all": {}}}
		}
		for _, p := range []string{"web", "web/in", "db"} {
			s.state.Pools[p] = &Pool{ID: p}
		}
		paths := []string{"/", "/vms", "/vms/100", "/vms/101", "/vms/102", "/storage", "/storage/a", "/storage/b", "/pool", "/pool/web", "/pool/web/in", "/pool/db", "/access/groups"}
		whos := []string{"ann@pve", "bob@pve", "ann@pve!sep", "bob@pve!sep", "ann@pve!all"}
		grantees := []access.Entry{
			{Kind: "user", Who: "ann@pve"}, {Kind: "user", Who: "bob@pve"}, {Kind: "group", Who: "ops"}, {Kind: "group", Who: "dev"},
			{Kind: "token", Who: "ann@pve!sep"}, {Kind: "token", Who: "bob@pve!sep"},
		}
		roles := []string{"PVEVMUser", "PVEAuditor", "PVEDatastoreUser", "NoAccess", "PVEPoolAdmin"}
		pools := []string{"web", "web/in", "db"}
		t.Repeat(map[string]func(*rapid.T){
			"grant": func(t *rapid.T) {
				e := rapid.SampledFrom(grantees).Draw(t, "to")
				e.Path, e.Role, e.Propagate = rapid.SampledFrom(paths).Draw(t, "path"), rapid.SampledFrom(roles).Draw(t, "role"), rapid.Bool().Draw(t, "propagate")
				s.dropACL(func(o access.Entry) bool { o.Propagate = e.Propagate; return o == e })
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
					who := access.ParseIdentity(name)
					for _, path := range paths {
						want := referenceRights(s, who, path)
						got := s.privTable().List(s.rightsOf(who, path).Set)
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
	acc.Users["ann@pve"] = &access.User{ID: "ann@pve", Enable: true, Tokens: map[string]*access.Token{"sep": {PrivSep: true}}}
	s.state.Pools["web"] = &Pool{ID: "web"}
	s.grant("/pool/web", "user", "ann@pve", "PVEVMUser", true)
	s.grant("/vms", "token", "ann@pve!sep", "PVEVMUser", true)
	for vmid := 100; vmid < 10100; vmid += 2 {
		s.addVMToPool(vmid, "web")
	}
	who := access.ParseIdentity("ann@pve!sep")
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
