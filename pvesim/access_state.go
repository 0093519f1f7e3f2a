package pvesim

import (
	"strings"
	"time"

	"github.com/proxplane/proxplane/pvesim/access"
)

// ticketLife is how long a ticket is good for.
const ticketLife = 2 * time.Hour

// accessChanged must be called after every change of users, tokens, groups,
// roles and ACLs. Entries for roles and tokens that no longer exist go, as
// they do when Proxmox reads its file again.
func (s *Sim) accessChanged() {
	acc := &s.state.Access
	kept := acc.ACL[:0]
	for _, e := range acc.ACL {
		if s.roleExists(e.Role) && (e.Kind != "token" || s.findToken(access.ParseIdentity(e.Who)) != nil) {
			kept = append(kept, e)
		}
	}
	acc.ACL = kept
	acc.Forget()
	s.dirty()
}

// accessReplaced forgets all that was derived from the state.
func (s *Sim) accessReplaced() {
	s.state.Access.Forget()
	s.state.members = nil
}

func (s *Sim) findToken(id *access.Identity) *access.Token {
	if u := s.state.Access.Users[id.User]; u != nil {
		return u.Tokens[id.TokenID]
	}
	return nil
}

// dropACL removes the entries that gone says.
func (s *Sim) dropACL(gone func(access.Entry) bool) {
	acc := &s.state.Access
	kept := acc.ACL[:0]
	for _, e := range acc.ACL {
		if !gone(e) {
			kept = append(kept, e)
		}
	}
	acc.ACL = kept
}

// dropACLBelow removes the entries of a path and of everything below it.
func (s *Sim) dropACLBelow(path string) {
	if !s.rightsIndex().Has(path) {
		return
	}
	s.dropACL(func(e access.Entry) bool { return e.Path == path || strings.HasPrefix(e.Path, path+"/") })
	s.accessChanged()
}

// storedText is what is left of a text after it went through user.cfg:
// blanks around it are lost, and "0" counts as nothing.
func storedText(text string) string {
	text = strings.Trim(text, " ")
	if text == "0" {
		return ""
	}
	return text
}

// privTable is that of the simulated release.
func (s *Sim) privTable() *access.Table {
	if s.atLeast(9) {
		return access.TableOf(9)
	}
	return access.TableOf(8)
}

// rolePrivs gives the privileges of a role, built in or not.
func (s *Sim) rolePrivs(role string) (access.Privs, bool) {
	return s.state.Access.RolePrivs(s.privTable(), role)
}

func (s *Sim) roleExists(role string) bool {
	_, ok := s.rolePrivs(role)
	return ok
}

// builtinRole reports whether a role comes with Proxmox.
func (s *Sim) builtinRole(role string) bool {
	_, ok := s.privTable().Roles[role]
	return ok
}

// rightsIndex gives the index of rights, made anew when something has changed.
func (s *Sim) rightsIndex() *access.Index { return s.state.Access.Index(s.privTable()) }
