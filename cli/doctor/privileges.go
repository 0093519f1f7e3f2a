package doctor

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/privileges"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/status"
)

const rootUser = "root@pam"

// account says who is logged in, and what that means.
func (e *examination) account() {
	creds := e.conn.Credentials
	switch {
	case creds.IsToken():
		e.tokenKind(creds)
	case creds.User() == rootUser:
		e.warn(areaCredentials, "root@pam, with the password: may do everything", "Better is a token that may do only what is needed: doctor -f FILE --print-commands shows how to make one.")
	default:
		e.good(areaCredentials, "user %s, with a password", creds.User())
	}
	for _, r := range e.needs.Root {
		text := fmt.Sprintf("%s sets %s, which only root@pam may, logged in with a password: %s", r.Object, r.Option, r.Why)
		if creds.User() == rootUser && !creds.IsToken() {
			e.good(areaCredentials, "%s", text)
			continue
		}
		e.bad(areaCredentials, text, "No privilege and no token is enough, not even root's. Leave it out, or log in as root@pam with its password.")
	}
}

// tokenKind reports whether a token has only what was granted to itself. It may not be seen
// by the token itself.
func (e *examination) tokenKind(creds pve.Credentials) {
	id := creds.User() + "!" + target.TokenName(creds)
	t, err := e.c.Client.Access().Token(e.ctx, creds.User(), target.TokenName(creds))
	switch {
	case errors.Is(err, pve.ErrForbidden):
		e.good(areaCredentials, "token %s (with privilege separation, both it and %s need what is granted)", id, creds.User())
	case err != nil:
		e.warn(areaCredentials, fmt.Sprintf("token %s can't be looked up: %s", id, ui.ShortCause(err)), "")
	case t.PrivSep:
		e.good(areaCredentials, "token %s, with privilege separation: it has what both it and %s were granted", id, creds.User())
	case creds.User() == rootUser:
		e.warn(areaCredentials, "token "+id+" may do everything that privileges allow", "Better is one that may do only what is needed: doctor -f FILE --print-commands shows how to make one.")
	default:
		e.warn(areaCredentials, fmt.Sprintf("token %s is without privilege separation: it may do all that %s may", id, creds.User()),
			fmt.Sprintf("With privilege separation it has only what is granted to it: pveum user token modify %s %s --privsep 1, then the commands of doctor -f FILE --print-commands.", creds.User(), target.TokenName(creds)))
	}
	if !t.Expire.IsZero() && err == nil {
		e.good(areaCredentials, "it expires on %s", t.Expire.Format("2006-01-02"))
	}
}

// privileges compares what is needed with what is there.
func (e *examination) privileges() {
	e.d.Needed, e.d.Missing, e.d.RootOnly = e.needs.Grants, e.missing, e.needs.Root
	if !e.d.Manifests {
		return
	}
	for _, text := range e.needs.Unknown {
		e.warn(areaPrivileges, text, "So what is asked for below is a guess, and mostly more than is needed. For the exact answer run doctor again once that is granted, or now with credentials that see everything, such as root@pam's.")
	}
	for _, g := range e.missing {
		e.lacking(g)
	}
	if len(e.needs.Grants) > 0 && len(e.missing) == 0 {
		e.good(areaPrivileges, "all %s on %s that are needed for this are there", status.Count(count(e.needs.Grants), "privilege"), status.Count(len(e.needs.Grants), "path"))
	}
	e.surplus()
	e.wide()
	if len(e.missing) > 0 || e.f.commands {
		e.commands()
	}
}

// lacking says what is missing on a path; what it is for only if that isn't much.
func (e *examination) lacking(g privileges.Grant) {
	const few = 3
	if len(g.Privs) > few {
		e.bad(areaPrivileges, fmt.Sprintf("%s: %s are missing: %s", pathText(g), status.Count(len(g.Privs), "privilege"), strings.Join(g.Names(), ", ")), "")
		return
	}
	for _, p := range g.Privs {
		e.bad(areaPrivileges, fmt.Sprintf("%s: %s is missing, to %s", pathText(g), p.Name, ui.AndList(purposes(p.For))), "")
	}
}

// purposes puts together what begins alike: "set cores, sockets".
func purposes(all []string) []string {
	var out, keys []string
	for _, text := range all {
		if key, ok := strings.CutPrefix(text, "set "); ok {
			keys = append(keys, key)
		} else {
			out = append(out, text)
		}
	}
	const most = 4
	if len(keys) > most {
		keys = append(keys[:most], "…")
	}
	if len(keys) > 0 {
		out = append(out, "set "+strings.Join(keys, ", "))
	}
	return out
}

// surplus says which privileges the credentials have that nothing here needs.
func (e *examination) surplus() {
	if e.conn.Credentials.User() == rootUser {
		return // reported already
	}
	all, err := e.c.Client.Access().Permissions(e.ctx, "", "")
	if err != nil {
		return
	}
	extra := map[string]bool{}
	for _, rights := range all {
		for priv := range rights {
			extra[priv] = true
		}
	}
	for _, g := range e.needs.Grants {
		for _, name := range g.Names() {
			delete(extra, name)
		}
	}
	if len(extra) > 0 {
		e.skip(areaPrivileges, fmt.Sprintf("these credentials also have %s, which nothing here needs", ui.AndList(slices.Sorted(maps.Keys(extra)))), "")
	}
}

// wide says which rights reach far, and how to need less.
func (e *examination) wide() {
	for _, g := range e.needs.Grants {
		if slices.Contains(g.Names(), "Datastore.Allocate") {
			e.skip(areaPrivileges, fmt.Sprintf("Datastore.Allocate on %s reaches all files and disks there: Proxmox asks for it to remove any file", g.Path),
				"A storage of its own for first-boot data and fetched images keeps it apart (isoStorage in the Provider's defaults).")
		}
	}
	if !slices.ContainsFunc(e.needs.Grants, func(g privileges.Grant) bool { return g.Path == "/vms" }) {
		return
	}
	for _, v := range e.want.VMs {
		if v.Pool == "" && v.VMID == 0 {
			e.skip(areaPrivileges, "rights on /vms are rights on all guests: machines without a pool or vmid may get any VMID",
				"With pool: NAME in their manifests, rights on that pool are enough.")
			return
		}
	}
}

func count(grants []privileges.Grant) int {
	n := 0
	for _, g := range grants {
		n += len(g.Privs)
	}
	return n
}

// pathText names the path of a grant for people.
func pathText(g privileges.Grant) string {
	if g.Below {
		return g.Path + " and below"
	}
	return g.Path
}

// commands are those that grant what is needed.
func (e *examination) commands() {
	creds := e.conn.Credentials
	a := privileges.Account{User: creds.User(), Token: target.TokenName(creds), Roles: e.roles()}
	if creds.User() == rootUser {
		a.User, a.Token, a.NewUser, a.NewToken = "proxplane@pve", "proxplane", true, true
	}
	if e.f.user != "" && e.f.user != a.User {
		a.User, a.Token, a.NewUser, a.NewToken = e.f.user, "proxplane", true, true
	}
	if e.f.token != "" && e.f.token != a.Token {
		a.Token, a.NewToken = e.f.token, true
	}
	e.known(&a)
	e.held(&a)
	e.d.Commands = a.Commands(e.needs.Grants)
	whose := "user " + a.User
	if a.Token != "" {
		whose = "token " + a.TokenID()
	}
	what := "exactly what is needed"
	if len(e.needs.Unknown) > 0 {
		what = "what is needed, as far as it could be seen"
	}
	if len(e.needs.Root) > 0 {
		what += ", but for what only root@pam may"
	}
	e.d.commandsFor = fmt.Sprintf("On a node, as root, these commands give %s %s:", whose, what)
	e.changes(a)
}

// changes says what the commands change about what was granted before.
func (e *examination) changes(a privileges.Account) {
	switch {
	case a.NewUser:
	case a.UserHas.Rights == nil:
		e.skip(areaPrivileges, fmt.Sprintf("an entry on a path takes the place of what %s got from paths above it, which these credentials can't see", a.User), "")
	default:
		e.skip(areaPrivileges, fmt.Sprintf("the commands only add to what %s has: roles that are there aren't changed, and new entries repeat what they would hide", a.User), "")
	}
}

// held reads what the account was granted on the paths that something is needed on.
func (e *examination) held(a *privileges.Account) {
	own := e.conn.Credentials
	if !a.NewUser {
		a.UserHas.Rights = e.rightsOf(a.User, a.User == own.User() && !own.IsToken())
	}
	if a.Token != "" && !a.NewToken {
		a.TokenHas.Rights = e.rightsOf(a.TokenID(), a.User == own.User() && a.Token == target.TokenName(own))
	}
	entries, err := e.c.Client.Access().ACL(e.ctx)
	if err != nil {
		return
	}
	a.UserHas.At, a.TokenHas.At = map[string]bool{}, map[string]bool{}
	for _, entry := range entries {
		switch {
		case entry.Type == "user" && entry.Who == a.User:
			a.UserHas.At[entry.Path] = true
		case entry.Type == "token" && entry.Who == a.TokenID():
			a.TokenHas.At[entry.Path] = true
		}
	}
}

// rightsOf is what an account has on the paths that something is needed on; nil: these
// credentials can't see it.
func (e *examination) rightsOf(who string, own bool) map[string]map[string]bool {
	if own {
		return e.rights
	}
	all := map[string]map[string]bool{}
	for _, path := range e.needs.Paths() {
		p, err := e.c.Client.Access().Permissions(e.ctx, who, path)
		if err != nil {
			return nil
		}
		all[path] = p[path]
	}
	return all
}

// known leaves out the commands that make what is there already, as far as these
// credentials may see it.
func (e *examination) known(a *privileges.Account) {
	if a.NewUser {
		if _, err := e.c.Client.Access().User(e.ctx, a.User); err == nil {
			a.NewUser = false
		}
	}
	if a.NewToken {
		if _, err := e.c.Client.Access().Token(e.ctx, a.User, a.Token); err == nil {
			a.NewToken = false
		}
	}
}

// roles are those that there are, so that they are used or left alone.
func (e *examination) roles() map[string][]string {
	all, err := e.c.Client.Access().Roles(e.ctx)
	if err != nil {
		return nil
	}
	roles := map[string][]string{}
	for _, r := range all {
		roles[r.ID] = r.Privileges
	}
	return roles
}
