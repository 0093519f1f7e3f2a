package pvesim

import (
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// privs is a set of privileges, one bit each.
type privs uint64

func (p privs) without(q privs) privs { return p &^ q }

// privTable knows the privileges of a release and the roles that Proxmox
// makes of them.
type privTable struct {
	names []string // by bit, sorted
	bit   map[string]int
	all   privs
	roles map[string]privs // built-in
}

// privTier is a category of privileges by how much they allow. From these
// come the roles PVE<name>Admin, PVE<name>User, PVEAdmin and PVEAuditor.
type privTier struct {
	name                     string
	root, admin, user, audit string
}

func privTiers(major int) []privTier {
	vm := privTier{
		name: "VM",
		admin: "VM.Config.Disk VM.Config.CPU VM.Config.Memory VM.Config.Network VM.Config.HWType VM.Config.Options " +
			"VM.Allocate VM.Clone VM.Migrate VM.Snapshot VM.Snapshot.Rollback",
		user:  "VM.Config.CDROM VM.Config.Cloudinit VM.Console VM.Backup VM.PowerMgmt",
		audit: "VM.Audit",
	}
	if major >= 9 {
		vm.admin += " VM.GuestAgent.Unrestricted VM.Replicate"
		vm.user += " VM.GuestAgent.FileRead VM.GuestAgent.FileSystemMgmt VM.GuestAgent.FileWrite"
		vm.audit += " VM.GuestAgent.Audit"
	} else {
		vm.admin += " VM.Monitor"
	}
	return []privTier{
		vm,
		{name: "Sys", root: "Sys.PowerMgmt Sys.Modify Sys.Incoming Sys.AccessNetwork", admin: "Sys.Console Sys.Syslog", audit: "Sys.Audit"},
		{name: "Datastore", admin: "Datastore.Allocate Datastore.AllocateTemplate", user: "Datastore.AllocateSpace", audit: "Datastore.Audit"},
		{name: "SDN", admin: "SDN.Allocate SDN.Audit", user: "SDN.Use", audit: "SDN.Audit"},
		{name: "User", root: "Realm.Allocate", admin: "User.Modify Group.Allocate Realm.AllocateUser"},
		{name: "Pool", admin: "Pool.Allocate", user: "Pool.Audit", audit: "Pool.Audit"},
		{name: "Mapping", admin: "Mapping.Modify", user: "Mapping.Use", audit: "Mapping.Audit"},
	}
}

var (
	privs9 = sync.OnceValue(func() *privTable { return newPrivTable(9) })
	privs8 = sync.OnceValue(func() *privTable { return newPrivTable(8) })
)

// tableOf is that of a release.
func tableOf(major int) *privTable {
	if major >= 9 {
		return privs9()
	}
	return privs8()
}

func newPrivTable(major int) *privTable {
	t := &privTable{bit: map[string]int{}, roles: map[string]privs{}}
	tiers := privTiers(major)
	names := map[string]bool{"Permissions.Modify": true}
	for _, tier := range tiers {
		for _, p := range strings.Fields(tier.root + " " + tier.admin + " " + tier.user + " " + tier.audit) {
			names[p] = true
		}
	}
	t.names = slices.Sorted(maps.Keys(names))
	for i, name := range t.names {
		t.bit[name] = i
		t.all |= 1 << i
	}
	set := func(lists ...string) privs { return t.setOf(strings.Fields(strings.Join(lists, " "))...) }
	for _, tier := range tiers {
		admin := set(tier.admin, tier.user, tier.audit)
		t.roles["PVE"+tier.name+"Admin"] = admin
		t.roles["PVEAdmin"] |= admin
		if tier.user != "" {
			t.roles["PVE"+tier.name+"User"] = set(tier.user, tier.audit)
		}
		t.roles["PVEAuditor"] |= set(tier.audit)
	}
	t.roles["PVEAdmin"] = t.roles["PVEAdmin"].without(set("Mapping.Modify"))
	t.roles["PVETemplateUser"] = set("VM.Clone VM.Audit")
	t.roles["NoAccess"] = 0
	t.roles["Administrator"] = t.all
	return t
}

// setOf makes a set; names that the release doesn't have are left out.
func (t *privTable) setOf(names ...string) privs {
	var p privs
	for _, name := range names {
		if i, ok := t.bit[name]; ok {
			p |= 1 << i
		}
	}
	return p
}

// list gives the names in a set, sorted.
func (t *privTable) list(p privs) []string {
	var out []string
	for p != 0 {
		i := bits.TrailingZeros64(uint64(p))
		out = append(out, t.names[i])
		p &^= 1 << i
	}
	return out
}
