package target

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/privileges"
	"github.com/proxplane/proxplane/pve"
)

// Remedy says how to grant what is missing, with commands that fit what was granted
// before, as far as these credentials may see that.
func (c *Site) Remedy(l model.Lack) []string { return c.remedy(l, nil) }

// Remedies say how to grant all that is missing, with commands that can be run one after the
// other: the roles that they make, by privileges, for each cluster.
type Remedies map[*Site]map[string]string

// For returns a [Site.Remedy] for several paths.
func (r Remedies) For(c *Site, missing ...model.Lack) []string {
	if r[c] == nil {
		r[c] = map[string]string{}
	}
	var lines, last []string
	for _, l := range missing {
		one := c.remedy(l, r[c])
		lines, last = append(lines, one[:len(one)-1]...), one[len(one)-1:] // where all of it is shown
	}
	return append(lines, last...)
}

// remedy is that for one path, after commands that make some roles.
func (c *Site) remedy(l model.Lack, made map[string]string) []string {
	creds := c.Connection.Credentials
	lack := l
	if l.Any {
		lack.Privs = []string{privileges.Least(l.Path, l.Privs)}
	}
	joined := strings.Join(lack.Privs, " and ")
	doctor := "proxplane doctor shows all that is needed, with the commands."
	if slices.Contains(l.Privs, "VM.Migrate") {
		doctor = "proxplane doctor --for move shows all that is needed, with the commands."
	}
	what := fmt.Sprintf("Grant %s on %s to %s", joined, l.Path, ui.Who(creds))
	sight, err := c.sight(lack)
	if err != nil {
		return []string{what + ".", doctor}
	}
	sight.Made = made
	lines := sight.Remedy(lack)
	if len(lines) == 0 {
		return []string{what + ": the role NoAccess forbids it now.", doctor}
	}
	out := []string{what + "; on a node, as root:"}
	for _, line := range lines {
		out = append(out, "  "+line)
	}
	if sight.Repeats(lack) {
		out = append(out, "The other privileges are there already: an entry on a path takes the place of those above it, so it repeats them.")
	}
	if sight.Hides() {
		out = append(out, fmt.Sprintf("An entry for %s takes the place of what it has there by its groups, or by an entry on a path above.", creds.User()))
	}
	return append(out, doctor)
}

// sight looks at who may do what. What these credentials may not see stays empty.
func (c *Site) sight(l model.Lack) (privileges.Sight, error) {
	// What was done has failed, and may have been stopped: this is about it.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	creds, access := c.Connection.Credentials, c.Client.Access()
	s := privileges.Sight{User: creds.User(), Token: TokenName(creds), Roles: map[string]bool{}}
	own, err := access.Permissions(ctx, "", "")
	if err != nil {
		return s, err
	}
	here, err := access.Permissions(ctx, "", l.Path)
	if err != nil {
		return s, err
	}
	s.Here = here[l.Path]
	roles, err := access.Roles(ctx)
	if err != nil {
		return s, err
	}
	for _, r := range roles {
		s.Roles[r.ID] = true
	}
	if s.Token == "" {
		s.OfUser = s.Here
	} else if t, err := access.Token(ctx, s.User, s.Token); err == nil {
		s.Separate = &t.PrivSep
	}
	if _, audits := own["/access"]["Sys.Audit"]; audits {
		s.Whole = c.entries(ctx, l, &s) == nil
	}
	return s, nil
}

// entries reads who was granted what.
func (c *Site) entries(ctx context.Context, l model.Lack, s *privileges.Sight) error {
	access := c.Client.Access()
	entries, err := access.ACL(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		s.ACL = append(s.ACL, privileges.Entry{Path: e.Path, Role: e.Role, Type: e.Type, Who: e.Who, Below: e.Propagate})
	}
	if s.Token != "" {
		of, err := access.Permissions(ctx, s.User, l.Path)
		if err != nil {
			return err
		}
		s.OfUser = of[l.Path]
	}
	user, err := access.User(ctx, s.User)
	s.Groups = user.Groups
	return err
}

// TokenName returns the part behind the "!".
func TokenName(c pve.Credentials) string {
	_, name, _ := strings.Cut(c.String(), "!")
	return name
}
