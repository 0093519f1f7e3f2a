package observe

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// haRules reads the rules, with the guests that they are about, and what they say about nodes. Before
// release 9 there are groups instead, which know no guests.
func (o *Observer) haRules(ctx context.Context) (guests map[string][]string, limits map[string]model.HALimit, err error) {
	guests, limits = map[string][]string{}, map[string]model.HALimit{}
	if o.Release() < 9 {
		list, err := o.client.HA().Groups(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("list HA groups: %w", err)
		}
		for _, g := range list {
			limits[g.ID] = model.HALimit{Nodes: priorities(g.Nodes), Strict: g.Restricted}
		}
		return guests, limits, nil
	}
	list, err := o.client.HA().Rules(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list HA rules: %w", err)
	}
	for _, r := range list {
		guests[r.ID], limits[r.ID] = r.Resources, model.HALimit{}
		if !r.Disabled {
			limits[r.ID] = model.HALimit{Nodes: priorities(r.Nodes), Strict: r.Strict, Apart: r.Affinity == "negative"}
		}
	}
	return guests, limits, nil
}

// priorities returns the priorities of the nodes in a list such as "pve1:2,pve2".
func priorities(list string) map[string]int {
	if list == "" {
		return nil
	}
	nodes := map[string]int{}
	for _, one := range strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(", ;", r) }) {
		name, rank, _ := strings.Cut(one, ":")
		nodes[name], _ = strconv.Atoi(rank) // without one it is 0
	}
	return nodes
}
