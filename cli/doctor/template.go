package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/status"
)

// template checks which templates the name of an image stands for, and who could have it
// stand for others.
func (e *examination) template(i model.Image) {
	guests, why := plan.Templates(i, e.have)
	switch {
	case len(guests) > 0:
	case len(e.have.Named(i.Template)) > 0:
		e.bad(areaManifests, fmt.Sprintf("%s: %s", status.Name(i.Owner.Key), why), "")
		return
	default:
		e.notSeen(i, "template "+i.Template, "/vms")
		return
	}
	var at []string
	for _, g := range guests {
		at = append(at, fmt.Sprintf("%d on %s", g.VMID, g.Node))
	}
	model.SortNames(at)
	e.good(areaManifests, "template %s: VM %s", i.Template, strings.Join(at, ", "))
	if i.Pin.IsZero() {
		e.renamers(i, guests[0])
	}
}

// renamers warns of others who could give one of their VMs the name of a template.
func (e *examination) renamers(i model.Image, g *model.Guest) {
	if e.others == nil {
		e.others = e.whoConfigures()
	}
	if len(e.others) == 0 {
		return
	}
	e.warn(areaManifests, fmt.Sprintf("the source %s of %s is a name, which %s may give to VMs of their own", i.Template, status.Name(i.Owner.Key), ui.AndList(e.others)),
		fmt.Sprintf("Say which template is meant: source: %q, or sourceSelector with a pool that only administrators put VMs into.", fmt.Sprint(g.VMID)))
}

// whoConfigures are users and groups beside this login's and root who may name some VM,
// as far as that is shown to it; it isn't nil.
func (e *examination) whoConfigures() []string {
	others := []string{}
	roles, err := e.c.Client.Access().Roles(e.ctx)
	if err != nil {
		return others
	}
	names := func(r pve.Role) bool { return slices.Contains(r.Privileges, "VM.Config.Options") }
	entries, err := e.c.Client.Access().ACL(e.ctx)
	if err != nil {
		return others
	}
	self, _, _ := strings.Cut(e.conn.Credentials.User(), "!")
	for _, entry := range entries {
		user, _, _ := strings.Cut(entry.Who, "!")
		mine := entry.Type != "group" && (user == self || user == "root@pam")
		can := slices.ContainsFunc(roles, func(r pve.Role) bool { return r.ID == entry.Role && names(r) })
		who := entry.Who
		if entry.Type == "group" {
			who = "group " + who
		}
		if can && !mine && !slices.Contains(others, who) {
			others = append(others, who)
		}
	}
	model.SortNames(others)
	return others
}
