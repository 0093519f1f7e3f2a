package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// unstartable makes an object wait if its guest is to have more CPUs than its node: Proxmox wouldn't start it
// again. A guest that already runs with so many, on a node that lost some, is left alone.
func (c *change) unstartable() bool {
	if c.v.Power == model.PowerOff || c.v.Power == model.PowerOffGraceful {
		return false
	}
	if text := lacksAffinity(c.v.Options, c.p.have.Nodes[c.g.Node]); text != "" && c.have.Options["affinity"] != c.v.Options["affinity"] {
		c.o.wait(model.WaitUnfit, fmt.Sprintf("VM %d is on %s: %s; name CPUs that it has, or migrate it to a node that has these", c.g.VMID, c.g.Node, text))
		return true
	}
	if c.deviceless() {
		return true
	}
	text := c.tooManyCPUs()
	same := allCPUs(overlaid(c.have.Options, c.v.Options)) == allCPUs(c.have.Options)
	if text == "" || c.running() && same && len(c.pending()) == 0 {
		return false
	}
	c.o.wait(model.WaitUnfit, text)
	return true
}

// lacksAffinity says that a guest is pinned to CPUs that a node doesn't have; empty: the node has
// them, or their number isn't known.
func lacksAffinity(options map[string]string, n *model.Node) string {
	if n == nil || n.CPUs == 0 {
		return ""
	}
	for last := range strings.FieldsFuncSeq(options["affinity"], func(r rune) bool { return r == ',' || r == '-' }) {
		if cpu, err := strconv.Atoi(strings.TrimSpace(last)); err == nil && cpu >= n.CPUs {
			return fmt.Sprintf("affinity names CPU %d, and there are %d, from 0 on", cpu, n.CPUs)
		}
	}
	return ""
}

// tooManyCPUs says that Proxmox won't start the guest where it is; empty: it may.
func (c *change) tooManyCPUs() string {
	text := tooManyCPUs(allCPUs(overlaid(c.have.Options, c.v.Options)), c.p.have.Nodes[c.g.Node])
	if text == "" {
		return ""
	}
	return fmt.Sprintf("VM %d can't start on %s: %s; ask for fewer CPUs, or migrate it to a node that has as many", c.g.VMID, c.g.Node, text)
}
