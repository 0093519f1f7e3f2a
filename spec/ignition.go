package spec

import (
	"fmt"
	"regexp"

	"github.com/proxplane/proxplane/firstboot"
	"github.com/proxplane/proxplane/firstboot/hookblock"
	"github.com/proxplane/proxplane/firstboot/qemuarg"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec/suggest"
)

func (b *build) ignition(d *boot, i *Text) bool {
	t := i.at("userData.ignition")
	d.ignition, d.Ignition, d.texts = true, t.Content, []Text{t}
	if firstboot.ButaneVariant(t.Content) != "" {
		b.fail(t.Field, "this is Butane, not Ignition's JSON; it belongs under %s", inMachine("userData.butane"))
		return false
	}
	return true
}

// butane reads a Butane config with its snippets and files. Its variables are
// always replaced.
func (b *build) butane(vm *model.VM, d *boot, spec *FirstBoot) {
	const field = "userData.butane"
	bu := spec.UserData.Butane
	d.ignition, d.Variables, d.Folder, d.Files = true, b.variables(vm, spec.Variables), bu.Folder, bu.Files
	add := func(field string, t Text) {
		t = t.at(field)
		d.Butane, d.texts = append(d.Butane, t.Content), append(d.texts, t)
	}
	add(field, bu.Text)
	for i, s := range bu.Snippets {
		add(fmt.Sprintf("%s.snippets[%d]", field, i), s)
	}
}

// checkIgnition says what a good config would still lack in the guest.
func (b *build) checkIgnition(nics []nic, d boot, config string) {
	version, err := firstboot.CheckIgnition(config)
	if err != nil {
		b.failBoot(d, err)
		return
	}
	if b.image != nil && firstboot.NewerIgnition(version, b.image.OS.Ignition) {
		instead := ""
		if len(d.Butane) > 0 {
			instead = "; name an older version: in the config"
		}
		b.fail(d.texts[0].Field, "it makes a config of version %s, and %s %s reads none newer than %s%s", version, TheImage, b.image.Owner.Name, b.image.OS.Ignition, instead)
	}
	for i, n := range nics {
		switch {
		case d.UsesAddress(i):
		case n.pool != nil:
			how := ""
			if d.Variables == nil {
				how = fmt.Sprintf(" (Ignition's JSON has variables once %s has one; Butane always has)", called("variables"))
			}
			b.fail(n.field+".staticIP.fromPool", "Ignition configs set no addresses by themselves: have yours write ${%s} into a file that does, in /etc/systemd/network on Flatcar, in /etc/NetworkManager/system-connections on Fedora CoreOS%s", firstboot.NICVariable(firstboot.VarAddress, i), how)
		case len(n.v4)+len(n.v6) > 0:
			b.tell(n.field+".staticIP", "Ignition configs set no addresses by themselves: have yours write a file that does, in /etc/systemd/network on Flatcar, in /etc/NetworkManager/system-connections on Fedora CoreOS")
		}
	}
}

// Names under which systems look for their Ignition config in the firmware
// configuration.
const (
	flatcarEntry = "opt/org.flatcar-linux/config"
	coreOSEntry  = "opt/com.coreos/config"
)

var fwCfgName = regexp.MustCompile(`^opt/[A-Za-z0-9_./-]{1,51}$`)

// fwCfg hands an Ignition config over by the firmware configuration: an argument
// names the file that the hook takes out of the ISO image.
func (b *build) fwCfg(vm *model.VM, ud *UserData, d boot) {
	if !d.ignition {
		b.fail("userData.delivery", "fwcfg is for Ignition configs; cloud-init doesn't look there")
		return
	}
	if vm.Seed == nil {
		return // told
	}
	name := ud.FWCfgName
	switch {
	case name == "" && len(d.Butane) > 0 && firstboot.ButaneVariant(d.Butane[0]) == "flatcar":
		name = flatcarEntry
	case name == "":
		name = coreOSEntry
	case !fwCfgName.MatchString(name):
		b.fail("userData.fwCfgName", "want a name such as %s, have %q", coreOSEntry, suggest.Shortened(name))
	}
	vm.Seed.Apart = true
	b.host.why = append(b.host.why, fmt.Sprintf("%s (%s)", "userData.delivery", byFWCfg))
	b.host.block.CloudInit = vm.Seed.VolumeOf(ownSeed)
	b.host.args = append(b.host.args, qemuarg.Option("-fw_cfg",
		qemuarg.Param{Key: "name", Value: name}, qemuarg.Param{Key: "file", Value: hookblock.IgnitionFile(ownVMID)}))
}
