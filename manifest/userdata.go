package manifest

import (
	"slices"
	"strings"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/firstboot"
	"github.com/proxplane/proxplane/model"
)

// firstBoot decides how the guest gets what it needs at its first boot: by
// Proxmox' own options where these can say it, else by a drive of ours.
func (b *build) firstBoot(vm *model.VM, nics []nic, m *api.MachineSpec, ud *api.UserData) {
	userData, given := b.userData(ud)
	if given {
		b.checkNoOptions(m)
	}
	own, simple := proxmoxOptions(userData, vm.Name)
	if (given && !simple) || slices.ContainsFunc(nics, func(n nic) bool { return !n.simple() }) {
		b.seed(vm, nics, userData)
		return
	}
	static := slices.ContainsFunc(nics, func(n nic) bool { return len(n.v4)+len(n.v6) > 0 })
	if given || static || !b.source.Blank {
		ipOptions(nics, b.opts)
	}
	if given {
		for key, value := range own {
			b.opts.set(key, value)
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

func (b *build) seed(vm *model.VM, nics []nic, userData string) {
	in := firstboot.Input{UserData: userData, Hostname: vm.Name, InstanceID: "proxplane-" + vm.Owner.ID()}
	if userData == "" {
		in.UserData = "#cloud-config\n{}\n"
	}
	for _, n := range nics {
		f := firstboot.NIC{MAC: n.MAC, DHCP4: n.dhcp, Manual: !n.dhcp, DHCP6: n.dhcp6, SLAAC: n.slaac, Gateway: n.gateway, Gateway6: n.gateway6, DNS: n.dns, Search: n.search}
		if n.MTU > 1 {
			f.MTU = n.MTU
		}
		for _, p := range slices.Concat(n.v4, n.v6) {
			f.Addresses = append(f.Addresses, p.String())
		}
		in.NICs = append(in.NICs, f)
	}
	files, err := firstboot.NoCloud(in)
	if err != nil {
		b.fail("spec.userData", "%v", err)
		return
	}
	vm.Seed = &model.Seed{Storage: b.provider.isoStorage(), Digest: firstboot.Digest(files), Files: files}
}

// userData finds the user-data of a machine; false: there is none.
func (b *build) userData(ud *api.UserData) (text string, given bool) {
	if ud == nil {
		return "", false
	}
	const field = "spec.userData.cloudInit"
	c := ud.CloudInit
	switch {
	case c == nil:
		b.fail(field, "is missing")
		return "", false
	case c.Inline != "" && c.SecretRef != nil:
		b.fail(field, "has both inline and secretRef; choose one")
		return "", false
	case c.Inline != "":
		text = c.Inline
	case c.SecretRef != nil:
		var ok bool
		if text, ok = b.secretData(field+".secretRef", *c.SecretRef); !ok {
			return "", false
		}
	default:
		b.fail(field, "has neither inline nor secretRef")
		return "", false
	}
	if !knownFormat(text) {
		b.tell(field, "cloud-init would ignore this: it doesn't begin with #cloud-config, #! or the like")
	}
	return text, true
}

// secretKeys are the entries that are taken when none is named.
var secretKeys = []string{"userData", "user-data", "userdata"}

func (b *build) secretData(field string, ref api.SecretKeyRef) (string, bool) {
	o := b.find(field+".name", "Secret", ref.Name)
	if o == nil {
		return "", false
	}
	secret := o.Object.(*Secret)
	keys, names := secret.keys(), secretKeys
	switch {
	case ref.Key != "":
		names = []string{ref.Key}
	case len(keys) == 1:
		names = keys
	}
	for _, name := range names {
		if text, ok := secret.Get(name); ok {
			return text, true
		}
	}
	if ref.Key != "" {
		b.fail(field+".key", "Secret %s has no entry %s; it has %s", ref.Name, ref.Key, list(keys))
	} else {
		b.fail(field+".key", "is missing: Secret %s has %s", ref.Name, list(keys))
	}
	return "", false
}

// knownFormat tells whether user-data begins in a way that cloud-init knows.
func knownFormat(text string) bool {
	for _, begin := range []string{
		"#cloud-config", "#!", "#include", "#cloud-boothook", "#part-handler", "## template:", "Content-Type:", "MIME-Version:", "\x1f\x8b",
	} {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return false
}
