package rawapi

import (
	"context"
	"fmt"
	"slices"
)

// listing is a call that lists things, and how one of them reads in an
// inventory.
type listing struct {
	path string
	line func(Object) string
}

// Inventory lists what exists in the cluster, a sorted line for each thing:
// two equal inventories mean that nothing was left behind between them.
func (c *Client) Inventory(ctx context.Context) ([]string, error) {
	var nodes []Object
	if err := c.Get(ctx, "/nodes", &nodes); err != nil {
		return nil, err
	}
	lists := []listing{
		{"/pools", func(o Object) string { return "pool " + o.Text("poolid") }},
		{"/access/users", func(o Object) string { return "user " + o.Text("userid") }},
		{"/access/users/root@pam/token", func(o Object) string { return "token root@pam!" + o.Text("tokenid") }},
		{"/access/groups", func(o Object) string { return "group " + o.Text("groupid") }},
		{"/access/roles", func(o Object) string { return "role " + o.Text("roleid") }},
		{"/access/acl", func(o Object) string {
			return "acl " + o.Text("path") + " " + o.Text("type") + " " + o.Text("ugid") + " " + o.Text("roleid")
		}},
		{"/cluster/ha/resources", func(o Object) string { return "HA resource " + o.Text("sid") }},
		{"/cluster/firewall/groups", func(o Object) string { return "security group " + o.Text("group") }},
		{"/storage", func(o Object) string { return "storage " + o.Text("storage") }},
	}
	for _, n := range nodes {
		node := n.Text("node")
		lists = append(lists,
			listing{"/nodes/" + node + "/qemu", func(o Object) string {
				return "VM " + o.Text("vmid") + " " + o.Text("name") + " on " + node
			}},
			listing{"/nodes/" + node + "/network", func(o Object) string {
				return "interface " + o.Text("iface") + " on " + node
			}})
		var storages []Object
		if err := c.Get(ctx, "/nodes/"+node+"/storage?enabled=1", &storages); err != nil {
			return nil, err
		}
		for _, s := range storages {
			lists = append(lists, listing{
				fmt.Sprintf("/nodes/%s/storage/%s/content", node, s.Text("storage")),
				func(o Object) string { return "volume " + o.Text("volid") + " on " + node },
			})
		}
	}
	var lines []string
	for _, l := range lists {
		var things []Object
		if err := c.Get(ctx, l.path, &things); err != nil {
			return nil, err
		}
		for _, t := range things {
			lines = append(lines, l.line(t))
		}
	}
	slices.Sort(lines)
	return lines, nil
}

// Differences tells what came and what went between two inventories.
func Differences(before, after []string) []string {
	var lines []string
	for _, l := range after {
		if !slices.Contains(before, l) {
			lines = append(lines, "+ "+l)
		}
	}
	for _, l := range before {
		if !slices.Contains(after, l) {
			lines = append(lines, "- "+l)
		}
	}
	return lines
}
