package access

import (
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// Privs is a set of privileges, one bit each.
type Privs uint64

func (p Privs) Without(q Privs) Privs { return p &^ q }

// Table knows the privileges of a release and the roles that Proxmox
// makes of them.
type Table struct {
	Names []string // by bit, sorted
	Bit   map[string]int
	All   Privs
	Roles map[string]Privs // built-in
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
	privs9 = sync.OnceValue(func() *Table { return newPrivTable(9) })
	privs8 = sync.OnceValue(func() *Table { return newPrivTable(8) })
)

// TableOf returns the table of a release.
func TableOf(major int) *Table {
	if major >= 9 {
		return privs9()
	}
	return privs8()
}

func newPrivTable(major int) *Table {
	t := &Table{Bit: map[string]int{}, Roles: map[string]Privs{}}
	tiers := privTiers(major)
	names := map[string]bool{"Permissions.Modify": true}
	for _, tier := range tiers {
		for _, p := range strings.Fields(tier.root + " " + tier.admin + " " + tier.user + " " + tier.audit) {
			names[p] = true
		}
	}
	t.Names = slices.Sorted(maps.Keys(names))
	for i, name := range t.Names {
		t.Bit[name] = i
		t.All |= 1 << i
	}
	set := func(lists ...string) Privs { return t.SetOf(strings.Fields(strings.Join(lists, " "))...) }
	for _, tier := range tiers {
		admin := set(tier.admin, tier.user, tier.audit)
		t.Roles["PVE"+tier.name+"Admin"] = admin
		t.Roles["PVEAdmin"] |= admin
		if tier.user != "" {
			t.Roles["PVE"+tier.name+"User"] = set(tier.user, tier.audit)
		}
		t.Roles["PVEAuditor"] |= set(tier.audit)
	}
	t.Roles["PVEAdmin"] = t.Roles["PVEAdmin"].Without(set("Mapping.Modify"))
	t.Roles["PVETemplateUser"] = set("VM.Clone VM.Audit")
	t.Roles["NoAccess"] = 0
	t.Roles["Administrator"] = t.All
	return t
}

// SetOf makes a set; names that the release doesn't have are left out.
func (t *Table) SetOf(names ...string) Privs {
	var p Privs
	for _, name := range names {
		if i, ok := t.Bit[name]; ok {
			p |= 1 << i
		}
	}
	return p
}

// List gives the names in a set, sorted.
func (t *Table) List(p Privs) []string {
	var out []string
	for p != 0 {
		i := bits.TrailingZeros64(uint64(p))
		out = append(out, t.Names[i])
		p &^= 1 << i
	}
	return out
}
