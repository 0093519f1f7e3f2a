package pvesim

import (
	"strings"
	"time"
)

// Access is user.cfg: who there is and what they may do. Code that changes
// it calls [Sim.accessChanged] afterwards.
type Access struct {
	Users  map[string]*User             `json:"users"`
	Groups map[string]*Group            `json:"groups"`
	Roles  map[string]map[string]bool   `json:"roles"` // those made by people: role → privileges
	ACL    []ACLEntry                   `json:"acl"`
	Realms map[string]map[string]string `json:"realms"`

	rights  *rightsIndex // derived from the above, see perm.go
	members *memberIndex // which pools guests and storages are in
}

// User is user@realm.
type User struct {
	ID       string            `json:"id"`
	Enable   bool              `json:"enable"`
	Expire   int64             `json:"expire"`
	Password string            `json:"password,omitempty"`
	Groups   map[string]bool   `json:"groups,omitempty"`
	Props    map[string]string `json:"props,omitempty"` // comment, email, firstname, lastname, keys
	Tokens   map[string]*Token `json:"tokens,omitempty"`
	SSHKeys  []string          `json:"sshKeys,omitempty"` // of the account of that name on all nodes
}

// Token is an API token of a user.
type Token struct {
	Secret  string `json:"secret"`
	PrivSep bool   `json:"privsep"`
	Expire  int64  `json:"expire"`
	Comment string `json:"comment,omitempty"`
}

// Group is a set of users; who is in it stands in the users.
type Group struct {
	ID      string `json:"id"`
	Comment string `json:"comment,omitempty"`
}

// ACLEntry grants a role on a path.
type ACLEntry struct {
	Path      string `json:"path"`
	Kind      string `json:"kind"` // user, group, token
	Who       string `json:"who"`
	Role      string `json:"role"`
	Propagate bool   `json:"propagate"`
}

func newAccess() Access {
	return Access{
		Users:  map[string]*User{},
		Groups: map[string]*Group{},
		Roles:  map[string]map[string]bool{},
		Realms: map[string]map[string]string{
			"pam": {"type": "pam", "comment": "Linux PAM standard authentication"},
			"pve": {"type": "pve", "comment": "Proxmox VE authentication server"},
		},
	}
}

// rootUser may do everything, whatever the ACLs say.
const rootUser = "root@pam"

// identity is who asks: a user with a ticket, or one of its tokens.
type identity struct {
	user    string // user@realm
	tokenID string // name of the token; empty for a ticket
}

// parseIdentity reads user@realm or user@realm!token. Realms and tokens
// have no exclamation mark in their names, users may.
func parseIdentity(name string) *identity {
	at, mark := strings.LastIndexByte(name, '@'), strings.LastIndexByte(name, '!')
	if mark > at {
		return &identity{user: name[:mark], tokenID: name[mark+1:]}
	}
	return &identity{user: name}
}

// name is user@realm or user@realm!token.
func (id *identity) name() string {
	if id == nil {
		return ""
	}
	if id.tokenID != "" {
		return id.user + "!" + id.tokenID
	}
	return id.user
}

func (id *identity) token() bool { return id != nil && id.tokenID != "" }

// root reports whether this is root@pam itself, with a ticket: some things
// are allowed to nobody else, not even to root's tokens.
func (id *identity) root() bool { return id != nil && id.user == rootUser && id.tokenID == "" }

// ticketLife is how long a ticket is good for.
const ticketLife = 2 * time.Hour

// accessChanged must be called after every change of users, tokens, groups,
// roles and ACLs. Entries for roles and tokens that no longer exist go, as
// they do when Proxmox reads its file again.
func (s *Sim) accessChanged() {
	acc := &s.state.Access
	kept := acc.ACL[:0]
	for _, e := range acc.ACL {
		if s.roleExists(e.Role) && (e.Kind != "token" || s.findToken(parseIdentity(e.Who)) != nil) {
			kept = append(kept, e)
		}
	}
	acc.ACL = kept
	acc.rights = nil
	s.dirty()
}

// accessReplaced forgets all that was derived from the state.
func (s *Sim) accessReplaced() { s.state.Access.rights, s.state.Access.members = nil, nil }

func (s *Sim) findToken(id *identity) *Token {
	if u := s.state.Access.Users[id.user]; u != nil {
		return u.Tokens[id.tokenID]
	}
	return nil
}

// dropACL removes the entries that gone says.
func (s *Sim) dropACL(gone func(ACLEntry) bool) {
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
	if s.rightsIndex().find(path) == nil {
		return
	}
	s.dropACL(func(e ACLEntry) bool { return e.Path == path || strings.HasPrefix(e.Path, path+"/") })
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
