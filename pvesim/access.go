// Package access is who there is in a simulated Proxmox, and what they may do: users, tokens, groups, roles, ACLs,
// and the rights that follow from them.
package pvesim

import (
	"maps"
	"slices"
	"strings"
)

// Access is user.cfg: who there is and what they may do. Code that changes
// it has what was derived from it forgotten afterwards.
type Access struct {
	Users  map[string]*User             `json:"users"`
	Groups map[string]*Group            `json:"groups"`
	Roles  map[string]map[string]bool   `json:"roles"` // those made by people: role → privileges
	ACL    []ACLEntry                   `json:"acl"`
	Realms map[string]map[string]string `json:"realms"`

	rights *rightsIndex // derived from the above
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

// forget drops what was derived from users, roles and ACLs.
func (a *Access) forget() { a.rights = nil }

// rolePrivs gives the privileges of a role, built in or not.
func (a *Access) rolePrivs(t *privTable, role string) (privs, bool) {
	if p, ok := t.roles[role]; ok {
		return p, true
	}
	own, ok := a.Roles[role]
	if !ok {
		return 0, false
	}
	return t.setOf(slices.Collect(maps.Keys(own))...), true
}
