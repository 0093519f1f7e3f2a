package change

import (
	"context"
	"time"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/site"
)

// Machines of several clusters are counted together when they are restarted or replaced, and take
// turns in the order in which the plan shows them.

// disrupting is how many clusters are concerned when machines are restarted or replaced: all of them, if
// there is one such machine. If one of the clusters can't be asked, it is 0: nothing is done then.
func disrupting(list []*target.Site, plans []plan.Plan, errs []error) (clusters int) {
	found := false
	for i, one := range list {
		if errs[i] != nil {
			return 0
		}
		vms := map[model.Key]model.VM{}
		for _, v := range one.Desired.VMs {
			vms[v.Owner.Key] = v
		}
		for _, o := range plans[i].Objects {
			v, ok := vms[o.Owner.Key]
			found = found || ok && o.Disrupts(v)
		}
	}
	if found {
		clusters = len(list)
	}
	return clusters
}

// inTurn plans with the machines of all clusters counted together, with what was read since a time.
func inTurn(ctx context.Context, list []*target.Site, since time.Time) ([]plan.Plan, []error) {
	all, errs := make([]site.Together, len(list)), make([]error, len(list))
	for i, one := range list {
		all[i] = site.Together{Site: one.Site, Name: nameOf(one), Want: one.Desired}
	}
	plans, at, err := site.PlanTogether(ctx, all, since)
	if err != nil {
		errs[at] = list[at].Fail(err)
	}
	return plans, errs
}

// partiesOf has the machines of several clusters counted together when they are restarted or
// replaced, and take turns as the plans say.
func partiesOf(list []*target.Site, plans []plan.Plan) []*engine.Party {
	parties := make([]*engine.Party, len(list))
	if len(list) < 2 {
		return parties
	}
	budget := engine.NewBudget(nil)
	for i, c := range list {
		parties[i] = c.Site.Attend(budget, nameOf(c), c.Desired)
		parties[i].Queue(plans[i])
	}
	return parties
}

// nameOf is what a cluster is called in messages.
func nameOf(c *target.Site) string { return "provider/" + c.Provider.Name }
