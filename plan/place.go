package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// spot is where a guest goes and what it is made from there.
type spot struct {
	node   string
	source *source
	memory int64            // that the guest takes there
	space  map[string]int64 // the same, by storage
	why    string
}

// storage returns the storage of a full copy's disks.
func (s spot) storage(full bool, v model.VM) string {
	if !full {
		return ""
	}
	return v.Source.Storage
}

// config returns the config of the guest's source; nil: it has none.
func (s spot) config() *model.Config {
	if s.source == nil {
		return nil
	}
	return s.source.guest.Config
}

// place chooses a node: one of those allowed that can reach a source, keeps
// the rules and has the room, with the most memory left.
func (p *planner) place(v model.VM, sources []*source, full bool) (spot, *Wait, Look) {
	p.unknownNodes(v)
	load := p.nodeLoad()
	var good []spot
	var no refusals
	lacking := false // a node was asked for its bridges, and lacks one
	free := map[string]int64{}
	var look Look
	later := map[string]Look{} // what matters only if a guest goes to that node
	img := p.images[v.Source.Image]
	for _, n := range p.nodesFor(v) {
		src, reason := p.reach(n.Name, sources, spot{}.storage(full, v))
		if (reason.no() || src == nil) && p.have.Nodes[n.Name] != nil {
			src, reason = p.orMade(img, n.Name, src, reason, &look)
		}
		if !reason.no() {
			reason = p.fits(v, n, src, full || src != nil && p.copiedFull(v, src.guest), load, &look)
		}
		if !reason.no() {
			var own Look
			if bridge := p.lacksBridge(&own, bridgesOf(v.NICs), n.Name); bridge != "" {
				reason, lacking = never("no bridge %s", bridge), true
			}
			later[n.Name] = own
		}
		if reason.no() {
			no.add(n.Name, reason)
			continue
		}
		free[n.Name] = load.free(n, v)
		good = append(good, spot{node: n.Name, source: src, memory: memoryFrom(v, src)})
	}
	for _, n := range p.nodesFor(v) {
		if lacking { // others may lack it, too
			look.Add(later[n.Name])
		}
	}
	if !look.Empty() {
		return spot{}, nil, look
	}
	if len(good) == 0 {
		wait := &Wait{Reason: no.kind(), Text: "no node can take it (" + no.String() + ")"}
		known := slices.ContainsFunc(p.nodesFor(v), func(n *model.Node) bool { return p.have.Nodes[n.Name] != nil })
		switch away := len(sources) > 0 && !sources[0].shared && known; {
		case away && img.NoCopies:
			wait.Do = model.Advice{Do: model.AllowCopies}
		case away && img.Implied:
			wait.Do = model.Advice{Do: model.DescribeImage}
		}
		for _, n := range p.nodesFor(v) {
			if wait.Do.None() && p.have.Nodes[n.Name] != nil {
				wait.Do = p.hookAdvice(v, n.Name)
			}
		}
		return spot{}, wait, Look{}
	}
	best := p.pick(v, madeBefore(good), free, no)
	load.take(best.node, best.memory, v)
	best.space = spaceFor(v, best.source, full || best.source != nil && p.copiedFull(v, best.source.guest))
	load.fill(p, best.node, best.space)
	return best, nil, later[best.node]
}

// orMade returns the template of an image that can be made for a node, where there is none in reach.
func (p *planner) orMade(img model.Image, node string, src *source, why unfit, look *Look) (*source, unfit) {
	var own Look
	switch {
	case img.Lent:
		src, why = p.askable(img, node, src, why, &own)
	case p.spreads(img, &own):
		src, why = p.makeable(img, node, &own)
	}
	look.Add(own)
	return src, why
}

// detour returns how much more memory a node without the image must have left to be chosen: that of one more guest.
// So a few guests don't cause an image on every node.
func (s spot) detour() int64 {
	if s.source == nil || s.source.future == nil {
		return 0
	}
	return s.memory
}

// memoryFrom returns how much memory a guest has that is made from a source: as much
// as that one, if its manifest doesn't say.
func memoryFrom(v model.VM, src *source) int64 {
	if m := model.MemoryOf(v.Options); m > 0 || src == nil {
		return m
	}
	return src.guest.Memory
}

// nodesFor returns the nodes that a guest may go to, in the order of their names.
func (p *planner) nodesFor(v model.VM) []*model.Node {
	var list []*model.Node
	for _, n := range p.have.Nodes {
		if len(v.Place.Nodes) == 0 || slices.Contains(v.Place.Nodes, n.Name) {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b *model.Node) int { return model.CompareNames(a.Name, b.Name) })
	if len(list) == 0 {
		for _, name := range v.Place.Nodes {
			list = append(list, &model.Node{Name: name})
		}
	}
	return list
}

// reach finds the source for a node: one that is there already, or one whose
// disks are shared. Copies across nodes must go to a shared storage, too.
func (p *planner) reach(node string, sources []*source, storage string) (*source, unfit) {
	if len(sources) == 0 {
		return nil, unfit{}
	}
	if p.have.Nodes[node] == nil {
		return nil, p.unknown()
	}
	for _, s := range sources {
		if s.guest.Node == node {
			return s, unfit{}
		}
	}
	if to := p.have.Storages[storage]; to != nil && !to.Shared {
		s := sources[0]
		return nil, never("%s (%d) is on %s, and Proxmox can't copy it from there to %s, which isn't shared", s.guest.Name, s.guest.VMID, s.guest.Node, storage)
	}
	for _, s := range sources {
		if p.reaches(s, node) && p.have.Nodes[s.guest.Node] != nil && p.have.Nodes[s.guest.Node].Online {
			return s, unfit{}
		}
	}
	s := sources[0]
	if s.shared {
		return nil, never("%s (%d) is on %s, which isn't there", s.guest.Name, s.guest.VMID, rootStorage(s.guest.Config))
	}
	return nil, never("%s (%d) is on %s with local disks", s.guest.Name, s.guest.VMID, s.guest.Node)
}

// unknown returns why a node can't take a guest that isn't in the cluster.
func (p *planner) unknown() unfit {
	return never("not in the cluster, which has %s", strings.Join(model.NamesOf(p.have.Nodes), ", "))
}

// fits returns the reasons for which a node can't take a guest.
func (p *planner) fits(v model.VM, n *model.Node, src *source, full bool, load *nodeLoad, look *Look) unfit {
	if p.have.Nodes[n.Name] == nil {
		return p.unknown()
	}
	if why := p.closed(v, n); why.no() {
		return why
	}
	if text := tooManyCPUs(cpusFrom(v, src), n); text != "" {
		return never("%s", text)
	}
	if text := cmp.Or(lacksAffinity(v.Options, n), p.lacksDevice(v.Options, n.Name)); text != "" {
		return never("%s", text)
	}
	if !n.Online {
		return now("offline")
	}
	if why := p.devicesTaken(v, n.Name, devicesOf(v), look); why.no() {
		return why
	}
	if src != nil && !p.have.Nodes[src.guest.Node].Online {
		return now("%s, which has the image, is offline", src.guest.Node)
	}
	if src != nil && src.guest.Node != n.Name && !p.everywhere(v.Source.Storage) {
		kind := "is local"
		if p.have.Storages[v.Source.Storage] == nil {
			kind = "not found"
		}
		return never("storage %s %s, and %s (%d) is on %s", v.Source.Storage, kind, src.guest.Name, src.guest.VMID, src.guest.Node)
	}
	need := memoryFrom(v, src) + v.Place.MinFree
	if all := n.Memory - v.Place.FactsOf(n.Name).Reserved; n.Memory > 0 && need > all { // without a figure nobody knows
		return never("%s of memory in all%s, %s needed", model.Bytes(max(0, all)), reservedText(v, n.Name), model.Bytes(need))
	}
	if free := load.free(n, v); free < need && n.Memory > 0 {
		return now("%s of memory free%s, %s needed", model.Bytes(free), reservedText(v, n.Name), model.Bytes(need))
	}
	if limit := v.Place.MaxPerNode; limit > 0 && load.count[n.Name] >= limit {
		return now("has %s already, which is the most it may have", plural(load.count[n.Name], "VM"))
	}
	if other := load.conflict(v, n.Name); other != "" {
		return now("anti-affinity with %s", other)
	}
	if why := p.outsideHA(v, n.Name); why.no() {
		return why
	}
	if text := p.lacks(v, n.Name); text != "" {
		return never("%s", text)
	}
	if why := p.room(v, n.Name, src, full, look); why.no() {
		return why
	}
	return unfit{}
}

// everywhere reports whether copies can be made onto a storage from any node. No
// name means: beside the source.
func (p *planner) everywhere(storage string) bool {
	s := p.have.Storages[storage]
	return storage == "" || s != nil && s.Shared
}
