package plan

import (
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// unfit is why a node can't take a guest. The zero value means that it can.
type unfit struct {
	reason  string
	lasting bool // waiting doesn't change it: a person has to
}

func (u unfit) no() bool { return u.reason != "" }

// now returns a reason that may pass by itself.
func now(format string, args ...any) unfit { return unfit{reason: fmt.Sprintf(format, args...)} }

// never returns a reason that lasts until a person changes something.
func never(format string, args ...any) unfit {
	return unfit{reason: fmt.Sprintf(format, args...), lasting: true}
}

// refusals are why nodes can't take a guest.
type refusals []refusal

// refusal is a reason that several nodes share.
type refusal struct {
	unfit
	nodes string
}

func (r *refusals) add(node string, why unfit) {
	for i, other := range *r {
		if other.unfit == why {
			(*r)[i].nodes += ", " + node
			return
		}
	}
	*r = append(*r, refusal{why, node})
}

func (r refusals) String() string {
	var parts []string
	for _, one := range r {
		parts = append(parts, one.nodes+": "+one.reason)
	}
	return strings.Join(parts, "; ")
}

// lasting returns those that don't pass by themselves.
func (r refusals) lasting() refusals {
	var out refusals
	for _, one := range r {
		if one.lasting {
			out = append(out, one)
		}
	}
	return out
}

// kind returns the reason to wait when all nodes refuse.
func (r refusals) kind() model.Reason {
	if len(r) > 0 && len(r.lasting()) == len(r) {
		return model.WaitUnfit
	}
	return model.WaitPlace
}

// tooManyCPUs says that a node has fewer CPUs than a guest, so that Proxmox doesn't start
// it there. Empty: it has enough, or their number isn't known.
func tooManyCPUs(need int, n *model.Node) string {
	if n == nil || n.CPUs == 0 || need <= n.CPUs {
		return ""
	}
	return fmt.Sprintf("%s, %d needed", plural(n.CPUs, "CPU"), need)
}

// cpusFrom returns how many CPUs Proxmox counts of a guest that is made from a source: sockets by
// cores, whether they are plugged in or not.
func cpusFrom(v model.VM, src *source) int {
	var from map[string]string
	if src != nil && src.guest.Config != nil {
		from = src.guest.Config.Options
	}
	return allCPUs(overlaid(from, v.Options))
}

// overlaid returns options with others set over them.
func overlaid(under, over map[string]string) map[string]string {
	out := make(map[string]string, len(under)+len(over))
	for _, options := range []map[string]string{under, over} {
		for k, v := range options {
			out[k] = v
		}
	}
	return out
}
