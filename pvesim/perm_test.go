package pvesim

import (
	"slices"
	"testing"

	"github.com/proxplane/proxplane/pvesim/access"
)

// bareSim has a state and nothing that runs.
func bareSim(release string) *Sim {
	s := &Sim{world: &World{Release: release}, state: newState()}
	s.state.Access.Users[access.Root] = &access.User{ID: access.Root, Enable: true}
	return s
}

func (s *Sim) grant(path, kind, who, role string, propagate bool) {
	s.state.Access.ACL = append(s.state.Access.ACL, access.Entry{Path: path, Kind: kind, Who: who, Role: role, Propagate: propagate})
	s.state.Access.Forget()
}

func TestGrantsAreInheritedAsProxmoxDoes(t *testing.T) {
	s := bareSim("9.2")
	acc := &s.state.Access
	acc.Users["ann@pve"] = &access.User{ID: "ann@pve", Enable: true, Groups: map[string]bool{"ops": true, "dev": true}, Tokens: map[string]*access.Token{
		"sep": {PrivSep: true}, "all": {},
	}}
	acc.Users["bob@pve"] = &access.User{ID: "bob@pve", Enable: true, Groups: map[string]bool{"ops": true}}
	acc.Users[access.Root].Tokens = map[string]*access.Token{"sep": {PrivSep: true}, "all": {}}
	acc.Groups["ops"], acc.Groups["dev"] = &access.Group{ID: "ops"}, &access.Group{ID: "dev"}
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
		if got := s.has(access.ParseIdentity(tc.who), tc.path, tc.priv); got != tc.want {
			t.Errorf("%s: %s %s on %s: %v, want %v", tc.reason, tc.who, tc.priv, tc.path, got, tc.want)
		}
	}
}

func TestDenialsNamePathAndPrivilege(t *testing.T) {
	s := bareSim("9.2")
	s.state.Access.Users["ann@pve"] = &access.User{ID: "ann@pve", Enable: true}
	s.grant("/vms/151", "user", "ann@pve", "PVEAuditor", true)
	s.grant("/sdn/zones/localnetwork/vmbr0/20", "user", "ann@pve", "PVESDNUser", true)
	ann := &access.Identity{User: "ann@pve"}
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
		if len(table.Names) != tc.count {
			t.Errorf("%s has %d privileges, want %d: %v", tc.release, len(table.Names), tc.count, table.Names)
		}
		for _, p := range tc.have {
			if !slices.Contains(table.List(table.Roles["PVEVMAdmin"]), p) {
				t.Errorf("%s: PVEVMAdmin lacks %s", tc.release, p)
			}
		}
		for _, p := range tc.lack {
			if slices.Contains(table.Names, p) {
				t.Errorf("%s has %s", tc.release, p)
			}
		}
		for _, p := range []string{"Permissions.Modify", "Sys.Modify", "Mapping.Modify", "Realm.Allocate"} {
			if table.Roles["PVEAdmin"]&table.SetOf(p) != 0 {
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
		if got := access.CleanPath(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
