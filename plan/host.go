package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// What a guest asks of its node is looked at before anything is done for it: a
// guest that is there and can't start helps nobody.

// rootOptions may be set by root@pam only, logged in with its password.
var rootOptions = []string{"affinity", "args", "hookscript", "hugepages", "keephugepages"}

// lacksRoot makes an object wait if its guest needs options that these credentials can't set. A copy of a guest with
// the same options has them already.
func (p *planner) lacksRoot(o *Object, v model.VM, have *model.Config) bool {
	if p.have.Root {
		return false
	}
	var keys []string
	for _, k := range rootOptions {
		was := ""
		if have != nil {
			was = have.Options[k]
		}
		if want, said := v.Options[k]; said && want != was {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return false
	}
	why := ""
	if len(v.RootFor) > 0 {
		why = ", for " + strings.Join(v.RootFor, ", ")
	}
	o.wait(model.WaitRoot, fmt.Sprintf("only root@pam, logged in with its password, may set %s%s; log in so (PVE_USERNAME, PVE_PASSWORD), or leave that out",
		strings.Join(keys, " and "), why))
	return true
}

// lookHost asks for what must be known of nodes before a guest can be placed, and
// reports whether anything is missing.
func (p *planner) lookHost(o *Object, v model.VM) bool {
	if len(v.Scripts) > 0 && p.have.Snippets == nil {
		o.Look.Snippets = true
	}
	if len(v.Shares) > 0 && p.have.Dirs == nil && p.have.AtLeast(firstDirs[0], firstDirs[1]) {
		o.Look.Dirs = true
	}
	return !o.Look.Empty()
}

// lacks says what of all that a guest asks for a node doesn't have; empty: nothing.
func (p *planner) lacks(v model.VM, node string) string {
	for _, volume := range v.Scripts {
		if p.fileOn(volume, node) {
			continue
		}
		return volume + " isn't there"
	}
	for _, name := range v.Shares {
		if text := p.badShare(name, node); text != "" {
			return text
		}
	}
	return ""
}

// hookAdvice returns advice on how to install proxplane's hook on a node that is to run a guest and lacks it.
func (p *planner) hookAdvice(v model.VM, node string) model.Advice {
	for _, volume := range v.Scripts {
		if strings.HasSuffix(volume, ":snippets/"+hookScript) && !p.fileOn(volume, node) {
			return model.Advice{Do: model.InstallHook, Node: node}
		}
	}
	return model.Advice{}
}

// hookScript is the name of proxplane's hook.
const hookScript = "proxplane-hook"

// unhosted makes an object wait if its existing guest needs something now that its node doesn't have.
func (c *change) unhosted() bool {
	if len(c.v.Scripts)+len(c.v.Shares) == 0 || c.running() && c.hosted() {
		return false
	}
	if c.p.lookHost(c.o, c.v) {
		return true
	}
	if wait := c.p.shareMissing(c.v); wait != nil {
		c.o.Wait = wait
		return true
	}
	if text := c.p.lacks(c.v, c.g.Node); text != "" {
		c.o.advise(model.WaitHost, fmt.Sprintf("on %s, %s", c.g.Node, text), c.p.hookAdvice(c.v, c.g.Node))
		return true
	}
	return false
}

// hosted reports whether the guest's config has what it needs from its node.
func (c *change) hosted() bool {
	for k, want := range c.v.Options {
		if (slices.Contains(rootOptions, k) || isSlot(k, "virtiofs")) && want != c.have.Options[k] {
			return false
		}
	}
	return true
}
