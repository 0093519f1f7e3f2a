package manifest

import (
	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
)

func (t *translator) readSnapshots() {
	type name struct {
		vm   model.Key
		name string
	}
	first := map[name]model.Key{}
	each(t, func(s scope, obj *api.VMSnapshot) {
		s.checkName()
		m := s.machineFor(obj.Spec.VMRef.Name)
		of := &spec.Machine{}
		if m != nil {
			of = &m.spec
		}
		snap, errs := spec.Snapshot{
			Owner: s.owner(), Of: of, Description: obj.Spec.Description, IncludeMemory: obj.Spec.IncludeMemory, Revert: obj.Spec.Revert, Keep: obj.Spec.Keep, Deleted: s.deleted(),
		}.Translate()
		s.take(errs, nil, nil)
		if m == nil {
			return
		}
		snap.Hold = s.hold(m.provider)
		if other, twice := first[name{snap.VM, snap.Name}]; twice {
			s.fail("metadata.name", "is called %s in Proxmox, as %s is", snap.Name, other.Title())
		}
		first[name{snap.VM, snap.Name}] = s.o.key
		d := &m.provider.wanted.Desired
		d.Snapshots = append(d.Snapshots, snap)
	})
}

// machineFor finds the machine that a snapshot is of.
func (s scope) machineFor(name string) *machine {
	const field = "spec.vmRef.name"
	if name == "" {
		s.fail(field, "is missing")
		return nil
	}
	o := s.namedMachine(name, model.Key{})
	if o == nil {
		if !s.deleted() && !s.apart(field, name, "VirtualMachine", "VMClone") { // with the machine, its snapshots have gone
			s.fail(field, "there is no VirtualMachine or VMClone %s %s%s", name, s.here(), s.others(name, "VirtualMachine", "VMClone"))
		}
		return nil
	}
	if s.isWrong(o.key) {
		s.fail(field, "%s isn't right itself", o.key.Title())
	}
	return s.machines[o.key]
}
