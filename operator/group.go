package operator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// member is one of the machines in the status of an object that stands for several.
// They are in the order of their numbers.
func member(s *api.MachineStatus, name string) *api.Member {
	at, there := slices.BinarySearchFunc(s.Members, name, func(m api.Member, name string) int {
		return cmp.Or(cmp.Compare(len(m.Name), len(name)), cmp.Compare(m.Name, name))
	})
	if !there {
		s.Members = slices.Insert(s.Members, at, api.Member{Name: name})
	}
	return &s.Members[at]
}

// fillGroup writes down what is known of the machines that an object stands for. One
// that was ever made stays there until it is gone: what isn't there would be
// forgotten.
func (e entry) fillGroup(vm *api.VirtualMachine) {
	s := &vm.Status
	s.Members = slices.Clone(s.Members)
	var verified time.Time
	for from, out := range e.outcomes {
		m := member(s, from.member)
		s.Provider = from.provider.Name
		v := status.Kubernetes.Outcome(out)
		m.Addresses, m.LeasedAddresses = addressesOf(out, m.Addresses, m.VMID), leasedOf(out, m.LeasedAddresses)
		m.State = status.GuestState(out.Status, v.Reason, m.VMID != 0)
		m.Node, m.VMID = out.Node, cmp.Or(out.VMID, m.VMID)
		if verified.IsZero() || !out.Verified.IsZero() && out.Verified.Before(verified) {
			verified = out.Verified
		}
		m.Ready, m.Waiting = v.State == model.StateReady, ""
		if !m.Ready && v.State != model.StateGone {
			m.Waiting = nearby(out.Owner.Namespace, v.Message)
		}
	}
	s.VerifiedAt = verifiedAt(s.VerifiedAt, verified)
	s.Members = slices.DeleteFunc(s.Members, func(m api.Member) bool { return e.left(m.Name) })
	s.Count, s.Addresses, s.LeasedAddresses, s.Node, s.VMID = len(s.Members), nil, nil, "", 0
	s.Selector = api.Group + "/virtualmachine=" + vm.Name
	running := 0
	var nodes []string
	for _, m := range s.Members {
		if m.State == string(model.StatusRunning) {
			running++
		}
		if m.Node != "" {
			nodes = append(nodes, m.Node)
		}
		s.Addresses = append(s.Addresses, m.Addresses...)
		s.LeasedAddresses = append(s.LeasedAddresses, m.LeasedAddresses...)
	}
	model.SortNames(nodes)
	s.State, s.Node = fmt.Sprintf("%d/%d running", running, len(s.Members)), strings.Join(slices.Compact(nodes), ",")
}

// left reports whether one of several machines was to go, and is gone.
func (e entry) left(name string) bool {
	for from, out := range e.outcomes {
		if from.member == name {
			return out.State == engine.StateGone
		}
	}
	return false
}

// surplus are the machines that aren't asked for any more, may not go, and are there.
func (e entry) surplus() []string {
	return slices.DeleteFunc(slices.Clone(e.found.surplus), e.left)
}

// tooMany says that there are more machines than are asked for, which may not go.
func (f found) tooMany(surplus []string) status.Verdict {
	why := fmt.Sprintf("count is %d", len(f.members)-len(f.surplus))
	return status.Kubernetes.Of(plan.Object{Refused: []plan.Refusal{{
		What: "destroy " + strings.Join(surplus, ", "), Why: why, Effect: plan.LosesData, Allow: model.AllowScaleDown,
	}}})
}
