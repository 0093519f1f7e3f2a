package pvesim

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
)

// allRoutes says what is simulated: "METHOD /path/{template}" → handler.
// Each area keeps its own table.
func allRoutes() map[string]handler {
	all := map[string]handler{}
	for _, table := range []map[string]handler{
		accessRoutes(), poolRoutes(),
		clusterRoutes(), clusterConfigRoutes(), nodeRoutes(), nodeGuestsRoutes(), networkRoutes(), taskRoutes(), haRoutes(), mappingRoutes(), hardwareMapRoutes(), firewallRoutes(), metricRoutes(), backupJobRoutes(),
		storageRoutes(),
		qemuConfigRoutes(), qemuPowerRoutes(), qemuCloneRoutes(), qemuDiskRoutes(),
		qemuSnapshotRoutes(), qemuAgentRoutes(), qemuCloudInitRoutes(), qemuMigrateRoutes(), containerRoutes(), absentRoutes(),
	} {
		maps.Copy(all, table)
	}
	return all
}

// unlisted are folders that Proxmox' own indexes leave out.
var unlisted = map[string][]string{
	"/access":                            {"permissions", "vncticket"},
	"/nodes/{node}":                      {"execute", "vncwebsocket"},
	"/nodes/{node}/qemu/{vmid}":          {"clone", "dbus-vmstate", "feature", "mtunnelwebsocket", "template", "vncwebsocket"},
	"/nodes/{node}/qemu/{vmid}/firewall": {"log"},
	"/nodes/{node}/lxc/{vmid}/firewall":  {"log"},
	"/nodes/{node}/scan":                 {"lvmthin"},
	"/cluster/metrics":                   {"export"},
	"/cluster/sdn":                       {"dry-run", "lock", "rollback"},
	"/nodes/{node}/ceph/osd/{osdid}":     {"in", "out", "scrub"},
}

// listedAs are folders that the indexes call by another name.
var listedAs = map[string]string{"/nodes/{node}/qemu/{vmid}/move_disk": "move"}

// fallback serves index calls: those that list the folders below them.
func (s *Sim) fallback(ep *schema.Endpoint) handler {
	if ep.Method != "GET" {
		return nil
	}
	var returns struct {
		Links []struct {
			Href string `json:"href"`
		} `json:"links"`
	}
	if json.Unmarshal(ep.Returns, &returns) != nil || len(returns.Links) == 0 {
		return nil
	}
	key, ok := strings.CutSuffix(strings.TrimPrefix(returns.Links[0].Href, "{"), "}")
	if !ok {
		return nil
	}
	names := slices.DeleteFunc(s.schema.Children(ep.Path), func(name string) bool {
		return slices.Contains(unlisted[ep.Path], name)
	})
	if len(names) == 0 {
		return nil
	}
	return func(*call) (any, error) {
		list := []map[string]any{}
		for _, name := range names {
			if other := listedAs[ep.Path+"/"+name]; other != "" {
				name = other
			}
			list = append(list, map[string]any{key: name})
		}
		return list, nil
	}
}
