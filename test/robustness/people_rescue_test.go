package robustness

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/inspect"
)

// rescue attaches disks to a machine of theirs that nobody uses, and whose machine is
// gone: from then on they are theirs.
func (o *others) rescue() {
	params := map[string]pve.Params{} // by node
	o.run.sim.Do(func(s *pvesim.State) {
		all, used := inspect.Volumes(s), inspect.Used(s)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			node, volume, _ := strings.Cut(name, "/")
			_, old := o.run.watch.initial[name]
			if v := all[name]; old || used[name] || v.Content != "images" || v.VMID == 0 || s.VMs[v.VMID] != nil || strings.Contains(name, "cloudinit") {
				continue
			}
			if node == "" { // on a storage that all share
				node = o.run.h.world.nodes[0]
			}
			if params[node] == nil {
				params[node] = pve.Params{"memory": "512", "description": "rescued"}
			}
			params[node]["scsi"+strconv.Itoa(len(params[node]))] = volume
		}
	})
	id := 7500
	for _, node := range slices.Sorted(maps.Keys(params)) {
		id++
		params[node]["vmid"] = strconv.Itoa(id)
		o.do(http.MethodPost, "/nodes/"+node+"/qemu", params[node])
		time.Sleep(10 * time.Second) // their answer may have been lost
		if o.nodeOf(id) != "" {
			o.run.watch.adopt(id)
			o.run.tells(othersRescue)
		}
	}
}
