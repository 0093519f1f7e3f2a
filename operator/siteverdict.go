package operator

import (
	"fmt"
	"reflect"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// verdict is how the Provider of a site is, in a version of it; false: the site
// doesn't know of that yet. s may be nil.
func (s *provider) verdict(version int64) (status.Verdict, bool) {
	connecting := status.Verdict{State: model.StateWaiting, Reason: model.ReasonConnecting, Message: "Proxmox hasn't answered yet"}
	if s == nil {
		return connecting, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.asked.version != version:
		return connecting, false
	case s.link == nil && s.problem != "":
		return status.Verdict{State: model.StateBlocked, Reason: model.ReasonInvalid, Message: s.problem}, true
	case s.problem != "":
		return status.Verdict{State: model.StateBlocked, Reason: model.ReasonRejected, Message: s.problem}, true
	case s.trouble != nil:
		return status.Kubernetes.Of(plan.Object{Wait: s.trouble}), true
	case s.machines == nil:
		return connecting, true
	case s.link != nil && s.asked.connection != nil && !reflect.DeepEqual(s.link.connection, *s.asked.connection):
		connecting.Message = "what is asked for now is being tried, and the former connection goes on meanwhile"
		return connecting, true
	}
	return status.Verdict{State: model.StateReady, Reason: model.ReasonConnected, Message: "Proxmox answers"}, true
}

// fill writes down what is known of the Provider; s may be nil.
func (s *provider) fill(p *api.Provider) {
	if s == nil {
		return
	}
	s.mu.Lock()
	l, version, trouble := s.link, s.version, s.trouble
	s.mu.Unlock()
	if version != "" {
		p.Status.Version = version
	}
	if l == nil {
		return
	}
	if is := l.site.Identity(); is != "" && trouble == nil {
		p.Status.Proxmox = is
	}
	l.site.Observer().View(func(have *model.Observed) {
		online := 0
		for _, n := range have.Nodes {
			if n.Online {
				online++
			}
		}
		if len(have.Nodes) > 0 {
			p.Status.Nodes = fmt.Sprintf("%d/%d", online, len(have.Nodes))
		}
	})
}
