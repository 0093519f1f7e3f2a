package terraform

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/proxplane/proxplane/model"
)

// claims keep two resources from having one object. Objects are known by their names, and Terraform by its addresses: it
// doesn't know that two resources mean the same machine, so that one could destroy what the other has just found.
type claims struct {
	set   string
	token string // of this plan: who brings it back has been planned for already, and is to be replaced

	mu       sync.Mutex
	held     map[model.Key]bool   // a state has it
	retained map[model.Key]bool   // and it stays in Proxmox when that is destroyed
	begun    map[model.Key]bool   // a state has it, and it was never finished
	resumed  map[model.Key]bool   // a creation goes on with it
	planned  map[model.Key]bool   // a configuration says it
	leaves   map[model.Key]bool   // a plan destroys it
	applied  map[model.Key]bool   // it was made, changed or found again
	adopted  map[string]model.Key // what is to become whose, by what it is
}

func newClaims(set string) *claims {
	c := &claims{set: set, token: rand.Text()}
	c.forget()
	return c
}

// forget begins anew, as another process does.
func (c *claims) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range []*map[model.Key]bool{&c.held, &c.retained, &c.begun, &c.resumed, &c.planned, &c.leaves, &c.applied} {
		*m = map[model.Key]bool{}
	}
	c.adopted = map[string]model.Key{}
}

// hold notes that a state has some objects.
func (c *claims) hold(w part, unfinished bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range w.names() {
		c.held[k] = true
	}
	for _, v := range w.wanted.Desired.VMs {
		c.retained[v.Owner.Key] = v.Retain
	}
	c.begun[w.key] = unfinished
}

// retains reports whether a machine that a state has stays in Proxmox when its resource is destroyed.
func (c *claims) retains(k model.Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.retained[k]
}

// resume notes that a creation goes on with what a resource has.
func (c *claims) resume(w part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resumed[w.key] = true
}

// unfinished reports whether the creation of a resource goes on with what its state has; said reports whether the plan has said so.
func (c *claims) unfinished(w part) (is, said bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begun[w.key] || c.resumed[w.key], c.resumed[w.key]
}

// holds reports whether a state has an object.
func (c *claims) holds(k model.Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[k]
}

// plan notes what a configuration says; again: it is the same resource once more, since it is to be replaced.
func (c *claims) plan(w part, again bool) (diags diag.Diagnostics) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range w.names() {
		if c.planned[k] && !again {
			diags.AddError("Two resources are "+k.Name, fmt.Sprintf("Machines, images and manifests are known by their names in set %s, and another resource of this configuration is %s, too. Give one of them another name.", c.set, k.Title()))
			return diags
		}
		c.planned[k] = true
	}
	return c.disputed(w.names())
}

// adopt notes which guests are to become a resource's. They can't be two resources' at once.
func (c *claims) adopt(w part, list adoptions) (diags diag.Diagnostics) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range list {
		id := model.OriginOf(a.guest.VMID, a.guest.Config.Options)
		if other, there := c.adopted[id]; there && other != w.key {
			diags.AddError(fmt.Sprintf("Two resources are VM %d", a.guest.VMID), fmt.Sprintf("It is imported for %s and for %s, and can be one of them only. Take one of the import blocks out; if it was imported already, tofu state rm ADDRESS has it forgotten.", other.Name, w.key.Name))
			return diags
		}
		c.adopted[id] = w.key
	}
	return diags
}

// lose notes what a resource had and doesn't want any more.
func (c *claims) lose(w part) diag.Diagnostics {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Of a resource whose machine becomes several, that machine has the name of the resource itself.
	list := slices.DeleteFunc(keysOf(w.leaves), func(k model.Key) bool { return k == w.key })
	for _, k := range list {
		c.leaves[k] = true
	}
	return c.disputed(list)
}

// leave notes what a plan destroys. While it is applied, what a new resource has found already stays.
func (c *claims) leave(w part) diag.Diagnostics {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := slices.DeleteFunc(w.names(), func(k model.Key) bool { return c.applied[k] })
	for _, k := range list {
		c.leaves[k] = true
	}
	return c.disputed(list)
}

// disputed says what one resource destroys and another one wants.
func (c *claims) disputed(list []model.Key) (diags diag.Diagnostics) {
	for _, k := range list {
		if c.leaves[k] && c.planned[k] {
			diags.AddError(k.Name+" is destroyed by one resource and wanted by another", "It would be left to chance whether it is kept. If the resource has another address now, say so in a moved block, with from = OLD and to = NEW. "+
				"Else have Terraform forget the old resource: tofu state rm OLD, or a removed block with lifecycle { destroy = false }. The machine is found again by its name then.")
			return diags
		}
	}
	return nil
}

// apply notes that objects are a resource's from now on.
func (c *claims) apply(w part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range w.names() {
		c.applied[k] = true
	}
}

// stay are those of some objects that a resource has got since this process began. With create_before_destroy the new resource finds the machine of
// the old one, which isn't destroyed then.
func (c *claims) stay(owners []model.Owner) (list []model.Owner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range owners {
		if c.applied[o.Key] {
			list = append(list, o)
		}
	}
	return list
}

// names are what a resource is known by, and what is its own.
func (w part) names() []model.Key {
	all := []model.Key{w.key}
	for _, k := range keysOf(w.owners) {
		if k != w.key {
			all = append(all, k)
		}
	}
	return all
}

func keysOf(owners []model.Owner) (list []model.Key) {
	for _, o := range owners {
		list = append(list, o.Key)
	}
	return list
}

// without is what is wanted without some objects.
func without(want model.Desired, is func(model.Owner) bool) model.Desired {
	want.VMs = slices.DeleteFunc(slices.Clone(want.VMs), func(v model.VM) bool { return is(v.Owner) })
	want.Images = slices.DeleteFunc(slices.Clone(want.Images), func(i model.Image) bool { return is(i.Owner) })
	want.Snapshots = slices.DeleteFunc(slices.Clone(want.Snapshots), func(s model.Snapshot) bool { return is(s.Owner) })
	return want
}

const plannedKey = "planned"

// mark has Terraform bring the token back if the resource is planned again because it is to be replaced. It reports whether this is that time.
func (c *claims) mark(ctx context.Context, in, out private) (again bool, diags diag.Diagnostics) {
	b, diags := in.GetKey(ctx, plannedKey)
	var token string
	again = len(b) > 0 && json.Unmarshal(b, &token) == nil && token == c.token
	text, _ := json.Marshal(c.token) // which is a text
	diags.Append(out.SetKey(ctx, plannedKey, text)...)
	if again {
		diags.Append(out.SetKey(ctx, replacedKey, text)...)
	}
	return again, diags
}

// unmark takes the token out of what is kept in the state.
func unmark(ctx context.Context, in private) (diags diag.Diagnostics) {
	for _, key := range []string{plannedKey, replacedKey} {
		b, more := in.GetKey(ctx, key)
		if diags.Append(more...); len(b) > 0 {
			diags.Append(in.SetKey(ctx, key, nil)...)
		}
	}
	return diags
}
