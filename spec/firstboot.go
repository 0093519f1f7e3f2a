package spec

import (
	"errors"
	"slices"

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

// boot is what was read of it.
type boot struct {
	firstboot.Recipe
	metaKeys map[string]any // of the meta-data
	texts    []Text         // that the recipe is made from
	given    bool           // there is user-data
	ignition bool
	way      string
}

// firstBoot decides how the guest gets what it needs at its first boot: by
// Proxmox' own options where these are asked for, or are all that there is to
// say, else by a drive of ours.
func (b *build) firstBoot(vm *model.VM, nics []nic) {
	if b.m.FirstBoot.Unread {
		if !b.inherits || b.remembered == 0 {
			b.checkVariables(b.m.FirstBoot.Variables)
		}
		return
	}
	before, of := len(b.errs), b.m.Owner.Key
	if b.m.Member != nil {
		of = b.m.Member.Of
	}
	if b.badBoot[of] {
		return // what is wrong with the text of one of several machines is wrong with all
	}
	b.chooseBoot(vm, nics)
	if len(b.errs) > before {
		if b.badBoot == nil {
			b.badBoot = map[model.Key]bool{}
		}
		b.badBoot[of] = true
	}
	if b.inherits && b.remembered != 0 && len(b.errs) > before {
		// What is wrong with its source now doesn't concern a copy that is made.
		b.errs, vm.Seed = b.errs[:before], nil
	}
}

func (b *build) chooseBoot(vm *model.VM, nics []nic) {
	spec := &b.m.FirstBoot
	d, ok := b.boot(vm, spec)
	if !ok {
		return
	}
	if d.given {
		b.checkNoOptions(b.m)
	}
	many := slices.ContainsFunc(nics, func(n nic) bool { return !n.simple() })
	if d.way == byProxmox {
		b.proxmoxDrive(vm, nics, d, many)
		return
	}
	if d.given || many || d.MetaData != "" {
		b.seed(vm, nics, d)
		switch d.way {
		case byFWCfg:
			b.fwCfg(vm, spec.UserData, d)
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
	if slices.ContainsFunc(nics, nic.static) || !b.source.Blank {
		ipOptions(nics, b.opts)
	}
}

// failLate notes that there was no time for a machine's first-boot data.
func (b *build) failLate() { b.fail("userData", "%s", TooLate(b.Scope)) }

// TooLate returns the error that there was no time to read first-boot data.
func TooLate(scope string) string {
	return "wasn't read: the first-boot data " + scope + " take longer to read than they may; make them smaller, or use several namespaces"
}

// proxmoxDrive says it all by Proxmox' own options.
func (b *build) proxmoxDrive(vm *model.VM, nics []nic, d boot, many bool) {
	const field = "userData.delivery"
	own, err := proxmoxOptions(d.UserData, vm.Name)
	switch {
	case d.ignition:
		b.fail(field, "Proxmox' own drive can't hold an Ignition config; leave delivery out")
	case d.MetaData != "":
		b.fail(field, "Proxmox' own drive can't hold %s; leave one of them out", called("metaData"))
	case d.Variables != nil:
		b.fail(field, "Proxmox' own drive can't hold variables; leave delivery out")
	case d.Rerun:
		b.fail("userData.cloudInit.rerun", "with Proxmox' own drive cloud-init does it all again in any case")
	case many:
		b.fail(field, "Proxmox' own drive can't hold several addresses of a kind for one interface; leave delivery out")
	case err != nil && d.secret():
		b.fail(field, "Proxmox' own drive can't hold all that the %s says; leave delivery out", TheSecret)
	case err != nil:
		b.fail(field, "Proxmox' own drive isn't enough: %v; leave delivery out", err)
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
func (b *build) checkNoOptions(m *Machine) {
	for _, key := range []string{"ciuser", "cipassword", "sshkeys", "citype", "ciupgrade"} {
		if _, said := m.ExtraConfig[key]; said {
			b.fail("extraConfig."+key, "%s is for that", inMachine("userData"))
		}
		if _, said := b.class.extra[key]; said {
			b.fail("userData", "the %s has %s in its %s, which says something else", TheClass, key, called("extraConfig"))
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
	files, err := sampled(d.Recipe, nics).Make(likelyVMID(vm))
	if err != nil {
		b.failBoot(d, err)
		return
	}
	for _, content := range files {
		b.seeds += len(content)
	}
	if b.seeds > maxSeeds {
		b.fail("userData", "the first-boot data of all machines together have more than %d MiB; put what is large into the image, or have the guests fetch it", maxSeeds>>20)
		return
	}
	vm.Seed = &model.Seed{Storage: b.cluster.isoStorage(), Secret: secretOf(d.Recipe, files), Once: d.ignition, Rerun: d.Rerun}
	vm.Seed.Secret.Random = b.m.FirstBoot.Random
	b.hash(vm.Owner, &vm.Seed.Secret)
	if d.way == bySnippets {
		b.snippetParts(vm.Seed, files)
	}
	if d.PerGuest() || len(vm.Leases) > 0 {
		recipe := model.Recipe(d.Recipe)
		vm.Seed.Recipe = &recipe
	} else {
		vm.Seed.Files = files
	}
	if d.ignition {
		b.checkIgnition(nics, d, string(files[firstboot.UserDataFile]))
	}
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
	return MinVMID
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
		t.Secret = t.Secret || d.secret() // what it is merged with may be repeated, too
		b.failText(t, err)
		return
	}
	if d.secret() {
		b.fail("userData", "%s", unsaid)
		return
	}
	b.fail("userData", "%v", err)
}

// secret reports whether one of the texts comes from something secret.
func (d boot) secret() bool {
	return slices.ContainsFunc(d.texts, func(t Text) bool { return t.Secret })
}
