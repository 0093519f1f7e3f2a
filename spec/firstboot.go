package spec

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

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

// FirstBoot is what a machine gets at its first boot.
type FirstBoot struct {
	UserData  *UserData
	MetaData  *Text // further keys, in YAML
	Variables map[string]string
	// Inherited says that a copy has all this from its source.
	Inherited bool
	// Unread says that it isn't known, since something about it is wrong: nothing is made
	// of it.
	Unread bool
}

// UserData are the first-boot data: one of CloudInit, Ignition and Butane.
type UserData struct {
	CloudInit *CloudInit
	Ignition  *Text
	Butane    *Butane
	Delivery  string // iso, proxmox, snippets or fwcfg
	FWCfgName string // with fwcfg: the name of the entry
}

// CloudInit is a text for cloud-init, and for what reads the same.
type CloudInit struct {
	Text
	Rerun bool // do it all again when it changes
}

// Butane are Butane configs, the snippets on top of the text.
type Butane struct {
	Text
	Snippets []Text
	Folder   string            // of its local files; empty: see Files
	Files    map[string][]byte // local files
}

// Text is a text with where it comes from.
type Text struct {
	Content string
	Field   string // that has it, for errors; empty: the field itself
	Secret  bool   // nothing of it is repeated in errors
}

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
	static := slices.ContainsFunc(nics, func(n nic) bool { return len(n.v4)+len(n.v6) > 0 })
	if static || !b.source.Blank {
		ipOptions(nics, b.opts)
	}
}

// failLate notes that there was no time for a machine's first-boot data.
func (b *build) failLate() { b.fail("userData", "%s", TooLate(b.Scope)) }

// TooLate says that there was no time to read first-boot data.
func TooLate(scope string) string {
	return "wasn't read: the first-boot data " + scope + " take longer to read than they may; make them smaller, or use several namespaces"
}

// proxmoxDrive says it all by Proxmox' own options.
func (b *build) proxmoxDrive(vm *model.VM, nics []nic, d boot, many bool) {
	const field = "userData.delivery"
	own, err := proxmoxOptions(d.UserData, vm.Name)
	switch {
	case d.ignition:
		b.fail(field, "Proxmox' own drive can't hold an Ignition config; leave delivery away")
	case d.MetaData != "":
		b.fail(field, "Proxmox' own drive can't hold metaData; leave one of them away")
	case d.Variables != nil:
		b.fail(field, "Proxmox' own drive can't hold variables; leave delivery away")
	case d.Rerun:
		b.fail("userData.cloudInit.rerun", "with Proxmox' own drive cloud-init does it all again in any case")
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
func (b *build) checkNoOptions(m *Machine) {
	for _, key := range []string{"ciuser", "cipassword", "sshkeys", "citype", "ciupgrade"} {
		if _, said := m.ExtraConfig[key]; said {
			b.fail("extraConfig."+key, "spec.userData is for that")
		}
		if _, said := b.class.extra[key]; said {
			b.fail("userData", "the VMClass has %s in its extraConfig, which says something else", key)
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
		b.fail("userData", "the first-boot data of all machines together have more than %d MiB; put what is large into the image, or have the guests fetch it", maxSeeds>>20)
		return
	}
	vm.Seed = &model.Seed{Storage: b.cluster.isoStorage(), Secret: secretOf(d.Recipe, files), Once: d.ignition, Rerun: d.Rerun}
	b.hash(vm.Owner, &vm.Seed.Secret)
	if d.way == bySnippets {
		b.snippetParts(vm.Seed, files)
	}
	if d.PerGuest() {
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

// secret reports whether one of the texts comes from a Secret.
func (d boot) secret() bool {
	return slices.ContainsFunc(d.texts, func(t Text) bool { return t.Secret })
}

// boot reads what there is; false: something is wrong with it.
func (b *build) boot(vm *model.VM, spec *FirstBoot) (d boot, ok bool) {
	ok = b.metaData(&d, spec.MetaData)
	b.checkVariables(spec.Variables)
	if spec.Variables != nil || b.m.Member != nil {
		d.Variables = b.variables(vm, spec.Variables)
	}
	ud := spec.UserData
	if ud == nil {
		return d, ok
	}
	d.given, d.way = true, ud.Delivery
	if !b.checkWord("userData.delivery", ud.Delivery, byISO, byProxmox, bySnippets, byFWCfg) {
		return d, false
	}
	if ud.FWCfgName != "" && d.way != byFWCfg {
		b.fail("userData.fwCfgName", "is for delivery: fwcfg")
	}
	const one = "want one of cloudInit, ignition and butane"
	switch {
	case ud.CloudInit == nil && ud.Ignition == nil && ud.Butane == nil:
		b.fail("userData", one)
		return d, false
	case ud.CloudInit != nil && (ud.Ignition != nil || ud.Butane != nil) || ud.Ignition != nil && ud.Butane != nil:
		b.fail("userData", one+", not several")
		return d, false
	case ud.CloudInit != nil:
		return d, b.cloudInit(&d, ud.CloudInit) && ok
	case ud.Ignition != nil:
		return d, b.ignition(&d, ud.Ignition) && ok
	}
	b.butane(vm, &d, spec)
	return d, ok
}

func (b *build) cloudInit(d *boot, c *CloudInit) bool {
	const field = "userData.cloudInit"
	t := c.at(field)
	switch firstboot.FormatOf(t.Content) {
	case firstboot.NoFormat:
		b.tell(field, "cloud-init would ignore this: it doesn't begin with #cloud-config, #! or the like")
	case firstboot.IgnitionDoc:
		b.fail(t.Field, "this is an Ignition config; it belongs under spec.userData.ignition")
		return false
	case firstboot.Talos:
		if c.Rerun {
			b.fail(field+".rerun", "is for cloud-init; Talos reads its machine config once")
		}
	}
	if _, own := d.metaKeys["instance-id"]; own && c.Rerun {
		b.fail(field+".rerun", "makes no sense beside an instance-id in spec.metaData")
	}
	d.UserData, d.Rerun, d.texts = t.Content, c.Rerun, []Text{t}
	return true
}

const (
	// maxMetaData bounds the meta-data of a machine.
	maxMetaData = 256 << 10
	// maxSeeds bounds the first-boot data of all machines that are translated together:
	// they are kept in memory.
	maxSeeds = 64 << 20
)

// metaData reads further keys of the meta-data; false: something is wrong with them.
func (b *build) metaData(d *boot, m *Text) (ok bool) {
	if m == nil {
		return true
	}
	t := m.at("metaData")
	if len(t.Content) > maxMetaData {
		b.fail(t.Field, "has %d bytes, more than the %d that are meant for meta-data", len(t.Content), maxMetaData)
		return false
	}
	var err error
	if d.MetaData, d.metaKeys, err = firstboot.MetaData(t.Content); err != nil {
		b.fail(t.Field, "want keys and values in YAML")
	}
	return err == nil
}

func (b *build) checkVariables(own map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if err := firstboot.CheckVariable(name); err != nil {
			b.fail("variables."+name, "%v", err)
		}
	}
}

// variables are those of a guest, but for its VMID.
func (b *build) variables(vm *model.VM, own map[string]string) map[string]string {
	var of Member
	if b.m.Member != nil {
		of = *b.m.Member
	}
	count, index := strconv.Itoa(max(1, of.Count)), strconv.Itoa(of.Index)
	all := map[string]string{firstboot.VarName: vm.Name, firstboot.VarCount: count, firstboot.VarIndex: index, firstboot.VarCountIndex: index}
	for name, value := range own {
		all[name] = value
	}
	return all
}

// at is the text with the field that has it, unless it names another one.
func (t Text) at(field string) Text {
	if t.Field == "" {
		t.Field = field
	}
	return t
}

// unsaid is all that is said of a text that is secret: parsers repeat parts of it in their
// errors, quoted or not.
const unsaid = "it can't be read as what it should be; what is wrong isn't repeated, since it comes from a Secret; validate a copy of it in a file to see what"

// failText notes what is wrong with a text, each problem in the line where it is, as far
// as that is known. Of a secret nothing is repeated.
func (b *build) failText(t Text, err error) {
	for _, p := range firstboot.TextErrorsOf(err) {
		wrong := p.Error()
		if t.Secret {
			if wrong = unsaid; p.Line > 0 {
				wrong = fmt.Sprintf("line %d: %s", p.Line, unsaid)
			}
		}
		b.errs = append(b.errs, &Error{Object: b.object, Field: t.Field, Line: p.Line, Text: wrong})
	}
}
