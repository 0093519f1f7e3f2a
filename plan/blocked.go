package plan

import "slices"

// Blocked reports whether nothing but a person can bring the object further: what its manifest
// asks for can't be had, and waiting doesn't change that.
func (o Object) Blocked() bool {
	return o.Wait != nil && o.Wait.Reason.Blocks() || o.impossible()
}

// impossible reports whether no flag and no policy allows what the manifest asks for.
func (o Object) impossible() bool {
	return slices.ContainsFunc(o.Refused, func(r Refusal) bool { return r.Allow == "" })
}

// Blocked reports whether an object of the plan is.
func (p Plan) Blocked() bool { return slices.ContainsFunc(p.Objects, Object.Blocked) }
