package plan

import "slices"

// Blocked reports whether the object can't continue until a person changes something: its
// manifest needs something that doesn't exist, and waiting doesn't help.
func (o Object) Blocked() bool {
	return o.Wait != nil && o.Wait.Reason.Blocks() || o.impossible()
}

// impossible reports whether no flag and no policy allows what the manifest asks for.
func (o Object) impossible() bool {
	return slices.ContainsFunc(o.Refused, func(r Refusal) bool { return r.Allow == "" })
}

// Blocked reports whether any object of the plan is blocked.
func (p Plan) Blocked() bool { return slices.ContainsFunc(p.Objects, Object.Blocked) }
