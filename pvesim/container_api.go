package pvesim

import "github.com/proxplane/proxplane/pve/schema"

// containerRoutes are the calls about containers. None can be made here, and of those that a world
// has only the config can be read: all the rest says what Proxmox says of one that is missing.
func containerRoutes() map[string]handler {
	const ct = " /nodes/{node}/lxc/{vmid}"
	routes := map[string]handler{
		"GET /nodes/{node}/lxc":                       emptyList,
		"GET" + ct + "/config":                        containerConfig,
		"PUT" + ct + "/config":                        changeContainer,
		"GET" + ct + "/interfaces":                    func(*call) (any, error) { return nil, nil },
		"GET" + ct + "/rrddata":                       emptyList,
		"POST" + ct + "/status/start":                 startContainer,
		"POST" + ct + "/status/stop":                  stopContainer,
		"POST" + ct + "/status/shutdown":              idleContainer("CT"),
		"POST" + ct + "/status/suspend":               idleContainer("CT"),
		"POST" + ct + "/status/reboot":                idleContainer("VM"),
		"POST" + ct + "/clone":                        cloneContainer,
		"POST" + ct + "/migrate":                      migrateContainer,
		"POST" + ct + "/move_volume":                  moveContainerVolume,
		"POST" + ct + "/snapshot":                     snapshotContainer,
		"DELETE" + ct + "/snapshot/{snapname}":        failContainer("vzdelsnapshot"),
		"POST" + ct + "/snapshot/{snapname}/rollback": failContainer("vzrollback"),
		"GET" + ct + "/snapshot/{snapname}":           snapshotIndex,
		"PUT" + ct + "/snapshot/{snapname}/config":    describeContainerSnapshot,
	}
	for _, call := range []string{
		"DELETE" + ct, "GET" + ct, "GET" + ct + "/pending", "GET" + ct + "/snapshot",
		"GET" + ct + "/snapshot/{snapname}/config", "GET" + ct + "/status", "GET" + ct + "/status/current",
		"GET" + ct + "/feature", "GET" + ct + "/migrate", "POST" + ct + "/remote_migrate", "PUT" + ct + "/resize",
		"POST" + ct + "/template", "POST" + ct + "/vncproxy", "POST" + ct + "/termproxy", "POST" + ct + "/spiceproxy",
	} {
		routes[call] = missingContainer
	}
	return routes
}

func missingContainer(c *call) (any, error) {
	return nil, noGuest(c.node(), "lxc", c.params.Int("vmid"))
}

// failContainer starts a task that finds no container.
func failContainer(kind string) handler {
	return func(c *call) (any, error) {
		_, err := missingContainer(c)
		return c.forkVM(kind, func(*task) error { return err })
	}
}

// idleContainer refuses what needs a container that runs.
func idleContainer(kind string) handler {
	return func(c *call) (any, error) { return nil, die("%s %d not running", kind, c.params.Int("vmid")) }
}

func startContainer(c *call) (any, error) {
	if err := c.rootOnly("skiplock"); err != nil {
		return nil, err
	}
	return failContainer("vzstart")(c)
}

func stopContainer(c *call) (any, error) {
	if err := c.rootOnly("skiplock"); err != nil {
		return nil, err
	}
	return idleContainer("CT")(c)
}

func changeContainer(c *call) (any, error) {
	for _, key := range c.params.Keys() {
		if key != "node" && key != "vmid" && key != "digest" {
			return missingContainer(c)
		}
	}
	return nil, die("no options specified")
}

func cloneContainer(c *call) (any, error) {
	p := c.params
	if pool := p.Str("pool"); p.Has("pool") && c.state.Pools[pool] == nil {
		return nil, denied("pool '" + pool + "' does not exist")
	}
	target := c.nodeName(p.Str("target"))
	if target == c.node() {
		target = ""
	}
	if target != "" && c.state.Nodes[target] == nil {
		return nil, die("no such cluster node '%s'", target)
	}
	if err := c.checkCloneStorage(&cloneJob{node: c.node(), target: target, storage: p.Str("storage")}); err != nil {
		return nil, err
	}
	return missingContainer(c)
}

func migrateContainer(c *call) (any, error) {
	target := c.nodeName(c.params.Str("target"))
	if target == c.node() {
		return nil, badParam("target", "target is local node.")
	}
	if c.state.Nodes[target] == nil {
		return nil, die("no such cluster node '%s'", target)
	}
	return missingContainer(c)
}

func moveContainerVolume(c *call) (any, error) {
	p := c.params
	storage, target := p.Str("storage"), p.Str("target-vmid")
	switch {
	case storage != "" && target != "":
		return nil, die("either set storage or target-vmid, but not both")
	case storage == "" && target == "":
		const text = "both 'storage' and 'target-vmid' missing, either needs to be set"
		return nil, badParams(schema.Errors{"storage": text, "target-vmid": text})
	case storage != "":
		if err := c.need(c.who, "/storage/"+storage, "Datastore.AllocateSpace"); err != nil {
			return nil, err
		}
		return missingContainer(c)
	}
	if err := c.need(c.who, vmPath(p.Int("target-vmid")), "VM.Config.Disk"); err != nil {
		return nil, err
	}
	volume, to := p.Str("volume"), p.Str("target-volume")
	if family(volume, "unused") && to != "" && !family(to, "unused") {
		return nil, die("Moving an unused volume to a used one is not possible")
	}
	for _, name := range []string{"vmid", "target-vmid"} {
		if c.state.VMs[p.Int(name)] == nil {
			return nil, die("could not find CT %d", p.Int(name))
		}
	}
	return missingContainer(c)
}

func snapshotContainer(c *call) (any, error) {
	if name := c.params.Str("snapname"); name == "current" || name == "vzdump" {
		return nil, die("unable to use snapshot name '%s' (reserved name)", name)
	}
	return failContainer("vzsnapshot")(c)
}

func describeContainerSnapshot(c *call) (any, error) {
	if !c.params.Has("description") {
		return nil, nil
	}
	return missingContainer(c)
}
