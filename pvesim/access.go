package pvesim

import "time"

// Access is user.cfg: who there is and what they may do.
type Access struct {
	Users  map[string]*User             `json:"users"`
	Groups map[string]*Group            `json:"groups"`
	Roles  map[string]map[string]bool   `json:"roles"` // those made by people: role → privileges
	ACL    []ACLEntry                   `json:"acl"`
	Realms map[string]map[string]string `json:"realms"`
}

// User is user@realm.
type User struct {
	ID       string            `json:"id"`
	Enable   bool              `json:"enable"`
	Expire   int64             `json:"expire"`
	Password string            `json:"password,omitempty"`
	Groups   map[string]bool   `json:"groups,omitempty"`
	Props    map[string]string `json:"props,omitempty"` // comment, email, firstname, …
	Tokens   map[string]*Token `json:"tokens,omitempty"`
}

// Token is an API token of a user.
type Token struct {
	Secret  string `json:"secret"`
	PrivSep bool   `json:"privsep"`
	Expire  int64  `json:"expire"`
	Comment string `json:"comment,omitempty"`
}

// Group is a set of users.
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

// identity is who asks: a user with a ticket, or one of its tokens.
type identity struct {
	user    string // user@realm
	tokenID string // name of the token; empty for a ticket
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

// root tells whether this is root@pam itself, with a ticket: some things
// are allowed to nobody else, not even to root's tokens.
func (id *identity) root() bool { return id != nil && id.user == "root@pam" && id.tokenID == "" }

// ticketLife is how long a ticket is good for.
const ticketLife = 2 * time.Hour
