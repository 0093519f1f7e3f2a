package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/firstboot"
	"github.com/proxplane/proxplane/firstboot/hookblock"
	"github.com/proxplane/proxplane/firstboot/qemuarg"
	"github.com/proxplane/proxplane/model"
)

func (b *build) ignition(d *boot, i *api.Ignition) bool {
	t, ok := b.passage("spec.userData.ignition", i.Text)
	d.ignition, d.Ignition, d.texts = true, t.string, []passage{t}
	if ok && firstboot.ButaneVariant(t.string) != "" {
		b.fail(t.field, "this is Butane, not Ignition's JSON; it belongs under spec.userData.butane")
		return false
	}
	return ok
}

// butane reads a Butane config with its snippets and files. Its variables are
// always replaced.
func (b *build) butane(vm *model.VM, d *boot, spec bootSpec) bool {
	const field = "spec.userData.butane"
	bu := spec.userData.Butane
	d.ignition, d.Variables = true, b.variables(vm, spec.variables)
	all := true
	add := func(field string, source api.Text) {
		t, ok := b.passage(field, source)
		d.Butane, d.texts, all = append(d.Butane, t.string), append(d.texts, t), all && ok
	}
	add(field, bu.Text)
	for i, s := range bu.Snippets {
		add(fmt.Sprintf("%s.snippets[%d]", field, i), s.Text)
	}
	return b.butaneFiles(d, bu.Files) && all
}

func (b *build) butaneFiles(d *boot, f *api.ButaneFiles) bool {
	const field = "spec.userData.butane.files"
	switch {
	case f == nil:
		return true
	case (f.Folder == "") == (f.ConfigMapRef == nil):
		b.fail(field, "want either folder or configMapRef")
		return false
	case f.ConfigMapRef != nil:
		o := b.find(field+".configMapRef.name", "ConfigMap", f.ConfigMapRef.Name)
		if o == nil {
			return false
		}
		d.Files = o.Object.(*ConfigMap).files()
		return true
	case b.o.places == nil:
		b.fail(field+".folder", "is for manifests in files; inside Kubernetes, use configMapRef")
		return false
	}
	folder := f.Folder
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(filepath.Dir(b.o.where(field+".folder").file), folder)
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		b.fail(field+".folder", "there is no folder %s", folder)
		return false
	}
	d.Folder = folder
	return true
}

// checkIgnition tells what a good config would still lack in the guest.
func (b *build) checkIgnition(nics []nic, d boot, config string) {
	version, err := firstboot.CheckIgnition(config)
	if err != nil {
		b.failBoot(d, err)
		return
	}
	if b.image != nil && firstboot.NewerIgnition(version, b.image.spec.OS.Ignition) {
		text := fmt.Sprintf("it makes a config of version %s, and VMImage %s reads none newer than %s", version, b.image.o.key.Name, b.image.spec.OS.Ignition)
		if len(d.Butane) > 0 {
			text += "; name an older version: in the config"
		}
		b.fail(d.texts[0].field, "%s", text)
	}
	for _, n := range nics {
		if len(n.v4)+len(n.v6) > 0 {
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
func (b *build) fwCfg(vm *model.VM, ud *api.UserData, d boot) {
	if !d.ignition {
		b.fail("spec.userData.delivery", "fwcfg is for Ignition configs; cloud-init doesn't look there")
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
		b.fail("spec.userData.fwCfgName", "want a name such as %s, have %q", coreOSEntry, shortened(name))
	}
	vm.Seed.Apart = true
	b.host.why = append(b.host.why, "userData.delivery (fwcfg)")
	b.host.block.CloudInit = vm.Seed.VolumeOf(ownSeed)
	b.host.args = append(b.host.args, qemuarg.Option("-fw_cfg",
		qemuarg.Param{Key: "name", Value: name}, qemuarg.Param{Key: "file", Value: hookblock.IgnitionFile(ownVMID)}))
}
