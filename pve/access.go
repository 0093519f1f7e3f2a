package pve

import (
	"context"
	"net/http"
	"time"
)

// Access is a handle for users, tokens, roles and permissions.
type Access struct{ c *Client }

// Access gives a handle for users, tokens, roles and permissions.
func (c *Client) Access() Access { return Access{c} }

// Ticket is the result of a login, valid for two hours: used as cookie PVEAuthCookie, with the
// CSRF token as header CSRFPreventionToken of writes. A [Client] does all this by itself.
type Ticket struct {
	User      string `json:"username"`
	Ticket    Secret `json:"ticket"`
	CSRFToken Secret `json:"CSRFPreventionToken"`
	NeedsTFA  bool   `json:"NeedTFA"` // it isn't good before the second factor was given
}

type ticketParams struct {
	User     string `pve:"username"`
	Password Secret `pve:"password"`
}

// Permissions are privileges on paths: permissions["/vms/100"]["VM.Audit"]. The value says
// whether the privilege also holds below the path.
type Permissions map[string]map[string]bool

type permissionParams struct {
	User string `pve:"userid"`
	Path string `pve:"path"`
}

// Permissions reads what a user or token ("user@realm!name") may do, on one path or on all that
// have something granted. An empty user means the client's own credentials; others need
// Sys.Audit on /access.
func (a Access) Permissions(ctx context.Context, user, path string) (Permissions, error) {
	return get[Permissions](ctx, a.c, permissionParams{user, path}, "/access/permissions")
}

// User is a user of Proxmox.
type User struct {
	ID        string    `json:"userid"`
	Enabled   bool      `json:"enable"`
	Expire    time.Time `json:"expire"` // zero: never
	Comment   string    `json:"comment"`
	Email     string    `json:"email"`
	FirstName string    `json:"firstname"`
	LastName  string    `json:"lastname"`
	Groups    []string  `json:"groups"`
	RealmType string    `json:"realm-type"`
}

// User reads about one user.
func (a Access) User(ctx context.Context, id string) (User, error) {
	u, err := get[User](ctx, a.c, nil, "/access/users/{userid}", id)
	u.ID = id
	return u, err
}

// NewUser describes a user to make.
type NewUser struct {
	ID       string    `pve:"userid"` // name@realm
	Password Secret    `pve:"password"`
	Comment  string    `pve:"comment"`
	Groups   []string  `pve:"groups"`
	Email    string    `pve:"email"`
	Enabled  *bool     `pve:"enable"`
	Expire   time.Time `pve:"expire"`
}

// CreateUser makes a user.
func (a Access) CreateUser(ctx context.Context, user NewUser) error {
	return tell(ctx, a.c, http.MethodPost, user, "/access/users")
}

// APIToken is a token of a user, without its secret.
type APIToken struct {
	Name    string    `json:"tokenid"`
	Comment string    `json:"comment"`
	Expire  time.Time `json:"expire"`  // zero: never
	PrivSep bool      `json:"privsep"` // has only what is granted to it, within what its user may do
}

// Token reads about one token.
func (a Access) Token(ctx context.Context, user, name string) (APIToken, error) {
	t, err := get[APIToken](ctx, a.c, nil, "/access/users/{userid}/token/{tokenid}", user, name)
	t.Name = name
	return t, err
}

// NewToken describes a token to make.
type NewToken struct {
	Comment string    `pve:"comment"`
	Expire  time.Time `pve:"expire"`
	PrivSep *bool     `pve:"privsep"` // Proxmox' default is true
}

// CreatedToken is a new token. Proxmox shows its secret this once.
type CreatedToken struct {
	ID     string `json:"full-tokenid"` // user@realm!name
	Secret Secret `json:"value"`
}

// Credentials returns what a client needs to use the token.
func (t CreatedToken) Credentials() Credentials { return Token(t.ID, t.Secret.Reveal()) }

// CreateToken makes a token.
func (a Access) CreateToken(ctx context.Context, user, name string, token NewToken) (CreatedToken, error) {
	return post[CreatedToken](ctx, a.c, token, "/access/users/{userid}/token/{tokenid}", user, name)
}

// Role is a set of privileges.
type Role struct {
	ID         string   `json:"roleid"`
	Privileges []string `json:"privs"`
	Special    bool     `json:"special"` // comes with Proxmox
}

// Roles lists all roles.
func (a Access) Roles(ctx context.Context) ([]Role, error) {
	return get[[]Role](ctx, a.c, nil, "/access/roles")
}

type roleParams struct {
	ID         string   `pve:"roleid"`
	Privileges []string `pve:"privs"`
}

// CreateRole makes a role. A privilege that this release doesn't have is refused.
func (a Access) CreateRole(ctx context.Context, id string, privileges []string) error {
	return tell(ctx, a.c, http.MethodPost, roleParams{id, privileges}, "/access/roles")
}

// RoleChange changes the privileges of a role.
type RoleChange struct {
	Privileges []string `pve:"privs"`
	Append     bool     `pve:"append"` // keep those it has
}

// SetRole changes a role.
func (a Access) SetRole(ctx context.Context, id string, change RoleChange) error {
	return tell(ctx, a.c, http.MethodPut, change, "/access/roles/{roleid}", id)
}

// ACLEntry grants a role to somebody on a path.
type ACLEntry struct {
	Path      string `json:"path"`
	Role      string `json:"roleid"`
	Type      string `json:"type"` // user, group or token
	Who       string `json:"ugid"`
	Propagate bool   `json:"propagate"`
}

// ACL lists what is granted.
func (a Access) ACL(ctx context.Context) ([]ACLEntry, error) {
	return get[[]ACLEntry](ctx, a.c, nil, "/access/acl")
}

// ACLChange grants roles on a path, or takes them away.
type ACLChange struct {
	Path      string   `pve:"path"`
	Roles     []string `pve:"roles"`
	Users     []string `pve:"users"`
	Groups    []string `pve:"groups"`
	Tokens    []string `pve:"tokens"`
	Propagate *bool    `pve:"propagate"` // Proxmox' default is true
	Delete    bool     `pve:"delete"`
}

// SetACL changes what is granted.
func (a Access) SetACL(ctx context.Context, change ACLChange) error {
	return tell(ctx, a.c, http.MethodPut, change, "/access/acl")
}
