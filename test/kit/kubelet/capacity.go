package kubelet

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/proxplane/proxplane/pvesim"
)

// reserve keeps resources from pods.
func (s *Settings) reserve(amounts map[string]string) error {
	for name, text := range amounts {
		amount, err := resource.ParseQuantity(text)
		if err != nil {
			return fmt.Errorf("reserved %s %q: %w", name, text, err)
		}
		if before, ok := s.Reserved[name]; ok {
			amount.Add(resource.MustParse(before))
		}
		if s.Reserved == nil {
			s.Reserved = map[string]string{}
		}
		s.Reserved[name] = amount.String()
	}
	return nil
}

// capacity is what a VM has, as its kubelet would see it.
func capacity(conf pvesim.Conf, maxPods int) corev1.ResourceList {
	number := func(key string, other int64) int64 {
		text, _, _ := strings.Cut(strings.TrimPrefix(conf[key], "current="), ",")
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
		return other
	}
	if maxPods == 0 {
		maxPods = 110
	}
	cpus := number("sockets", 1) * number("cores", 1)
	return corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(cpus, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(number("memory", 512)<<20, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(int64(maxPods), resource.DecimalSI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(diskSize(conf), resource.BinarySI),
	}
}

// diskSize is the size of the disk that the VM boots from, roughly: of its largest one.
func diskSize(conf pvesim.Conf) int64 {
	var most int64
	for _, value := range conf {
		for _, part := range strings.Split(value, ",") {
			text, ok := strings.CutPrefix(part, "size=")
			if !ok || strings.Contains(value, "media=cdrom") {
				continue
			}
			if strings.HasSuffix(text, "G") || strings.HasSuffix(text, "M") || strings.HasSuffix(text, "T") {
				text += "i"
			}
			if q, err := resource.ParseQuantity(text); err == nil {
				most = max(most, q.Value())
			}
		}
	}
	return most
}

// allocatable is what is left of the capacity for pods.
func (s *Settings) allocatable(all corev1.ResourceList) corev1.ResourceList {
	left := all.DeepCopy()
	for name, text := range s.Reserved {
		if q, ok := left[corev1.ResourceName(name)]; ok {
			q.Sub(resource.MustParse(text))
			left[corev1.ResourceName(name)] = q
		}
	}
	const evictAt = "100Mi" // memory.available, by default
	memory := left[corev1.ResourceMemory]
	memory.Sub(resource.MustParse(evictAt))
	left[corev1.ResourceMemory] = memory
	return left
}
