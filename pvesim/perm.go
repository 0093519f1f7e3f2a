package pvesim

import (
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pvesim/access"
)

// need checks that who has all the privileges on the path; the error is the
// 403 that Proxmox answers, which names the first that is missing.
func (s *Sim) need(who *access.Identity, path string, privs ...string) error {
	have, bit := s.rightsOf(who, path).Set, s.privTable().Bit
	for _, p := range privs {
		i, ok := bit[p]
		if !ok {
			return die("invalid privilege '%s'", p)
		}
		if have&(1<<i) == 0 {
			return denied(path + ", " + p)
		}
	}
	return nil
}

// needAny checks that who has one of the privileges on the path.
func (s *Sim) needAny(who *access.Identity, path string, privs ...string) error {
	have, bit := s.rightsOf(who, path).Set, s.privTable().Bit
	for _, p := range privs {
		i, ok := bit[p]
		if !ok {
			return die("invalid privilege '%s'", p)
		}
		if have&(1<<i) != 0 {
			return nil
		}
	}
	return denied(path + ", " + strings.Join(privs, "|"))
}

// has reports whether who has all the privileges on the path.
func (s *Sim) has(who *access.Identity, path string, privs ...string) bool {
	have, bit := s.rightsOf(who, path).Set, s.privTable().Bit
	for _, p := range privs {
		if i, ok := bit[p]; !ok || have&(1<<i) == 0 {
			return false
		}
	}
	return true
}

// hasAny reports whether who has one of the privileges on the path.
func (s *Sim) hasAny(who *access.Identity, path string, privs ...string) bool {
	return s.rightsOf(who, path).Set&s.privTable().SetOf(privs...) != 0
}

// needVM checks privileges on a guest that is, or is about to be, in a pool
// (empty: none): either the pool or the guest may grant them.
func (s *Sim) needVM(who *access.Identity, vmid int, pool string, privs ...string) error {
	if pool != "" && s.has(who, "/pool/"+pool, privs...) {
		return nil
	}
	return s.need(who, vmPath(vmid), privs...)
}

// vmPath is the path of a guest in the access tree.
func vmPath(vmid int) string { return "/vms/" + strconv.Itoa(vmid) }

// needModify checks that who may change the ACL of a path, or put what the
// path stands for into a pool.
func (s *Sim) needModify(who *access.Identity, path string) error {
	ask := []string{"Permissions.Modify"}
	below := func(dir string) bool { return len(path) > len(dir) && strings.HasPrefix(path, dir) }
	switch {
	case path == "":
		return s.need(who, "/access", ask...)
	case below("/storage/"):
		ask = append(ask, "Datastore.Allocate")
	case below("/vms/"):
		ask = append(ask, "VM.Allocate")
	case below("/pool/"):
		ask = append(ask, "Pool.Allocate")
	}
	return s.needAny(who, path, ask...)
}

// needBridge checks privileges on a bridge or VNet of a zone; to have them
// on one of its VLANs is enough.
func (s *Sim) needBridge(who *access.Identity, zone, bridge string, privs ...string) error {
	path := "/sdn/zones/" + zone + "/" + bridge
	err := s.needAny(who, path, privs...)
	if err == nil {
		return nil
	}
	for _, vlan := range s.rightsIndex().Below(path) {
		if s.hasAny(who, path+"/"+vlan, privs...) {
			return nil
		}
	}
	return err
}

// rightsOf computes what who may do on a path. An empty path stands for one
// that isn't valid: only root has rights there.
func (s *Sim) rightsOf(who *access.Identity, path string) access.Rights {
	if who == nil {
		return access.Rights{}
	}
	if who.Root() {
		all := s.privTable().All
		return access.Rights{Set: all, Spread: all}
	}
	if path == "" {
		return access.Rights{}
	}
	if !who.Token() {
		return s.granted(who, path)
	}
	token := s.findToken(who)
	if token == nil {
		return access.Rights{}
	}
	if !token.PrivSep {
		return s.rightsOf(&access.Identity{User: who.User}, path)
	}
	own := s.granted(who, path)
	if who.User == access.Root {
		return own
	}
	return own.And(s.granted(&access.Identity{User: who.User}, path))
}

// granted is what ACLs and pools give to a user, or to a token by itself.
func (s *Sim) granted(who *access.Identity, path string) access.Rights {
	return s.rightsIndex().Granted(*who, path, s.poolsAt(path))
}

// poolsAt names the pools that pass their grants on to a path, joined by
// blanks.
func (s *Sim) poolsAt(path string) string {
	if id, ok := strings.CutPrefix(path, "/vms/"); ok {
		if vmid, err := strconv.Atoi(id); err == nil && id[0] != '0' && id[0] != '+' {
			return s.poolOf(vmid)
		}
		return ""
	}
	if id, ok := strings.CutPrefix(path, "/storage/"); ok {
		return strings.Join(s.poolsOfStorage(id), " ")
	}
	return ""
}
