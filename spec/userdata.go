package spec

import (
	"maps"
	"slices"
	"strconv"

	"github.com/proxplane/proxplane/firstboot"
	"github.com/proxplane/proxplane/model"
)

// FirstBoot is the first-boot data of a machine.
type FirstBoot struct {
	UserData  *UserData
	MetaData  *Text // further keys, in YAML
	Variables map[string]string
	// Files are further files of the drive by name, such as vendor-data and network-config. They replace generated
	// files of the same name. They need UserData and our own drive.
	Files map[string]Text
	// Random says that the data contain a value that can't be guessed and that no other machine has, such as a
	// join token.
	Random bool
	// Inherited says that a copy has the data of its source.
	Inherited bool
	// Unread says that the data aren't known because of an error: they are ignored.
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

// CloudInit is a text for cloud-init and compatible software.
type CloudInit struct {
	Text
	Rerun bool // run it again when it changes
}

// Butane are Butane configs: the text, and snippets that are merged into it.
type Butane struct {
	Text
	Snippets []Text
	Folder   string            // folder of its local files; empty: see Files
	Files    map[string][]byte // local files
}

// Text is a text with its origin.
type Text struct {
	Content string
	Field   string // the origin, for errors; empty: the field itself
	Secret  bool   // secret: errors don't repeat it
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
	for name, t := range spec.Files {
		if d.Extra == nil {
			d.Extra = map[string]string{}
		}
		d.Extra[name] = t.Content
	}
	if !b.checkWord("userData.delivery", ud.Delivery, byISO, byProxmox, bySnippets, byFWCfg) {
		return d, false
	}
	if ud.FWCfgName != "" && d.way != byFWCfg {
		b.fail("userData.fwCfgName", "is for delivery: fwcfg")
	}
	one := message("want one of %s, %s and %s", called("cloudInit"), called("ignition"), called("butane"))
	switch {
	case ud.CloudInit == nil && ud.Ignition == nil && ud.Butane == nil:
		b.fail("userData", "%s", one)
		return d, false
	case ud.CloudInit != nil && (ud.Ignition != nil || ud.Butane != nil) || ud.Ignition != nil && ud.Butane != nil:
		b.fail("userData", "%s, not several", one)
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
		b.fail(t.Field, "this is an Ignition config; it belongs under %s", inMachine("userData.ignition"))
		return false
	case firstboot.Talos:
		if c.Rerun {
			b.fail(field+".rerun", "is for cloud-init; Talos reads its machine config once")
		}
	}
	if name := firstboot.OwnVariable(t.Content); name != "" && d.Variables == nil {
		b.tell(t.Field, "${%s} stays as it is: variables are replaced once %s has one, or where several machines are wanted alike", name, called("variables"))
	}
	if _, own := d.metaKeys["instance-id"]; own && c.Rerun {
		b.fail(field+".rerun", "makes no sense beside an instance-id in %s", inMachine("metaData"))
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
var unsaid = message("it can't be read as what it should be; what is wrong isn't repeated, since it comes from a %s; validate a copy of it in a file to see what", TheSecret)

// failText notes what is wrong with a text, each problem in the line where it is, as far
// as that is known. Of a secret nothing is repeated.
func (b *build) failText(t Text, err error) {
	for _, p := range firstboot.TextErrorsOf(err) {
		wrong := message("%s", p.Error())
		if t.Secret {
			if wrong = unsaid; p.Line > 0 {
				wrong = message("line %d: %s", p.Line, unsaid)
			}
		}
		b.errs = append(b.errs, &Error{Object: b.object, Field: t.Field, Line: p.Line, Text: wrong})
	}
}
