package privileges

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/schema"
)

// call is a request to Proxmox, as far as permissions go.
type call struct {
	method, path string
	// on says which path of the access tree a parameter stands for: vmid may be
	// /vms/100, or /vms where the VMID isn't known beforehand.
	on   map[string]string
	deed deed
	why  string
}

// same reports whether another call takes the same for the same reason.
func (c call) same(o call) bool {
	return c.method == o.method && c.path == o.path && c.why == o.why && maps.Equal(c.on, o.on)
}

// book collects what calls ask for.
type book struct {
	at     Facts
	schema *schema.Schema
	needs  []need
	noted  map[string]bool // what is among needs
	root   []RootOnly
}

// call notes what a call asks for: what its schema states, and what Proxmox
// checks in code.
func (b *book) call(c call) {
	if ep := b.schema.Lookup(c.method, c.path); ep != nil && ep.Permissions.Check != nil && ep.Permissions.User != "all" {
		b.check(ep.Permissions.Check, c)
	}
	if rule := rules[c.method+" "+c.path]; rule != nil {
		rule(b, c)
	}
}

// check notes a permission expression.
func (b *book) check(check schema.Check, c call) {
	if and, ok := check.(schema.And); ok {
		for _, part := range and {
			b.check(part, c)
		}
		return
	}
	b.add(need{any: alternatives(check, c), why: c.why})
}

// add notes a need, once for each reason.
func (b *book) add(n need) {
	key := fmt.Sprint(n)
	if len(n.any) == 0 || b.noted[key] {
		return
	}
	if b.noted == nil {
		b.noted = map[string]bool{}
	}
	b.noted[key] = true
	b.needs = append(b.needs, n)
}

// all notes privileges that are needed on a path.
func (b *book) all(why, path string, privs ...string) {
	for _, p := range privs {
		b.add(need{any: [][]claim{{{path, p}}}, why: why})
	}
}

// any notes privileges on a path, one of which is enough.
func (b *book) any(why, path string, privs ...string) {
	n := need{why: why}
	for _, p := range privs {
		n.any = append(n.any, []claim{{path, p}})
	}
	b.add(n)
}

// alternatives returns the sets of claims that make an expression hold.
func alternatives(check schema.Check, c call) [][]claim {
	switch e := check.(type) {
	case schema.And:
		all := [][]claim{nil}
		for _, part := range e {
			var next [][]claim
			for _, left := range all {
				for _, right := range alternatives(part, c) {
					next = append(next, slices.Concat(left, right))
				}
			}
			all = next
		}
		return all
	case schema.Or:
		var any [][]claim
		for _, part := range e {
			any = append(any, alternatives(part, c)...)
		}
		return any
	case schema.Perm:
		path, ok := c.fill(e.Path)
		if !ok {
			return nil
		}
		var claims []claim
		for _, p := range e.Privs {
			claims = append(claims, claim{path, p})
		}
		if !e.Any {
			return [][]claim{claims}
		}
		var any [][]claim
		for _, cl := range claims {
			any = append(any, []claim{cl})
		}
		return any
	}
	return nil // checks about users, which no call of ours has
}

// fill finds the path that a template such as /vms/{vmid} stands for in this
// call; without the parameter there is none.
func (c call) fill(template string) (string, bool) {
	_, name, ok := strings.Cut(template, "{")
	if !ok {
		return template, true
	}
	path, ok := c.on[strings.TrimSuffix(name, "}")]
	return path, ok && path != ""
}

// onlyRoot notes an option that no privilege is enough for.
func (b *book) onlyRoot(of model.Key, option, reason string) {
	r := RootOnly{Object: of, Option: option, Why: cmp.Or(reason, otherRootReason)}
	if !slices.Contains(b.root, r) {
		b.root = append(b.root, r)
	}
}

func (b *book) rootOnly() []RootOnly {
	slices.SortFunc(b.root, func(x, y RootOnly) int {
		return cmp.Or(cmp.Compare(x.Object.String(), y.Object.String()), cmp.Compare(x.Option, y.Option))
	})
	return b.root
}

func storagePath(name string) string {
	if name == "" || strings.HasPrefix(name, unnamed) {
		return "/storage"
	}
	return "/storage/" + name
}

func nodePath(name string) string {
	if name == "" || strings.HasPrefix(name, unnamed) {
		return "/nodes"
	}
	return "/nodes/" + name
}

func vmPath(vmid int) string {
	if vmid == 0 {
		return "/vms"
	}
	return fmt.Sprintf("/vms/%d", vmid)
}

func poolPath(pool string) string {
	if pool == "" {
		return ""
	}
	return "/pool/" + pool
}

// haName returns what the HA manager calls a guest.
func haName(vmid int) string { return fmt.Sprintf("vm:%d", vmid) }
