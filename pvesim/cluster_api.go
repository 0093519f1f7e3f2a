package pvesim

import (
	"maps"
	"slices"
	"strconv"
)

// clusterRoutes are the calls about the cluster as a whole.
func clusterRoutes() map[string]handler {
	return map[string]handler{
		"GET /version":              version,
		"GET /nodes/{node}/version": version,
		"GET /cluster/status":       clusterStatus,
		"GET /cluster/resources":    clusterResources,
		"GET /cluster/nextid":       nextID,
		"GET /cluster/options":      clusterOptions,
		"PUT /cluster/options":      setClusterOptions,
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func version(c *call) (any, error) {
	return map[string]any{"version": c.schema.Version, "release": c.schema.Release, "repoid": c.schema.RepoID}, nil
}

func clusterStatus(c *call) (any, error) {
	list := []map[string]any{}
	for _, name := range c.nodeNames() {
		n := c.state.Nodes[name]
		m := map[string]any{
			"type": "node", "id": "node/" + name, "name": name, "nodeid": n.ID,
			"ip": n.IP, "level": "", "local": 0, "online": 0,
		}
		if name == c.entry {
			m["local"] = 1
		}
		if n.State != Offline {
			m["online"] = 1
		}
		list = append(list, m)
	}
	if c.state.Cluster == "" {
		return list, nil
	}
	return append(list, map[string]any{
		"type": "cluster", "id": "cluster", "name": c.state.Cluster,
		"nodes": len(list), "quorate": flagInt(c.quorate()), "version": c.state.Version,
	}), nil
}

func clusterResources(c *call) (any, error) {
	want := c.params.Str("type")
	is := func(kind string) bool { return want == "" || want == kind }
	list := []map[string]any{}
	if is("pool") {
		list = append(list, c.poolResources()...)
	}
	if is("vm") {
		list = slices.Grow(list, len(c.state.VMs))
		for id, vm := range c.state.VMs {
			if !c.has(c.who, "/vms/"+itoa(id), "VM.Audit") {
				continue
			}
			m := c.vmResource(vm)
			if pool, ok := m["pool"].(string); ok && !c.has(c.who, "/pool/"+pool, "Pool.Audit") {
				delete(m, "pool")
			}
			list = append(list, m)
		}
		for id, t := range c.state.Containers {
			if c.has(c.who, "/vms/"+itoa(id), "VM.Audit") {
				list = append(list, t.resource())
			}
		}
	}
	if is("node") {
		for _, name := range c.nodeNames() {
			m := c.nodeResource(c.state.Nodes[name], c.has(c.who, "/nodes/"+name, "Sys.Audit"))
			online := m["status"] == "online"
			if online {
				m["cgroup-mode"] = 2
			}
			if c.state.HA.Awake {
				m["hastate"] = c.haNodeState(name, online)
			}
			list = append(list, m)
		}
	}
	if is("storage") {
		list = append(list, c.storageResources()...)
	}
	if !is("network") && !(is("sdn") && !c.atLeast(9)) {
		return list, nil
	}
	return append(list, c.networkResources()...), nil
}

// poolResources are the pools, with the sums of their running guests.
func (c *call) poolResources() []map[string]any {
	var list []map[string]any
	for _, id := range slices.Sorted(maps.Keys(c.state.Pools)) {
		if !c.has(c.who, "/pool/"+id, "Pool.Audit") {
			continue
		}
		m := map[string]any{"id": "/pool/" + id, "pool": id, "type": "pool"}
		var mem, maxmem int64
		cpus, uptime := 0, 0
		for vmid := range c.state.Pools[id].VMs {
			vm := c.state.VMs[vmid]
			if vm == nil || vm.Run == nil {
				continue
			}
			st := c.vmStatus(vm, false)
			uptime = max(uptime, st["uptime"].(int))
			mem, maxmem, cpus = mem+vm.Run.Mem, maxmem+memoryOf(vm.Conf), cpus+c.vcpus(vm)
		}
		if uptime > 0 {
			m["uptime"], m["mem"], m["maxmem"], m["maxcpu"], m["cpu"] = uptime, mem, maxmem, cpus, 0.01
		}
		list = append(list, m)
	}
	return list
}

func (c *call) storageResources() []map[string]any {
	var list []map[string]any
	for _, id := range slices.Sorted(maps.Keys(c.state.Storages)) {
		st := c.state.Storages[id]
		if !c.has(c.who, "/storage/"+id, "Datastore.Audit") || st.Conf["disable"] == "1" {
			continue
		}
		for _, name := range c.nodeNames() {
			if st.OnNode(name) {
				list = append(list, c.storageResource(st, name))
			}
		}
	}
	return list
}

// networkResources is the zone that all bridges are in: an "sdn" entry of
// each node until 8, a "network" entry from 9.
func (c *call) networkResources() []map[string]any {
	if !c.has(c.who, "/sdn/zones/localnetwork", "SDN.Audit") {
		return nil
	}
	var list []map[string]any
	for _, name := range c.nodeNames() {
		m := map[string]any{"node": name, "status": "ok"}
		if c.atLeast(9) {
			m["id"], m["type"] = "network/"+name+"/zone/localnetwork", "network"
			m["network"], m["network-type"] = "localnetwork", "zone"
		} else {
			m["id"], m["type"], m["sdn"] = "sdn/"+name+"/localnetwork", "sdn", "localnetwork"
		}
		list = append(list, m)
	}
	return list
}
