package manifest

import (
	"regexp"
	"slices"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
	"github.com/proxplane/proxplane/spec/suggest"
)

func (s scope) vmClone(obj *api.VMClone) *machine {
	origin, from := s.origin(obj)
	ref := obj.Spec.ProviderRef
	if ref == nil && !made(obj) {
		ref = origin.provider
	}
	b := s.newBuild(ref, obj.Status)
	if obj.Spec.ClassRef != nil {
		b.useClass(*obj.Spec.ClassRef)
	}
	b.fields["image"], b.fields["template"] = "spec.sourceVMRef.name", "spec.sourceVMRef.name"
	source := &b.spec.Source
	source.Copy, source.Full = true, obj.Spec.LinkedClone != nil && !*obj.Spec.LinkedClone
	source.Snapshot = spec.SnapshotName(obj.Spec.Snapshot)
	boot := bootOf(&obj.Spec.MachineSpec)
	b.spec.FirstBoot.Inherited = boot.userData == nil
	switch {
	case from != nil:
		source.VM = from.key
		if b.spec.FirstBoot.Inherited {
			boot = bootOf(origin.machine) // else it would boot with that of the other one
			b.tellHostname(boot.userData, from)
		}
		if !made(obj) {
			b.checkCopiedAddresses(obj, from, origin.machine)
		}
	case obj.Spec.SourceVMRef.Name != "" && (made(obj) || !b.apart("spec.sourceVMRef.name", obj.Spec.SourceVMRef.Name, "VirtualMachine", "VMClone", "VMImage")):
		b.cloneOfTemplate(obj.Spec.SourceVMRef.Name)
	}
	m := b.machine(&obj.Spec.MachineSpec, boot)
	if img := m.result.Image; img != nil && img.Implied {
		d := &m.provider.wanted.Desired
		if !slices.ContainsFunc(d.Images, func(i model.Image) bool { return i.Owner == img.Owner }) {
			d.Images = append(d.Images, *img)
		}
	}
	return m
}

// made reports whether it is written down that the copy was made, or begun: from then
// on nothing that is wrong with its source concerns it.
func made(obj *api.VMClone) bool { return obj.Status.VMID != 0 }

var hostnameLine = regexp.MustCompile(`(?m)^(hostname|fqdn):`)

// tellHostname: user-data that names the host names its copies alike.
func (b *build) tellHostname(userData *api.UserData, from *object) {
	if userData == nil || userData.CloudInit == nil || !hostnameLine.MatchString(userData.CloudInit.Inline) {
		return
	}
	b.tell("spec.userData", "it is that of %s, which gives the copy the same host name; without hostname: in it, each is called by its own name", from.key.Title())
}

// lineage is what a clone has from where it comes from.
type lineage struct {
	provider *api.Ref
	machine  *api.MachineSpec
}

// origin finds the machine that a clone is of, and what it has from there: its
// own fields come first, then those of what it is a clone of.
func (s scope) origin(obj *api.VMClone) (lineage, *object) {
	var line lineage
	var from *object
	seen := []model.Key{s.o.key}
	for name := obj.Spec.SourceVMRef.Name; ; {
		if name == "" {
			s.fail("spec.sourceVMRef.name", "is missing")
			return line, nil
		}
		o := s.namedMachine(name, seen[len(seen)-1])
		if o == nil {
			if from != nil && !made(obj) && obj.Spec.UserData == nil && line.machine.UserData == nil {
				s.apart("spec.sourceVMRef.name", name, "VirtualMachine", "VMClone") // its first-boot data aren't known
			}
			return line, from
		}
		if slices.Contains(seen, o.key) {
			if !made(obj) {
				s.fail("spec.sourceVMRef.name", "is a clone of itself")
			}
			return lineage{}, nil
		}
		seen = append(seen, o.key)
		if from == nil {
			from, line.machine = o, &api.MachineSpec{}
		}
		vm, isVM := o.Object.(*api.VirtualMachine)
		if isVM {
			line.inherit(vm.Spec.ProviderRef, &vm.Spec.MachineSpec)
			return line, from
		}
		c := o.Object.(*api.VMClone)
		line.inherit(c.Spec.ProviderRef, &c.Spec.MachineSpec)
		name = c.Spec.SourceVMRef.Name
	}
}

func (l *lineage) inherit(provider *api.Ref, m *api.MachineSpec) {
	if l.provider == nil {
		l.provider = provider
	}
	if l.machine.UserData == nil {
		l.machine.UserData, l.machine.MetaData, l.machine.Variables = m.UserData, m.MetaData, m.Variables
	}
	if len(l.machine.Networks) == 0 {
		l.machine.Networks = m.Networks
	}
}

// namedMachine finds a VirtualMachine or VMClone; nil: there is none.
func (s scope) namedMachine(name string, except model.Key) *object {
	for _, kind := range []string{"VirtualMachine", "VMClone"} {
		key := model.Key{Kind: kind, Namespace: s.o.key.Namespace, Name: name}
		if o := s.set.index[key]; o != nil && (key != except || kind == "VMClone") {
			return o
		}
	}
	return nil
}

// checkCopiedAddresses: a copy that says nothing about networks has the static
// addresses of its source, which both can't have.
func (b *build) checkCopiedAddresses(obj *api.VMClone, from *object, source *api.MachineSpec) {
	if len(obj.Spec.Networks) > 0 {
		return
	}
	m := spec.Machine{Networks: networksOf(source), Deleted: scope{b.translator, from}.deleted()}
	if from.of != nil {
		m, _ = m.Replica(from.index, from.count)
	}
	for _, n := range m.Networks {
		switch {
		case n.StaticIP == nil:
		case n.StaticIP.FromPool != "":
			b.fail("spec.networks", "is missing: the copy would have the address that %s has from pool %s; name its networks, and it gets one of its own", from.key.Title(), n.StaticIP.FromPool)
			return
		default:
			b.fail("spec.networks", "is missing: the copy would have the address of %s, %s", from.key.Title(), firstAddress(*n.StaticIP))
			return
		}
	}
}

func firstAddress(ip spec.StaticIP) string {
	if ip.Address == "" && len(ip.Addresses) > 0 {
		return suggest.Shortened(ip.Addresses[0])
	}
	return suggest.Shortened(ip.Address)
}

// cloneOfTemplate: what no manifest describes is a VMImage, or a template of
// Proxmox by its name or VMID.
func (b *build) cloneOfTemplate(name string) {
	const field = "spec.sourceVMRef.name"
	if b.set.index[model.Key{Kind: "VMImage", Namespace: b.o.key.Namespace, Name: name}] != nil {
		b.useImage(b.find(field, "VMImage", name))
		return
	}
	b.spec.Source.Template = name
	b.tell(field, "no VirtualMachine, VMClone or VMImage of these manifests is named %s: it is looked for among Proxmox' own templates", name)
}
