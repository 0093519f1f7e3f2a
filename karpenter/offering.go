package karpenter

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/model"
)

// zones are the zones of a class with what they have left, without what machines take that are being made and that
// no list shows yet.
func (p *CloudProvider) zones(ctx context.Context, class *api.ProxmoxNodeClass) ([]zone, error) {
	t, err := p.template(ctx, class)
	if err != nil {
		return nil, err
	}
	var all []zone
	needs := needOf(class, t)
	for _, name := range regionsOf(class.Status.SelectedZones) {
		r, err := p.regions.Get(name)
		if err != nil {
			continue // what is left of the others is still true
		}
		needs.learn(ctx, r)
		var some []zone
		err = r.Site.View(ctx, func(have *model.Observed) {
			some = p.less(zonesOf(r, have, p.factor), have, name)
			for i := range some {
				z := &some[i]
				z.needs = needs
				z.closed = cmp.Or(z.closed, needs.missing(have, z.node), needs.full(have, z.node, z.unseen))
				if r, known := needs.room(have, name, z.node, z.unseen); known {
					z.room = &r
				}
			}
		})
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			continue // while Proxmox is away nothing can be made there
		}
		for i := range some {
			said := p.settings.of(name, some[i].node)
			some[i].free = max(0, some[i].free-said.ReservedMemory)
			some[i].freeCPUs = max(0, some[i].freeCPUs-int64(float64(len(said.ReservedCPUs))*p.factor))
		}
		if p.static {
			if err := p.pinnable(ctx, r, some); err != nil {
				if ctx.Err() != nil {
					return nil, err
				}
				continue
			}
		}
		all = append(all, some...)
	}
	selected := sets.New(nodesOf(class.Status.SelectedZones)...)
	all = slices.DeleteFunc(all, func(z zone) bool { return !selected.Has(z.String()) })
	return all, nil
}

// less takes away from zones of a region what machines take that no list shows yet.
func (p *CloudProvider) less(zones []zone, have *model.Observed, region string) []zone {
	placed := map[model.Owner]bool{}
	for _, one := range have.Placed {
		placed[one.Owner] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for owner, r := range p.reserved {
		if r.zone.region != region {
			continue
		}
		listed := false
		if g := have.Guests[r.vmid]; r.vmid != 0 {
			listed = g != nil && g.Status == model.StatusRunning && g.Memory == r.size.memory()
			if listed || have.At.After(r.until) {
				delete(p.reserved, owner)
			}
		}
		if listed || placed[owner] {
			continue
		}
		for i := range zones {
			if zones[i].node == r.zone.node {
				zones[i].free -= r.size.memory()
				zones[i].freeCPUs -= r.size.cpus()
				zones[i].guests++
				needs := r.zone.needs
				needs.disk = r.size.disk()
				zones[i].unseen = append(zones[i].unseen, needs)
			}
		}
	}
	return zones
}

// regionsOf are the regions of zones such as region/node/vmid.
func regionsOf(zones []string) []string {
	var names []string
	for _, z := range zones {
		name, _, _ := strings.Cut(z, "/")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// nodesOf are zones such as region/node/vmid without their VMIDs.
func nodesOf(zones []string) []string {
	var names []string
	for _, z := range zones {
		region, rest, _ := strings.Cut(z, "/")
		node, _, _ := strings.Cut(rest, "/")
		names = append(names, region+"/"+node)
	}
	return names
}

// instanceTypes are the sizes of machines with where they can be had now.
func (p *CloudProvider) instanceTypes(ctx context.Context, class *api.ProxmoxNodeClass) ([]*cloudprovider.InstanceType, error) {
	zones, err := p.zones(ctx, class)
	if err != nil {
		return nil, err
	}
	types := make([]*cloudprovider.InstanceType, 0, len(p.sizes))
	for _, s := range p.sizes {
		types = append(types, p.instanceType(s, class, zones))
	}
	return types, nil
}

func (p *CloudProvider) instanceType(s Size, class *api.ProxmoxNodeClass, zones []zone) *cloudprovider.InstanceType {
	s = s.in(class)
	packs := strategyOf(class) == api.ZoneAvailabilityFirst
	var offerings cloudprovider.Offerings
	names, regions := sets.New[string](), sets.New[string]()
	for _, z := range zones {
		names.Insert(z.node)
		regions.Insert(z.region)
		offerings = append(offerings, &cloudprovider.Offering{
			Price:     s.price(packs && z.guests == 0),
			Available: z.unfit(s) == "" && p.backoff.why(z, s.Name, class.Name) == "",
			Requirements: scheduling.NewLabelRequirements(map[string]string{
				corev1.LabelTopologyRegion: z.region, corev1.LabelTopologyZone: z.node, v1.CapacityTypeLabelKey: s.CapacityType,
			}),
		})
	}
	requirements := scheduling.NewLabelRequirements(s.labels())
	requirements.Add(
		scheduling.NewRequirement(corev1.LabelTopologyRegion, corev1.NodeSelectorOpIn, sets.List(regions)...),
		scheduling.NewRequirement(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, sets.List(names)...),
		scheduling.NewRequirement(corev1.LabelWindowsBuild, corev1.NodeSelectorOpDoesNotExist),
		scheduling.NewRequirement(api.LabelInstanceCPUType, corev1.NodeSelectorOpDoesNotExist),
		scheduling.NewRequirement(api.LabelInstanceImage, corev1.NodeSelectorOpDoesNotExist),
	)
	return &cloudprovider.InstanceType{Name: s.Name, Requirements: requirements, Offerings: offerings, Capacity: s.Capacity, Overhead: s.Overhead}
}

// labels are those that all machines of a size have.
func (s Size) labels() map[string]string {
	return map[string]string{
		corev1.LabelInstanceTypeStable: s.Name, corev1.LabelArchStable: v1.ArchitectureAmd64, corev1.LabelOSStable: string(corev1.Linux),
		v1.CapacityTypeLabelKey: s.CapacityType, api.LabelInstanceFamily: s.family(),
		api.LabelInstanceCPU: strconv.FormatInt(s.cpus(), 10), api.LabelInstanceMemory: strconv.FormatInt(s.memory()>>20, 10),
	}
}

// is reports whether a guest has the size.
func (s Size) is(c *model.Config) bool {
	number := func(key string, otherwise int64) int64 {
		if n, err := strconv.ParseInt(c.Options[key], 10, 64); err == nil {
			return n
		}
		return otherwise
	}
	return c != nil && number("cores", 1)*number("sockets", 1) == s.cpus() && number("memory", 512)<<20 == s.memory()
}

// defaultDisk is how large disks count as that are as large as the template's.
var defaultDisk = resource.MustParse("30Gi")

// in is the size as machines of a class have it: with the number of pods that the class says, and the larger of the disks that the class and the size say.
func (s Size) in(class *api.ProxmoxNodeClass) Size {
	s.Capacity = s.Capacity.DeepCopy()
	disk, own := bootSize(class.Spec.BootDevice), s.Capacity[corev1.ResourceEphemeralStorage]
	switch {
	case disk != nil && disk.Cmp(own) > 0:
		s.Capacity[corev1.ResourceEphemeralStorage] = *disk
	case own.IsZero():
		s.Capacity[corev1.ResourceEphemeralStorage] = defaultDisk
	}
	if k := class.Spec.KubeletConfiguration; k != nil && k.MaxPods != nil {
		s.Capacity[corev1.ResourcePods] = *resource.NewQuantity(int64(*k.MaxPods), resource.DecimalSI)
	}
	return s
}

func strategyOf(class *api.ProxmoxNodeClass) string {
	if s := class.Spec.PlacementStrategy; s != nil {
		return cmp.Or(s.ZoneBalance, api.ZoneBalanced)
	}
	return api.ZoneBalanced
}
