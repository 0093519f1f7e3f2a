package manifest

import (
	"cmp"
	"maps"
	"time"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
	"github.com/proxplane/proxplane/spec/suggest"
)

// machine is a VirtualMachine or VMClone with what was made of it.
type machine struct {
	scope
	provider *provider
	spec     spec.Machine
	result   *spec.Result
	fields   fieldNames
}

// fieldNames are where a manifest has what package spec names otherwise.
type fieldNames map[string]string

// build puts together what package spec needs to know of a machine.
type build struct {
	scope
	provider *provider
	spec     spec.Machine
	classKey model.Key
	fields   fieldNames
}

func (t *translator) readMachines() {
	t.machines = map[model.Key]*machine{}
	for _, o := range t.set.objects {
		s := scope{t, o}
		var m *machine
		before := len(t.errs)
		switch obj := o.Object.(type) {
		case *api.VirtualMachine:
			m = s.virtualMachine(obj)
		case *api.VMClone:
			m = s.vmClone(obj)
		default:
			continue
		}
		if t.wrong != nil && s.deleted() && m.provider.wanted.Provider.Kind != "" {
			t.errs = t.errs[:before] // to let it go, nothing else needs to be right
			t.wrong.forget(o.key, before)
		}
		t.machines[o.key] = m
		m.provider.wanted.Desired.VMs = append(m.provider.wanted.Desired.VMs, m.result.VM)
	}
}

func (s scope) virtualMachine(obj *api.VirtualMachine) *machine {
	b := s.newBuild(obj.Spec.ProviderRef, obj.Status)
	b.fields["image"] = "spec.imageRef.name"
	b.useClass(obj.Spec.ClassRef)
	if obj.Spec.ImageRef != nil {
		b.useImage(b.findShared("spec.imageRef", "VMImage", *obj.Spec.ImageRef))
	}
	b.spec.Source.Full = obj.Spec.LinkedClone != nil && !*obj.Spec.LinkedClone
	return b.machine(&obj.Spec.MachineSpec, bootOf(&obj.Spec.MachineSpec))
}

func (s scope) newBuild(ref *api.Ref, status api.MachineStatus) *build {
	s.checkName()
	p := s.providerFor(s.held(ref, status))
	if p == nil {
		p = &provider{} // to find what else is wrong
	}
	b := &build{scope: s, provider: p, fields: fieldNames{"place": "spec.placementRef", "class": "spec.classRef.name", "shutdownTimeout": "spec.updatePolicy.shutdownTimeout", "grace": "spec.deletionGracePeriodSeconds"}}
	b.spec.Remembered, b.spec.Had = status.VMID, status.LeasedAddresses
	return b
}

// held is the Provider of a machine: the one that has it, where that is known.
func (s scope) held(ref *api.Ref, status api.MachineStatus) *api.Ref {
	if status.Provider == "" || status.VMID == 0 {
		return ref
	}
	if ref != nil && ref.Name != status.Provider {
		s.fail("spec.providerRef.name", "the machine is on Provider %s and can't change that; put it back, or delete the object and make it anew", status.Provider)
	}
	return &api.Ref{Name: status.Provider}
}

func (b *build) useClass(ref api.SharedRef) {
	b.classKey = model.Key{Kind: "VMClass", Namespace: cmp.Or(ref.Namespace, b.o.key.Namespace), Name: ref.Name}
	if o := b.findShared("spec.classRef", "VMClass", ref); o != nil {
		b.spec.Class, b.classKey = b.classes[o.key], o.key
	}
}

// useImage has the machine made from an image, if there is one.
func (b *build) useImage(o *object) {
	if o == nil {
		b.spec.Source.Unknown = true
		return
	}
	img := b.images[o.key]
	img.use(b.provider)
	b.spec.Source.Image = &img.spec
}

// machine translates what VirtualMachines and VMClones have in common.
func (b *build) machine(m *api.MachineSpec, boot bootSpec) *machine {
	meta, to := b.meta(), &b.spec
	to.Owner, to.Name, to.VMID = b.owner(), m.Name, m.VMID
	to.Labels, to.Description, to.Pool, to.Tags = maps.Clone(meta.GetLabels()), m.Description, m.Pool, m.Tags
	to.Power, to.OnBoot, to.Protection = model.Power(m.PowerState), m.OnBoot, m.Protection
	to.ExtraConfig, to.Hookscripts = m.ExtraConfig, m.Hookscripts
	to.Retain, to.Destroy, to.Deleted = m.DeletionPolicy == api.Retain, m.DeletionPolicy == api.Delete, b.deleted()
	to.Place, to.Hold = b.placeFor(m.PlacementRef), b.hold(b.provider)
	to.Update = b.allowed(m.UpdatePolicy)
	to.ShutdownTimeout, to.Rollout = b.shutdownTimeout(m.UpdatePolicy.ShutdownTimeout), b.rollout(m.UpdatePolicy)
	b.checkWord("spec.deletionPolicy", string(m.DeletionPolicy), "Delete", "Retain")
	if to.Grace = b.options.Grace; m.DeletionGracePeriodSeconds != nil {
		to.Grace = time.Duration(*m.DeletionGracePeriodSeconds) * time.Second
	}
	if b.fields["name"] = "spec.name"; m.Name == "" {
		b.fields["name"] = "metadata.name"
	}
	b.devices(m)
	b.firstBoot(boot)
	if b.o.of != nil {
		to.Owner.Key = b.o.of.key
		one, errs := to.Replica(b.o.index, b.o.count)
		b.take(errs, nil, b.fields)
		b.spec = one
	}
	b.translation.Scope = b.here()
	out := &machine{scope: b.scope, provider: b.provider, spec: b.spec, fields: b.fields, result: b.translation.Machine(&b.provider.cluster, b.spec)}
	b.take(out.result.Errors, out.result.Notes, b.fields)
	return out
}

// allowed is what may be done to a machine without asking.
func (b *build) allowed(p api.UpdatePolicy) model.Allow {
	for _, w := range []struct {
		name string
		word api.Permission
	}{{"restart", p.Restart}, {"replace", p.Replace}, {"move", p.Move}, {"removeDisks", p.RemoveDisks}, {"stop", p.Stop}} {
		b.checkWord("spec.updatePolicy."+w.name, string(w.word), "Never", "Allow")
	}
	return model.Allow{Restart: p.Restart == api.Allow, Replace: p.Replace == api.Allow, Data: p.RemoveDisks == api.Allow, Stop: p.Stop == api.Allow, Move: p.Move == api.Allow}
}

// shutdownTimeout is how long a guest may take to shut down; 0: as Proxmox is set up.
func (b *build) shutdownTimeout(text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d == 0 {
		b.fail("spec.updatePolicy.shutdownTimeout", "want a time from 1s to 24h, such as 90s or 5m, have %q", suggest.Shortened(text))
		return 0
	}
	return d
}

// networksOf translates the network interfaces.
func networksOf(m *api.MachineSpec) (list []spec.Network) {
	if m.Networks != nil {
		list = []spec.Network{}
	}
	for _, n := range m.Networks {
		list = append(list, spec.Network{
			Name: n.Name, Slot: n.Slot, Bridge: n.Bridge, VLAN: n.VLAN, MAC: n.MAC, Model: n.Model, MTU: n.MTU, Firewall: n.Firewall, Rate: n.Rate, Queues: n.Queues,
			LinkDown: n.LinkDown, StaticIP: (*spec.StaticIP)(n.StaticIP), DHCP: n.DHCP, DHCP6: n.DHCP6, SLAAC: n.SLAAC,
		})
	}
	return list
}

// devices translates the virtual hardware, but for that of the class.
func (b *build) devices(m *api.MachineSpec) {
	to := &b.spec
	to.Networks = networksOf(m)
	if m.Disks != nil {
		to.Disks = []spec.Disk{}
	}
	for _, d := range m.Disks {
		to.Disks = append(to.Disks, spec.Disk(d))
	}
	for _, f := range m.Filesystems {
		to.Filesystems = append(to.Filesystems, spec.Filesystem(f))
	}
	for _, p := range m.PCIMappings {
		to.PCIMappings = append(to.PCIMappings, spec.PCIMapping(p))
	}
	to.Firewall = firewallOf(m.Firewall)
	to.Startup, to.Agent, to.HA = (*spec.Startup)(m.Startup), (*spec.Agent)(m.Agent), (*model.HA)(m.HA)
}
