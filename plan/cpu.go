package plan

import (
	"fmt"

	"github.com/proxplane/proxplane/model"
)

// unstartable waits if a guest is to have more CPUs than its node: Proxmox wouldn't start it
// again. A guest that runs with as many already, on a node that lost some, is left alone.
func (c *change) unstartable() bool {
	if c.v.Power == model.PowerOff || c.v.Power == model.PowerOffGraceful {
		return false
	}
	text := c.tooManyCPUs()
	same := allCPUs(overlaid(c.have.Options, c.v.Options)) == allCPUs(c.have.Options)
	if text == "" || c.running() && same && len(c.pending()) == 0 {
		return false
	}
	c.o.wait(model.WaitUnfit, text)
	return true
}

// tooManyCPUs says that Proxmox won't start the guest where it is; empty: it may.
func (c *change) tooManyCPUs() string {
	text := tooManyCPUs(allCPUs(overlaid(c.have.Options, c.v.Options)), c.p.have.Nodes[c.g.Node])
	if text == "" {
		return ""
	}
	return fmt.Sprintf("VM %d can't start on %s: %s; ask for fewer CPUs, or migrate it to a node that has as many", c.g.VMID, c.g.Node, text)
}
