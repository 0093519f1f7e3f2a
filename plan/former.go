package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// Guests, snapshots and templates that an object of Kubernetes had before it, or its
// Kubernetes, was lost and made anew. They aren't taken over unless somebody says so,
// and no second one is made beside them.

// former looks for a guest that was made for the owner when that was another object, or
// its Kubernetes had another name.
func (p *planner) former(o model.Owner) finding {
	f, was, g := p.madeFor(o, p.vms[o.Key].Range, false, func(uid string) (string, bool) { return uid, true })
	if g == nil {
		return f
	}
	return finding{wait: p.formerWait(o, was, g)}
}

// formerWait waits because of a guest that was made for the owner as it was before.
func (p *planner) formerWait(o, was model.Owner, g *model.Guest) *Wait {
	text := fmt.Sprintf("VM %d on %s was made for another object of this name, which is gone", g.VMID, g.Node)
	if was.UID == o.UID {
		text = fmt.Sprintf("VM %d on %s was made for this object by a Kubernetes that is named %s, and this one is named %s", g.VMID, g.Node, was.Set, o.Set)
	}
	o.Name = cmp.Or(p.vms[o.Key].Group, o.Name)
	return &Wait{Reason: model.WaitForeign, Text: text, Do: takeOver(o, was)}
}

// madeFor finds a guest that was made for an object which equals the owner except for its UID. That object is gone, since
// a name belongs to one object at a time. UIDs in markers may have a suffix, which cut removes. Lists show
// the names of new guests late.
func (p *planner) madeFor(o model.Owner, r model.Range, template bool, cut func(uid string) (string, bool)) (unsure finding, was model.Owner, found *model.Guest) {
	for _, g := range slices.Concat(p.have.Named(p.nameOf(o)), p.nameless()) {
		if _, _, tagged := model.ParseStateTag(g.Tags); !tagged || g.Template != template || o.UID == "" || p.passedOver(g, o, r) {
			continue
		}
		if g.Config == nil {
			unsure.look.Configs = append(unsure.look.Configs, g.VMID)
			continue
		}
		if g.Config.Marker == nil || !p.proved(g, g.Config.Marker.Owner, r) {
			continue
		}
		former := g.Config.Marker.Owner
		uid, ended := cut(former.UID)
		if former.UID = uid; ended && replaced(former, o) {
			return finding{}, former, g
		}
	}
	return unsure, model.Owner{}, nil
}

// replaced reports whether one owner has taken the place of another one: an object that
// had the same name, or the same object when its Kubernetes had another name.
func replaced(was, is model.Owner) bool {
	if was.UID == "" || is.UID == "" || was == is {
		return false
	}
	return was.Door == is.Door && was.Key == is.Key && (was.Set == is.Set || was.UID == is.UID)
}

// takeOver returns advice on how an object takes over the guest of another one, or its own guest from a
// Kubernetes of another name.
func takeOver(o, was model.Owner) model.Advice {
	return model.Advice{Do: model.TakeOver, Owner: o, Former: was}
}
