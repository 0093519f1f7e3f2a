package manifest

import (
	"errors"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/firstboot"
	"github.com/proxplane/proxplane/model"
)

// Ways in which a guest gets its first-boot data.
const (
	byISO      = "iso"
	byProxmox  = "proxmox"
	bySnippets = "snippets"
	byFWCfg    = "fwcfg"
)

// bootSpec is what a machine's manifest says about its first boot, or that of
// what it is a clone of.
type bootSpec struct {
	userData  *api.UserData
	metaData  *api.MetaData
	variables map[string]string
}

func bootOf(m *api.MachineSpec) bootSpec { return bootSpec{m.UserData, m.MetaData, m.Variables} }

// boot is what was read of it.
type boot struct {
	firstboot.Recipe
	texts    []passage // that the recipe is made from
	given    bool      // there is user-data
	ignition bool
	way      string
}

// firstBoot decides how the guest gets what it needs at its first boot: by
// Proxmox' own options where these are asked for, or are all that there is to
// say, else by a drive of ours.
func (b *build) firstBoot(vm *model.VM, nics []nic, m *api.MachineSpec, spec bootSpec) {
	before, of := len(b.errs), b.o.written().key
	if b.badBoot[of] {
		return // what is wrong with the text of one of several machines is wrong with all
	}
	b.chooseBoot(vm, nics, m, spec)
	b.badBoot[of] = len(b.errs) > before
	if b.inherits && b.remembered != 0 && len(b.errs) > before {
		// What is wrong with its source now doesn't concern a copy that is made.
		b.errs, vm.Seed = b.errs[:before], nil
		if b.wrong != nil {
			b.wrong.forget(b.o.key, 0)
		}
	}
}

func (b *build) chooseBoot(vm *model.VM, nics []nic, m *api.MachineSpec, spec bootSpec) {
	if b.options.Late != nil && (spec.userData != nil || spec.metaData != nil) && b.options.Late() {
		b.failLate()
		return
	}
	d, ok := b.boot(vm, spec)
	if !ok {
		return
	}
	if d.given {
		b.checkNoOptions(m)
	}
	many := slices.ContainsFunc(nics, func(n nic) bool { return !n.simple() })
	if d.way == byProxmox {
		b.proxmoxDrive(vm, nics, d, many)
		return
	}
	if d.given || many || len(d.MetaData) > 0 {
		b.seed(vm, nics, d)
		switch d.way {
		case byFWCfg:
			b.fwCfg(vm, spec.userData, d)
			if b.inherits {
				b.inherit("args", "hookscript")
			}
		case bySnippets:
			b.snippets(vm)
			if b.inherits {
				b.inherit("cicustom")
			}
		}
		return
	}
	static := slices.ContainsFunc(nics, func(n nic) bool { return len(n.v4)+len(n.v6) > 0 })
	if static || !b.source.Blank {
		ipOptions(nics, b.opts)
	}
}

// failLate notes that there was no time for a machine's first-boot data.
func (s scope) failLate() {
	s.fail("spec.userData", "wasn't read: the first-boot data %s take longer to read than they may; make them smaller, or use several namespaces", s.here())
}

// proxmoxDrive says it all by Proxmox' own options.
func (b *build) proxmoxDrive(vm *model.VM, nics []nic, d boot, many bool) {
	const field = "spec.userData.delivery"
	own, err := proxmoxOptions(d.UserData, vm.Name)
	switch {
	case d.ignition:
		b.fail(field, "Proxmox' own drive can't hold an Ignition config; leave delivery away")
	case len(d.MetaData) > 0:
		b.fail(field, "Proxmox' own drive can't hold metaData; leave one of them away")
	case d.Variables != nil:
		b.fail(field, "Proxmox' own drive can't hold variables; leave delivery away")
	case d.Rerun:
		b.fail("spec.userData.cloudInit.rerun", "with Proxmox' own drive cloud-init does it all again in any case")
	case many:
		b.fail(field, "Proxmox' own drive can't hold several addresses of a kind for one interface; leave delivery away")
	case err != nil && d.secret():
		b.fail(field, "Proxmox' own drive can't hold all that the Secret says; leave delivery away")
	case err != nil:
		b.fail(field, "Proxmox' own drive isn't enough: %v; leave delivery away", err)
	}
	ipOptions(nics, b.opts)
	for key, value := range own {
		b.opts.set(key, value)
		if b.inherits {
			b.inherit(key)
		}
	}
}

// checkNoOptions: with user-data, Proxmox' own options for cloud-init would be
// in the way, or without effect.
func (b *build) checkNoOptions(m *api.MachineSpec) {
	for _, key := range []string{"ciuser", "cipassword", "sshkeys", "citype", "ciupgrade"} {
		if _, said := m.ExtraConfig[key]; said {
			b.fail("spec.extraConfig."+key, "spec.userData is for that")
		}
		if _, said := b.class.extra[key]; said {
			b.fail("spec.userData", "the VMClass has %s in its extraConfig, which says something else", key)
		}
	}
}

// seed makes the first-boot data, so that all that is wrong with it is known.
func (b *build) seed(vm *model.VM, nics []nic, d boot) {
	d.Hostname, d.InstanceID = vm.Name, "proxplane-"+vm.Owner.ID()
	if !d.given {
		d.UserData = "#cloud-config\n{}\n"
	}
	for _, n := range nics {
		d.NICs = append(d.NICs, n.guest())
	}
	files, err := d.Make(likelyVMID(vm))
	if err != nil {
		b.failBoot(d, err)
		return
	}
	for _, content := range files {
		b.seeds += len(content)
	}
	if b.seeds > maxSeeds {
		b.fail("spec.userData", "the first-boot data of all machines together have more than %d MiB; put what is large into the image, or have the guests fetch it", maxSeeds>>20)
		return
	}
	vm.Seed = &model.Seed{Storage: b.provider.isoStorage(), Secret: secretOf(d.Recipe, files), Once: d.ignition, Rerun: d.Rerun}
	b.hash(vm.Owner, &vm.Seed.Secret)
	if d.way == bySnippets {
		b.snippetParts(vm.Seed, files)
	}
	if d.PerGuest() {
		vm.Seed.Recipe = b.recipe(d)
	} else {
		vm.Seed.Files = files
	}
	if d.ignition {
		b.checkIgnition(nics, d, string(files[firstboot.UserDataFile]))
	}
}

// recipe is the recipe as plain data.
func (b *build) recipe(d boot) *model.Recipe {
	r := &model.Recipe{
		Hostname: d.Hostname, InstanceID: d.InstanceID, Rerun: d.Rerun, UserData: d.UserData, Ignition: d.Ignition,
		Butane: d.Butane, Folder: d.Folder, Files: d.Files, Variables: d.Variables,
	}
	for _, n := range d.NICs {
		r.NICs = append(r.NICs, model.GuestNIC(n))
	}
	if len(d.MetaData) == 0 {
		return r
	}
	meta, err := yaml.Marshal(d.MetaData)
	if err != nil {
		b.fail("spec.metaData", "%v", err)
	}
	r.MetaData = string(meta)
	return r
}

// likelyVMID is a VMID that the guest may get. Where its first-boot data depend
// on that, they are made with it, to see that they can be.
func likelyVMID(vm *model.VM) int {
	if vm.VMID != 0 {
		return vm.VMID
	}
	for id := range vm.Owner.Candidates(vm.Range) {
		return id
	}
	return minVMID
}

// guest is what the guest is to make of an interface.
func (n nic) guest() firstboot.NIC {
	f := firstboot.NIC{MAC: n.MAC, DHCP4: n.dhcp, Manual: !n.dhcp, DHCP6: n.dhcp6, SLAAC: n.slaac, Gateway: n.gateway, Gateway6: n.gateway6, DNS: n.dns, Search: n.search}
	if n.MTU > 1 {
		f.MTU = n.MTU
	}
	for _, p := range slices.Concat(n.v4, n.v6) {
		f.Addresses = append(f.Addresses, p.String())
	}
	return f
}

// failBoot notes what is wrong with the text that can't be made use of.
func (b *build) failBoot(d boot, err error) {
	var part *firstboot.PartError
	if errors.As(err, &part) && part.Part < len(d.texts) {
		t := d.texts[part.Part]
		t.secret = t.secret || d.secret() // what it is merged with may be repeated, too
		b.failText(t, err)
		return
	}
	if d.secret() {
		b.fail("spec.userData", "%s", unsaid(0))
		return
	}
	b.fail("spec.userData", "%v", err)
}

// secret reports whether one of the texts comes from a Secret.
func (d boot) secret() bool {
	return slices.ContainsFunc(d.texts, func(t passage) bool { return t.secret })
}

// boot reads what the manifest says; false: something is wrong with it.
func (b *build) boot(vm *model.VM, spec bootSpec) (d boot, ok bool) {
	meta, ok := b.metaData(spec.metaData)
	d.MetaData = meta
	b.checkVariables(spec.variables)
	if spec.variables != nil || b.o.of != nil {
		d.Variables = b.variables(vm, spec.variables)
	}
	ud := spec.userData
	if ud == nil {
		return d, ok
	}
	d.given, d.way = true, ud.Delivery
	if !b.checkWord("spec.userData.delivery", ud.Delivery, byISO, byProxmox, bySnippets, byFWCfg) {
		return d, false
	}
	if ud.FWCfgName != "" && d.way != byFWCfg {
		b.fail("spec.userData.fwCfgName", "is for delivery: fwcfg")
	}
	const one = "want one of cloudInit, ignition and butane"
	switch {
	case ud.CloudInit == nil && ud.Ignition == nil && ud.Butane == nil:
		b.fail("spec.userData", one)
		return d, false
	case ud.CloudInit != nil && (ud.Ignition != nil || ud.Butane != nil) || ud.Ignition != nil && ud.Butane != nil:
		b.fail("spec.userData", one+", not several")
		return d, false
	case ud.CloudInit != nil:
		return d, b.cloudInit(&d, ud.CloudInit) && ok
	case ud.Ignition != nil:
		return d, b.ignition(&d, ud.Ignition) && ok
	}
	return d, b.butane(vm, &d, spec) && ok
}

func (b *build) cloudInit(d *boot, c *api.CloudInit) bool {
	const field = "spec.userData.cloudInit"
	t, ok := b.passage(field, c.Text)
	if !ok {
		return false
	}
	switch firstboot.FormatOf(t.string) {
	case firstboot.NoFormat:
		b.tell(field, "cloud-init would ignore this: it doesn't begin with #cloud-config, #! or the like")
	case firstboot.IgnitionDoc:
		b.fail(t.field, "this is an Ignition config; it belongs under spec.userData.ignition")
		return false
	case firstboot.Talos:
		if c.Rerun {
			b.fail(field+".rerun", "is for cloud-init; Talos reads its machine config once")
		}
	}
	if _, own := d.MetaData["instance-id"]; own && c.Rerun {
		b.fail(field+".rerun", "makes no sense beside an instance-id in spec.metaData")
	}
	d.UserData, d.Rerun, d.texts = t.string, c.Rerun, []passage{t}
	return true
}

const (
	// maxMetaData bounds the meta-data of a machine.
	maxMetaData = 256 << 10
	// maxSeeds bounds the first-boot data of all machines that are translated together:
	// they are kept in memory.
	maxSeeds = 64 << 20
)

// metaData reads further keys of the meta-data.
func (b *build) metaData(m *api.MetaData) (map[string]any, bool) {
	if m == nil {
		return nil, true
	}
	t, ok := b.passage("spec.metaData", m.Text)
	if !ok {
		return nil, false
	}
	var keys map[string]any
	if len(t.string) > maxMetaData {
		b.fail(t.field, "has %d bytes, more than the %d that are meant for meta-data", len(t.string), maxMetaData)
		return nil, false
	}
	if err := firstboot.DecodeYAML(t.string, &keys); err != nil {
		b.fail(t.field, "want keys and values in YAML")
		return nil, false
	}
	return keys, true
}

func (b *build) checkVariables(own map[string]string) {
	for _, name := range sortedKeys(own) {
		if err := firstboot.CheckVariable(name); err != nil {
			b.fail("spec.variables."+name, "%v", err)
		}
	}
}

// variables are those of a guest, but for its VMID.
func (b *build) variables(vm *model.VM, own map[string]string) map[string]string {
	count, index := strconv.Itoa(max(1, b.o.count)), strconv.Itoa(b.o.index)
	all := map[string]string{firstboot.VarName: vm.Name, firstboot.VarCount: count, firstboot.VarIndex: index, firstboot.VarCountIndex: index}
	for name, value := range own {
		all[name] = value
	}
	return all
}
