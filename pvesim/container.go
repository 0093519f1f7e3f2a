package pvesim

import "fmt"

// Container is an LXC container. Nothing can be done with it here: it is there, has a VMID and addresses.
type Container struct {
	ID      int    `json:"id"`
	Node    string `json:"node"`
	Conf    Conf   `json:"conf"`
	Running bool   `json:"running,omitempty"`
}

func (s *Sim) addWorldContainer(w WorldContainer) error {
	if s.state.Nodes[w.Node] == nil {
		return fmt.Errorf("node %q isn't there", w.Node)
	}
	if s.state.taken(w.ID) {
		return fmt.Errorf("VM %d is there already", w.ID)
	}
	if s.state.Containers == nil {
		s.state.Containers = map[int]*Container{}
	}
	s.state.Containers[w.ID] = &Container{ID: w.ID, Node: w.Node, Conf: w.Config, Running: w.Running}
	return nil
}

// taken reports whether a guest of either kind has a VMID.
func (s *State) taken(vmid int) bool { return s.VMs[vmid] != nil || s.Containers[vmid] != nil }

// resource is a container in /cluster/resources.
func (t *Container) resource() map[string]any {
	m := map[string]any{"id": "lxc/" + itoa(t.ID), "vmid": t.ID, "node": t.Node, "type": "lxc", "status": "stopped", "name": t.Conf["hostname"], "template": 0}
	if t.Running {
		m["status"] = "running"
	}
	for _, k := range []string{"lock", "tags"} {
		if v := t.Conf[k]; v != "" {
			m[k] = v
		}
	}
	return m
}

// containerConfig is what Proxmox says of a container's config.
func containerConfig(c *call) (any, error) {
	t := c.state.Containers[c.params.Int("vmid")]
	if t == nil || t.Node != c.node() {
		return missingContainer(c)
	}
	out := map[string]any{"digest": (&VM{Conf: t.Conf}).Digest()}
	for k, v := range t.Conf {
		out[k] = v
	}
	return out, nil
}
