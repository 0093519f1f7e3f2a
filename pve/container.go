package pve

import "context"

// Container is a handle for an LXC container.
type Container struct {
	c    *Client
	Node string
	ID   int
}

// Container gives a handle for a container.
func (c *Client) Container(node string, id int) Container { return Container{c, node, id} }

// Config reads the config of the container, with pending changes as if they were applied.
func (t Container) Config(ctx context.Context) (Settings, error) {
	return get[Settings](ctx, t.c, nil, "/nodes/{node}/lxc/{vmid}/config", t.Node, t.ID)
}
