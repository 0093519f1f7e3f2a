package status

import (
	"fmt"

	"github.com/proxplane/proxplane/plan"
)

// Kinds of facts that a plan may not have read.
const (
	NotReadConfigs = "configs" // of machines that the cluster's list shows as up to date
	NotReadPower   = "power"   // the list's power states are up to ten seconds old
	NotReadAgents  = "agents"  // the addresses that guest agents report
)

// NotReadOf returns what wasn't read for a plan, in one word each.
func NotReadOf(p plan.Plan, quick bool) []string {
	switch {
	case quick:
		return []string{NotReadConfigs, NotReadPower, NotReadAgents}
	case unasked(p) > 0:
		return []string{NotReadAgents}
	}
	return nil
}

// NotRead returns the last line of a plan for which not everything was read; empty: everything
// was read.
func (p Page) NotRead(all plan.Plan, quick bool) string {
	var text string
	switch n := unasked(all); {
	case quick:
		text = "Not looked at because of --quick: configs of machines that the cluster's list shows as up to date, power states of the last ten seconds, guest agents."
	case n > 0:
		text = fmt.Sprintf("Not looked at: whether %s an address; apply and wait do that.", Count(n, "guest agent reports", "guest agents report"))
	default:
		return ""
	}
	return p.Grey(Wrap(text, p.Width, "      ")) + "\n"
}

// unasked returns how many guest agents weren't asked for the address that is waited for.
func unasked(p plan.Plan) (n int) {
	for _, o := range p.Objects {
		if o.Unasked {
			n++
		}
	}
	return n
}
