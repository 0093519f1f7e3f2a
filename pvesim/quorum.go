package pvesim

import (
	"strings"
	"time"

	"github.com/proxplane/proxplane/pve/schema"
)

// quorate reports whether more than half of the nodes see each other. Without
// that nothing below /etc/pve can be written.
func (s *Sim) quorate() bool {
	if s.state.Cluster == "" {
		return true
	}
	online := 0
	for _, n := range s.state.Nodes {
		if n.State != Offline {
			online++
		}
	}
	return 2*online > len(s.state.Nodes)
}

// asksForQuorum are the calls that look for it before anything else.
var asksForQuorum = map[string]bool{
	"POST /nodes/{node}/qemu":                     true,
	"POST /nodes/{node}/qemu/{vmid}/status/start": true,
	"POST /nodes/{node}/qemu/{vmid}/clone":        true,
	"GET /nodes/{node}/qemu/{vmid}/migrate":       true,
	"POST /nodes/{node}/qemu/{vmid}/migrate":      true,
	"POST /cluster/ha/resources":                  true,
	"POST /cluster/ha/groups":                     true,
	"POST /cluster/ha/rules":                      true,
}

// needsNoQuorum reports whether a call writes nothing that all nodes share:
// what it changes is in a guest, on a storage or on the node itself.
func needsNoQuorum(ep *schema.Endpoint) bool {
	if ep.Method == "GET" {
		return true
	}
	for _, part := range []string{
		"/status/", "/agent", "/monitor", "/sendkey", "proxy", "/tasks/", "/storage/{storage}/", "/network", "/dns", "/hosts", "ticket",
	} {
		if strings.Contains(ep.Path, part) {
			return true
		}
	}
	return false
}

// cfsLockWait is how long a cluster lock is waited for.
const cfsLockWait = 10 * time.Second

// needQuorum fails calls as they fail in a cluster without quorum.
func (a *actor) needQuorum(ep *schema.Endpoint, params schema.Params, entry string) error {
	if a.quorate() {
		return nil
	}
	if asksForQuorum[ep.String()] {
		return die("cluster not ready - no quorum?")
	}
	if needsNoQuorum(ep) {
		return nil
	}
	if strings.HasPrefix(ep.Path, "/nodes/{node}/qemu/{vmid}") {
		vm := a.state.VMs[params.Int("vmid")]
		if vm == nil {
			return nil // what is missing is said first
		}
		return die("unable to open file '/etc/pve/nodes/%s/qemu-server/%d.conf.tmp.%d' - Permission denied",
			vm.Node, vm.ID, int(a.serial("pid/"+entry))+1000)
	}
	a.sleep(cfsLockWait)
	return die("error with cfs lock '%s': no quorum!", cfsLock(ep.Path))
}

// cfsLock names the lock under which a call writes.
func cfsLock(path string) string {
	for prefix, lock := range map[string]string{
		"/access": "file-user_cfg", "/pools": "file-user_cfg", "/storage": "file-storage_cfg", "/cluster/ha": "domain-ha",
		"/cluster/firewall": "firewall-cluster", "/cluster/mapping": "file-mapping_directory_cfg", "/access/domains": "file-domains_cfg",
	} {
		if strings.HasPrefix(path, prefix) && (prefix != "/access" || !strings.HasPrefix(path, "/access/domains")) {
			return lock
		}
	}
	return "file-datacenter_cfg"
}
