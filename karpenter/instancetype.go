package karpenter

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

// Size is an instance type: the resources of machines, and the part of them that is reserved. It is also
// an entry of the file with instance types.
type Size struct {
	Name         string                              `json:"name"`
	Capacity     corev1.ResourceList                 `json:"capacity"`
	CapacityType string                              `json:"capacitytype,omitempty"`
	Overhead     *cloudprovider.InstanceTypeOverhead `json:"overhead,omitempty"`
	// Price in any unit that all sizes share; nil: computed from CPUs and memory.
	Price *float64 `json:"price,omitempty"`
}

// The grid of sizes that there are without a file.
var (
	gridCPUs    = []int64{1, 2, 4, 8, 16}
	gridFactors = []int64{2, 3, 4, 8} // GiB a CPU
	families    = map[int64]string{2: "c1", 3: "t1", 4: "s1", 8: "m1", 16: "x1"}
)

// Grid returns the default sizes, for use without a file.
func Grid() []Size {
	var all []Size
	for _, cpus := range gridCPUs {
		for _, factor := range gridFactors {
			memory := cpus * factor
			pods := int64(110)
			if memory <= 2 {
				pods = 64
			}
			s := Size{Name: fmt.Sprintf("%s.%dVCPU-%dGB", families[factor], cpus, memory), CapacityType: v1.CapacityTypeOnDemand, Capacity: corev1.ResourceList{
				corev1.ResourceCPU: *resource.NewQuantity(cpus, resource.DecimalSI), corev1.ResourceMemory: *resource.NewQuantity(memory<<30, resource.BinarySI),
				corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI),
			}}
			s.Overhead = overhead(s)
			all = append(all, s)
		}
	}
	return all
}

// overhead is what the kubelet and the system of a machine take.
func overhead(s Size) *cloudprovider.InstanceTypeOverhead {
	cpu := "100m"
	switch n := s.Capacity.Cpu().Value(); {
	case n < 2:
		cpu = "20m"
	case n < 4:
		cpu = "50m"
	}
	list := func(pairs ...string) corev1.ResourceList {
		l := corev1.ResourceList{}
		for i := 0; i < len(pairs); i += 2 {
			l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
		}
		return l
	}
	return &cloudprovider.InstanceTypeOverhead{
		KubeReserved:      list("cpu", cpu, "memory", "384Mi"),
		SystemReserved:    list("cpu", "10m", "memory", "64Mi"),
		EvictionThreshold: list("memory", "100Mi"),
	}
}

// ReadSizes reads the file with instance types.
func ReadSizes(file string) ([]Size, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read instance types: %w", err)
	}
	all, err := parseSizes(text)
	if err != nil {
		return nil, fmt.Errorf("read instance types of %s: %w", file, err)
	}
	return all, nil
}

func parseSizes(text []byte) ([]Size, error) {
	var all []Size
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("there is none")
	}
	seen := map[string]bool{}
	for i := range all {
		s := &all[i]
		switch {
		case s.Name == "":
			return nil, fmt.Errorf("entry %d has no name", i)
		case seen[s.Name]:
			return nil, fmt.Errorf("%s is there twice", s.Name)
		case s.cpus() < 1:
			return nil, fmt.Errorf("%s: capacity.cpu has to be 1 or more", s.Name)
		case s.memory() < 256<<20:
			return nil, fmt.Errorf("%s: capacity.memory has to be 256Mi or more", s.Name)
		case s.Price != nil && *s.Price < 0:
			return nil, fmt.Errorf("%s: the price is negative", s.Name)
		case len(validation.IsValidLabelValue(s.Name)) > 0:
			return nil, fmt.Errorf("%s: the name has to be one that a label can have: %s", s.Name, strings.Join(validation.IsValidLabelValue(s.Name), "; "))
		case s.CapacityType != "" && s.CapacityType != v1.CapacityTypeOnDemand && s.CapacityType != v1.CapacityTypeSpot:
			return nil, fmt.Errorf("%s: capacitytype has to be %s or %s, have %q", s.Name, v1.CapacityTypeOnDemand, v1.CapacityTypeSpot, s.CapacityType)
		}
		seen[s.Name] = true
		s.Capacity[corev1.ResourceMemory] = *resource.NewQuantity(s.memory()>>20<<20, resource.BinarySI) // Proxmox counts memory in MiB
		if s.CapacityType == "" {
			s.CapacityType = v1.CapacityTypeOnDemand
		}
		if s.Capacity.Pods().IsZero() {
			s.Capacity[corev1.ResourcePods] = resource.MustParse("110")
		}
		if s.Overhead == nil {
			s.Overhead = overhead(*s)
		}
	}
	return all, nil
}

func (s Size) cpus() int64   { return s.Capacity.Cpu().Value() }
func (s Size) memory() int64 { return s.Capacity.Memory().Value() }
func (s Size) disk() int64   { return s.Capacity.StorageEphemeral().Value() }

// family is the first part of the name.
func (s Size) family() string {
	first, _, _ := strings.Cut(s.Name, ".")
	return first
}

// What a CPU and a GB of memory cost where nobody says it. Only the ratio matters.
const (
	priceCPU = 0.025
	priceGB  = 0.001
	// priceWake is by how much a Proxmox node that runs nothing is dearer than one that does.
	priceWake = 0.1
	priceSpot = 0.5
)

// price is what a machine costs; wakes: no guest runs on its Proxmox node.
func (s Size) price(wakes bool) float64 {
	price := priceCPU*s.Capacity.Cpu().AsApproximateFloat64() + priceGB*s.Capacity.Memory().AsApproximateFloat64()/1e9
	if s.Price != nil {
		price = *s.Price
	} else if s.CapacityType == v1.CapacityTypeSpot {
		price *= priceSpot
	}
	if wakes {
		price *= 1 + priceWake
	}
	return price
}
