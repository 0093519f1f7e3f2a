package privileges

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// distinct leaves those guests out of what is wanted that need the same as two others: plans for
// hundreds of machines that are alike say nothing new. twins and alike say which one stands for them.
func (l *life) distinct() {
	used := map[model.Key]bool{}
	for _, v := range l.want.VMs {
		used[v.Source.VM] = true
	}
	for _, s := range l.want.Snapshots {
		used[s.VM] = true
	}
	seen := map[string][]model.VM{}
	l.twins, l.alike = map[model.Key][]model.Key{}, map[string][]string{}
	l.want.VMs = slices.DeleteFunc(slices.Clone(l.want.VMs), func(v model.VM) bool {
		if used[v.Owner.Key] || slices.ContainsFunc(l.at.Have.Tagged(v.Owner), func(g *model.Guest) bool { return g.Pool != v.Pool || g.Config != nil }) {
			return false
		}
		key := shape(v)
		if len(seen[key]) < 2 {
			seen[key] = append(seen[key], v)
			return false
		}
		first := seen[key][0]
		l.twins[first.Owner.Key] = append(l.twins[first.Owner.Key], v.Owner.Key)
		if v.VMID != 0 {
			l.standFor(vmPath(first.VMID), vmPath(v.VMID))
		}
		return true
	})
}

// standFor notes that what is needed on a path is needed on another as well.
func (l *life) standFor(path, other string) {
	l.alike[path] = append(l.alike[path], other)
}

// places returns nodes that differ in what plans can do there: one of those that are alike stands for the
// others.
func (l *life) places() []string {
	var list []string
	first := map[string]string{}
	for _, node := range l.nodes() {
		key := l.features(node)
		if other, ok := first[key]; ok {
			l.standFor(nodePath(other), nodePath(node))
			continue
		}
		first[key] = node
		list = append(list, node)
	}
	return list
}

// features returns what plans depend on of a node: what it has, which guests may go there, and what people
// say about it.
func (l *life) features(node string) string {
	var has []any
	for _, name := range model.NamesOf(l.at.Have.Storages) {
		_, there := l.at.Have.Storages[name].OnNode[node]
		has = append(has, there)
	}
	for _, name := range model.NamesOf(l.at.Have.Dirs) {
		_, there := l.at.Have.Dirs[name].Paths[node]
		has = append(has, there)
	}
	for _, i := range l.want.Images {
		for _, g := range l.templates(i) {
			has = append(has, g.Node == node)
		}
	}
	for _, v := range l.want.VMs {
		has = append(has, slices.Contains(v.Place.Nodes, node), v.Place.FactsOf(node))
	}
	return text(has)
}

// shape returns what privileges depend on of a guest: not what it is called, nor which address it has.
func shape(v model.VM) string {
	v.Owner, v.Name, v.Description, v.Tags, v.Group, v.Hook, v.Remembered, v.Password = model.Owner{}, "", "", nil, "", nil, 0, model.Seal{}
	v.VMID = min(v.VMID, 1) // which one makes no difference
	if v.Seed != nil {
		seed := *v.Seed
		seed.Digest, seed.Also = "", nil
		v.Seed = &seed
	}
	v.Options = maps.Clone(v.Options)
	for k, value := range v.Options {
		if isCloudInit(k) && value != "" {
			v.Options[k] = "some"
		}
	}
	v.NICs = slices.Clone(v.NICs)
	for i := range v.NICs {
		v.NICs[i].MAC = ""
	}
	return text(v)
}

// text returns a text that differs where plain values do.
func text(value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		panic(err) // plain values only
	}
	return string(b)
}

// repeat notes for all paths what is needed on the one that stands for them.
func (b *book) repeat(alike map[string][]string) {
	for _, path := range slices.Sorted(maps.Keys(alike)) {
		for _, n := range slices.Clone(b.needs) {
			if !n.names(path) {
				continue
			}
			for _, other := range alike[path] {
				b.add(n.on(path, other))
			}
		}
	}
}

// names reports whether a need is about a path.
func (n need) names(path string) bool {
	return slices.ContainsFunc(n.any, func(all []claim) bool {
		return slices.ContainsFunc(all, func(c claim) bool { return c.path == path })
	})
}

// on returns the need with another path in the place of one.
func (n need) on(path, other string) need {
	n.any = slices.Clone(n.any)
	for i, all := range n.any {
		n.any[i] = slices.Clone(all)
		for j := range all {
			if all[j].path == path {
				n.any[i][j].path = other
			}
		}
	}
	return n
}

// rootFor returns the options that no privilege is enough for, also of the guests that others stood for.
func (l *life) rootFor(b *book) []RootOnly {
	for _, r := range slices.Clone(b.root) {
		for _, twin := range l.twins[r.Object] {
			b.onlyRoot(twin, r.Option, r.Why)
		}
	}
	return b.rootOnly()
}
