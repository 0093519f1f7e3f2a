package karpenter

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/spec"
)

// needsRoot says why machines can't be pinned.
const needsRoot = "machines are pinned to CPUs (node policy static), which Proxmox lets only root@pam with its password do, and no token: give the region that login, or set the node policy simple"

// pin are the CPUs of a host that a machine runs on.
type pin struct {
	CPUs  string    `json:"cpus"`
	Nodes []pinNode `json:"nodes,omitempty"` // none: the host has one NUMA node
}

// pinNode is how many of them are in a NUMA node of the host.
type pinNode struct {
	Host int `json:"host"`
	CPUs int `json:"cpus"`
}

// host is what of a Proxmox node machines can be pinned to.
type host struct {
	numa  map[int]cpuSet // all of it
	cores int            // CPUs with the same remainder by it are threads of one core
	taken cpuSet
}

// free are the CPUs of a NUMA node that nobody has, those of one core one after the other, and cores that are free as a whole first.
func (h *host) free(node int) []int {
	core := map[int][]int{}
	whole := map[int]bool{}
	for cpu := range h.numa[node] {
		of := cpu % h.cores
		if _, seen := whole[of]; !seen {
			whole[of] = true
		}
		if h.taken[cpu] {
			whole[of] = false
			continue
		}
		core[of] = append(core[of], cpu)
	}
	order := slices.SortedFunc(maps.Keys(core), func(a, b int) int {
		if whole[a] != whole[b] {
			if whole[a] {
				return -1
			}
			return 1
		}
		return cmp.Compare(a, b)
	})
	var all []int
	for _, of := range order {
		slices.Sort(core[of])
		all = append(all, core[of]...)
	}
	return all
}

// room counts the CPUs that nobody has.
func (h *host) room() (n int64) {
	for node := range h.numa {
		n += int64(len(h.free(node)))
	}
	return n
}

// pin chooses CPUs: of the NUMA node that has the fewest that are enough, else of as few NUMA nodes as possible.
func (h *host) pin(n int) (*pin, bool) {
	free := map[int][]int{}
	for node := range h.numa {
		free[node] = h.free(node)
	}
	order := slices.SortedFunc(maps.Keys(free), func(a, b int) int {
		fits := func(node int) int {
			if len(free[node]) >= n {
				return 0
			}
			return 1
		}
		by := cmp.Compare(len(free[a]), len(free[b]))
		if fits(a) == 1 {
			by = -by
		}
		return cmp.Or(fits(a)-fits(b), by, cmp.Compare(a, b))
	})
	all, is := cpuSet{}, &pin{}
	for _, node := range order {
		some := free[node][:min(n-len(all), len(free[node]))]
		if len(some) == 0 {
			continue
		}
		for _, cpu := range some {
			all[cpu] = true
		}
		is.Nodes = append(is.Nodes, pinNode{Host: node, CPUs: len(some)})
	}
	if is.CPUs = all.String(); len(h.numa) < 2 {
		is.Nodes = nil
	}
	return is, len(all) == n
}

// into has a machine pinned. Its NUMA nodes are those of the host that its CPUs are in.
func (p *pin) into(class *spec.Class) {
	if p == nil {
		return
	}
	class.CPU.Affinity = p.CPUs
	if len(p.Nodes) == 0 {
		return
	}
	const mib = 1 << 20
	class.NUMA = &spec.NUMA{}
	first, left := 0, class.Memory.Value()/mib
	for i, n := range p.Nodes {
		memory := class.Memory.Value() / mib * int64(n.CPUs) / int64(class.CPUs)
		if i == len(p.Nodes)-1 {
			memory = left
		}
		left -= memory
		class.NUMA.Nodes = append(class.NUMA.Nodes, spec.NUMANode{
			CPUs: rangeOf(first, n.CPUs), Memory: *resource.NewQuantity(memory*mib, resource.BinarySI), HostNodes: strconv.Itoa(n.Host), Policy: "preferred",
		})
		first += n.CPUs
	}
}

func rangeOf(first, n int) string {
	if n == 1 {
		return strconv.Itoa(first)
	}
	return fmt.Sprintf("%d-%d", first, first+n-1)
}

// pinOf is where a machine is pinned that is there; nil: it isn't.
func pinOf(c *model.Config) *pin {
	if c == nil || c.Options["affinity"] == "" {
		return nil
	}
	p := &pin{CPUs: c.Options["affinity"]}
	for i := 0; ; i++ {
		n, err := prop.ParseNUMA(c.Options["numa"+strconv.Itoa(i)])
		if err != nil || len(n.HostNodes) != 1 {
			return p
		}
		at, err := strconv.Atoi(n.HostNodes[0])
		cpus, also := parseCPUs(strings.Join(n.CPUs, ","))
		if err != nil || also != nil {
			return p
		}
		p.Nodes = append(p.Nodes, pinNode{Host: at, CPUs: len(cpus)})
	}
}

// pinnable notes which CPUs of zones of a region machines can still be pinned to.
func (p *CloudProvider) pinnable(ctx context.Context, r *Region, zones []zone) error {
	taken, err := p.pinned(ctx, r)
	if err != nil {
		return err
	}
	for i := range zones {
		z := &zones[i]
		said := p.settings.of(r.Name, z.node)
		h := &host{numa: said.topology(int(z.cpus)), cores: max(1, int(z.cpus)/said.threads()), taken: cpuSet{}}
		maps.Copy(h.taken, taken[z.node])
		for _, cpu := range said.ReservedCPUs {
			h.taken[cpu] = true
		}
		z.pins = h
	}
	return nil
}

// pinned are the CPUs that machines of a region are pinned to, by Proxmox node: those that run, whoever made them, and those that are being made.
func (p *CloudProvider) pinned(ctx context.Context, r *Region) (map[string]cpuSet, error) {
	taken := map[string]cpuSet{}
	add := func(node, cpus string) {
		if taken[node] == nil {
			taken[node] = cpuSet{}
		}
		taken[node].add(cpus)
	}
	var running []int
	if err := r.Site.View(ctx, func(have *model.Observed) {
		for id, g := range have.Guests {
			if !g.Template && !g.Container && g.Status != model.StatusStopped {
				running = append(running, id)
			}
		}
	}); err != nil {
		return nil, err
	}
	for _, id := range running {
		g, err := r.Site.Observer().Known(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("find out which CPUs VM %d is pinned to: %w", id, err)
		}
		if g != nil && g.Config != nil {
			add(g.Node, g.Config.Options["affinity"])
		}
	}
	var claims v1.NodeClaimList
	if err := p.client.List(ctx, &claims, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list NodeClaims: %w", err)
	}
	for i := range claims.Items {
		if m := asMade(&claims.Items[i]); m != nil && m.Region == r.Name && m.Pin != nil {
			add(m.Zone, m.Pin.CPUs)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.reserved {
		if one.pin != nil && one.zone.region == r.Name {
			add(one.zone.node, one.pin.CPUs)
		}
	}
	return taken, nil
}
