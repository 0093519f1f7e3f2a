// Package access is who there is in a simulated Proxmox, and what they may do: users, tokens, groups, roles, ACLs,
// and the rights that follow from them.
package access

import (
	"maps"
	"slices"
	"strings"
)

// Config is user.cfg: who there is and what they may do. Code that changes
// it calls [Config.Forget] afterwards.
type Config struct {
	Users  map[string]*User             `json:"users"`
	Groups map[string]*Group            `json:"groups"`
	Roles  map[string]map[string]bool   `json:"roles"` // those made by people: role → privileges
	ACL    []Entry                      `json:"acl"`
	Realms map[string]map[string]string `json:"realms"`

	rights *Index // derived from the above
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

// Entry grants a role on a path.
type Entry struct {
	Path      string `json:"path"`
	Kind      string `json:"kind"` // user, group, token
	Who       string `json:"who"`
	Role      string `json:"role"`
	Propagate bool   `json:"propagate"`
}

// New returns the access of a fresh installation: two realms, and no users.
func New() Config {
	return Config{
		Users:  map[string]*User{},
		Groups: map[string]*Group{},
		Roles:  map[string]map[string]bool{},
		Realms: map[string]map[string]string{
			"pam": {"type": "pam", "comment": "Linux PAM standard authentication"},
			"pve": {"type": "pve", "comment": "Proxmox VE authentication server"},
		},
	}
}

// Root may do everything, whatever the ACLs say.
const Root = "root@pam"

// Identity is who asks: a user with a ticket, or one of its tokens.
type Identity struct {
	User    string // user@realm
	TokenID string // name of the token; empty for a ticket
}

// ParseIdentity reads user@realm or user@realm!token. Realms and tokens
// have no exclamation mark in their names, users may.
func ParseIdentity(name string) *Identity {
	at, mark := strings.LastIndexByte(name, '@'), strings.LastIndexByte(name, '!')
	if mark > at {
		return &Identity{User: name[:mark], TokenID: name[mark+1:]}
	}
	return &Identity{User: name}
}

// Name returns user@realm or user@realm!token.
func (id *Identity) Name() string {
	if id == nil {
		return ""
	}
	if id.TokenID != "" {
		return id.User + "!" + id.TokenID
	}
	return id.User
}

func (id *Identity) Token() bool { return id != nil && id.TokenID != "" }

// Root reports whether this is root@pam itself, with a ticket: some things
// are allowed to nobody else, not even to root's tokens.
func (id *Identity) Root() bool { return id != nil && id.User == Root && id.TokenID == "" }

// Forget drops what was derived from users, roles and ACLs.
func (a *Config) Forget() { a.rights = nil }

// RolePrivs gives the privileges of a role, built in or not.
func (a *Config) RolePrivs(t *Table, role string) (Privs, bool) {
	if p, ok := t.Roles[role]; ok {
		return p, true
	}
	own, ok := a.Roles[role]
	if !ok {
		return 0, false
	}
	return t.SetOf(slices.Collect(maps.Keys(own))...), true
}
