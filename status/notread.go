package status

import (
	"fmt"

	"github.com/proxplane/proxplane/plan"
)

// What a plan may not have read.
const (
	NotReadConfigs = "configs" // of machines that the cluster's list shows as up to date
	NotReadPower   = "power"   // the list's power states are up to ten seconds old
	NotReadAgents  = "agents"  // whether guest agents report the addresses that are waited for
)

// NotReadOf is what wasn't read for a plan, in one word each.
func NotReadOf(p plan.Plan, quick bool) []string {
	switch {
	case quick:
		return []string{NotReadConfigs, NotReadPower, NotReadAgents}
	case unasked(p) > 0:
		return []string{NotReadAgents}
	}
	return nil
}

// NotRead is the last line of a plan for which not everything was read; empty: it was.
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

// unasked is how many guest agents weren't asked for the address that is waited for.
func unasked(p plan.Plan) (n int) {
	for _, o := range p.Objects {
		if o.Unasked {
			n++
		}
	}
	return n
}
