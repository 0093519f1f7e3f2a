package operator

import (
	"fmt"
	"reflect"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/status"
)

// verdict is how the Provider is, in a version of it; false: that version isn't known yet. p may
// be nil.
func (p *provider) verdict(version int64) (status.Verdict, bool) {
	connecting := status.Verdict{State: model.StateWaiting, Reason: model.ReasonConnecting, Message: "Proxmox hasn't answered yet"}
	if p == nil {
		return connecting, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.asked.version != version:
		return connecting, false
	case p.link == nil && p.problem != "":
		return status.Verdict{State: model.StateBlocked, Reason: model.ReasonInvalid, Message: p.problem}, true
	case p.problem != "":
		return status.Verdict{State: model.StateBlocked, Reason: model.ReasonRejected, Message: p.problem}, true
	case p.trouble != nil:
		return status.Kubernetes.Of(plan.Object{Wait: p.trouble}), true
	case p.machines == nil:
		return connecting, true
	case p.link != nil && p.asked.connection != nil && !reflect.DeepEqual(p.link.connection, *p.asked.connection):
		connecting.Message = "what is asked for now is being tried, and the former connection goes on meanwhile"
		return connecting, true
	}
	return status.Verdict{State: model.StateReady, Reason: model.ReasonConnected, Message: "Proxmox answers"}, true
}

// fill writes down what is known of the Provider; p may be nil.
func (p *provider) fill(to *api.Provider) {
	if p == nil {
		return
	}
	p.mu.Lock()
	l, version, trouble := p.link, p.version, p.trouble
	p.mu.Unlock()
	if version != "" {
		to.Status.Version = version
	}
	if l == nil {
		return
	}
	if is := l.site.Identity(); is != "" && trouble == nil {
		to.Status.Proxmox = is
	}
	l.site.Observer().View(func(have *model.Observed) {
		online := 0
		for _, n := range have.Nodes {
			if n.Online {
				online++
			}
		}
		if len(have.Nodes) > 0 {
			to.Status.Nodes = fmt.Sprintf("%d/%d", online, len(have.Nodes))
		}
	})
}
