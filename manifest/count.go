package manifest

import (
	"maps"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
)

// several is what a machine has that is one of several made of the same object.
type several struct {
	of    *object // nil: it is the only one
	index int     // from 0
	count int
}

// expand replaces each object with a count by its machines. Their errors are reported for
// the object.
func (t *translator) expand() {
	out := &Set{index: map[model.Key]*object{}}
	for _, o := range t.set.objects {
		vm, ok := o.Object.(*api.VirtualMachine)
		s := scope{t, o}
		if !ok || vm.Spec.Count == nil {
			if ok && len(vm.Spec.MemberVariables) > 0 {
				s.fail("spec.memberVariables", "is for several machines of one object; without spec.count, use spec.variables")
			}
			if other := out.index[o.key]; ok && other != nil {
				s.fail("metadata.name", "is that of a machine of %s, which has a count and was there first; choose another name", other.written().key.Title())
				continue
			}
			out.add(o)
			continue
		}
		count := *vm.Spec.Count
		if count < 0 || count > spec.MaxReplicas {
			s.fail("spec.count", "want a number from 0 to %d, have %d", spec.MaxReplicas, count)
			continue
		}
		if have := len(vm.Spec.MemberVariables); have > count {
			s.fail("spec.memberVariables", "has entries for %d machines, and spec.count is %d", have, count)
		}
		if s.meta().GetUID() == "" {
			t.groups = append(t.groups, s)
		}
		for _, i := range numbers(vm) {
			one := s.instance(vm, i, count)
			if other := out.index[one.key]; other != nil {
				s.fail("spec.count", "one of them would be %s, which is there already; choose another name", one.key.Title())
				break
			}
			out.add(one)
		}
	}
	t.set = out
}

// numbers are the machines that an object stands for, from 0. In Kubernetes it is
// written down which were made, so those are among them that are to go; and none is made
// before it is written down how many there are.
func numbers(vm *api.VirtualMachine) []int {
	asked := *vm.Spec.Count
	most, recorded := Members(vm)
	if recorded {
		asked = min(asked, most)
	}
	var list []int
	for i := range asked {
		list = append(list, i)
	}
	known := map[int]bool{}
	for _, m := range vm.Status.Members {
		if i := memberIndex(vm, m.Name); i >= asked {
			list, known[i] = append(list, i), true
		}
	}
	// The status of an object that was restored from a backup doesn't name those that are to
	// go. Those that are to stay are left alone.
	goes := vm.DeletionTimestamp != nil || vm.Spec.UpdatePolicy.ScaleDown == api.Allow
	for i := *vm.Spec.Count; i < min(most, spec.MaxReplicas) && goes && Restored(vm); i++ {
		if !known[i] {
			list = append(list, i)
		}
	}
	return list
}

// Members returns the largest count of an object, from its annotation; false: there is
// none.
func Members(vm *api.VirtualMachine) (most int, recorded bool) {
	most, err := strconv.Atoi(vm.Annotations[api.Members])
	return most, err == nil && most >= 0
}

// memberIndex is the index of one of an object's machines; -1: it is none.
func memberIndex(vm *api.VirtualMachine, name string) int {
	text, ok := strings.CutPrefix(name, vm.Name+"-")
	n, err := strconv.Atoi(text)
	if !ok || err != nil || n < 1 || strconv.Itoa(n) != text {
		return -1
	}
	return n - 1
}

// Surplus returns the machines of an object of Kubernetes beyond its present count, in
// their order.
func Surplus(vm *api.VirtualMachine) []string {
	var names []string
	for _, m := range vm.Status.Members {
		if vm.Spec.Count != nil && memberIndex(vm, m.Name) >= *vm.Spec.Count {
			names = append(names, m.Name)
		}
	}
	return names
}

// Machines returns the names of the machines of an object of Kubernetes: its own, unless it
// has a count.
func Machines(vm *api.VirtualMachine) []string {
	if vm.Spec.Count == nil {
		return []string{vm.Name}
	}
	var names []string
	for index := range *vm.Spec.Count {
		names = append(names, spec.ReplicaName(vm.Name, index))
	}
	return append(names, Surplus(vm)...)
}

// instance is one of the machines that an object stands for. What it has of its own is up to
// [spec.Machine.Replica].
func (s scope) instance(vm *api.VirtualMachine, index, count int) *object {
	one := vm.DeepCopy()
	one.Name = spec.ReplicaName(one.Name, index)
	one.Spec.Count, one.Spec.MemberVariables = nil, nil
	if index < len(vm.Spec.MemberVariables) {
		all := map[string]string{}
		maps.Copy(all, vm.Spec.Variables)
		maps.Copy(all, vm.Spec.MemberVariables[index])
		one.Spec.Variables = all
	}
	one.Status = api.MachineStatus{Provider: vm.Status.Provider} // the rest is of all of them
	for _, m := range vm.Status.Members {
		if m.Name == one.Name {
			one.Status.VMID, one.Status.LeasedAddresses = m.VMID, m.LeasedAddresses
		}
	}
	if index >= count && one.DeletionTimestamp == nil && vm.Spec.UpdatePolicy.ScaleDown == api.Allow {
		one.DeletionTimestamp = &metav1.Time{}
	}
	key := s.o.key
	key.Name = one.Name
	return &object{Object: one, key: key, places: s.o.places, several: several{of: s.o, index: index, count: count}}
}

// assignGroups says how many machines each object stands for, so that those are
// found that were made when there were more.
func (t *translator) assignGroups() {
	for _, s := range t.groups {
		vm := s.o.Object.(*api.VirtualMachine)
		p := s.providerFor(vm.Spec.ProviderRef)
		if p == nil {
			continue // reported for its machines, or there are none
		}
		m := spec.Machine{Owner: s.owner(), Name: vm.Spec.Name, VMID: vm.Spec.VMID, Deleted: s.deleted()}
		p.wanted.Desired.Groups = append(p.wanted.Desired.Groups, p.cluster.Group(m, *vm.Spec.Count, vm.Spec.UpdatePolicy.ScaleDown == api.Allow))
		s.checkWord("spec.updatePolicy.scaleDown", string(vm.Spec.UpdatePolicy.ScaleDown), "Never", "Allow")
	}
}
