package pvesim

// clusterConfigRoutes show how the nodes form a cluster.
func clusterConfigRoutes() map[string]handler {
	return map[string]handler{
		"GET /cluster/config/apiversion": func(*call) (any, error) { return joinVersion, nil },
		"GET /cluster/config/nodes":      corosyncNodes,
		"GET /cluster/config/join":       joinInfo,
		"GET /cluster/config/totem":      corosyncTotem,
		"GET /cluster/config/qdevice":    func(*call) (any, error) { return map[string]any{}, nil },
	}
}

// joinVersion is that of the way in which nodes join a cluster.
const joinVersion = 1

// corosyncNode is a node as the cluster's configuration file has it: all
// values are texts.
func (c *call) corosyncNode(name string) map[string]any {
	n := c.state.Nodes[name]
	return map[string]any{"name": name, "nodeid": itoa(n.ID), "quorum_votes": "1", "ring0_addr": n.IP}
}

func corosyncNodes(c *call) (any, error) {
	list := []map[string]any{}
	if c.state.Cluster == "" {
		return list, nil
	}
	for _, name := range c.nodeNames() {
		m := c.corosyncNode(name)
		m["node"] = name
		list = append(list, m)
	}
	return list, nil
}

func (c *call) totem() map[string]any {
	return map[string]any{
		"cluster_name": c.state.Cluster, "config_version": itoa(c.state.Version),
		"interface":  map[string]any{"0": map[string]any{"linknumber": "0"}},
		"ip_version": "ipv4-6", "link_mode": "passive", "secauth": "on", "version": "2",
	}
}

func corosyncTotem(c *call) (any, error) {
	if c.state.Cluster == "" {
		return nil, nil
	}
	return c.totem(), nil
}

func joinInfo(c *call) (any, error) {
	if c.state.Cluster == "" {
		return nil, &apiError{status: 424, text: "node is not in a cluster, no join info available!", raised: true}
	}
	preferred := c.entry
	if c.params.Has("node") {
		preferred = c.node()
	}
	if c.state.Nodes[preferred] == nil {
		return nil, die("unknown node '%s'", preferred)
	}
	list := []map[string]any{}
	for _, name := range c.nodeNames() {
		m := c.corosyncNode(name)
		m["pve_addr"], m["pve_fp"] = c.state.Nodes[name].IP, c.fingerprint(name)
		list = append(list, m)
	}
	return map[string]any{
		"config_digest": sectionDigest(c.totem()), "nodelist": list, "preferred_node": preferred, "totem": c.totem(),
	}, nil
}
