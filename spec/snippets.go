package spec

import (
	"github.com/proxplane/proxplane/firstboot"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
)

// driveParts are what Proxmox calls the files of its drive.
var driveParts = []struct{ name, file string }{
	{"meta", firstboot.MetaDataFile}, {"network", firstboot.NetworkConfigFile}, {"user", firstboot.UserDataFile},
}

// snippetParts has first-boot data delivered as snippets. Proxmox reads no more of
// them than it has room for.
func (b *build) snippetParts(seed *model.Seed, files map[string][]byte) {
	const field = "userData"
	seed.Storage = b.cluster.snippetStorage()
	sum := 0
	for _, p := range driveParts {
		data, ok := files[p.file]
		if !ok {
			continue
		}
		seed.Snippets = append(seed.Snippets, p.name)
		sum += len(data)
		if len(data) > firstboot.MaxSnippet {
			b.fail(field, "%s has %d bytes, and Proxmox reads at most %d of a snippet; delivery: iso takes more", p.file, len(data), firstboot.MaxSnippet)
		}
	}
	if sum > firstboot.MaxSnippets {
		b.fail(field, "all snippets have %d bytes together, and Proxmox' drive takes at most %d; delivery: iso takes more", sum, firstboot.MaxSnippets)
	}
}

// snippets names the snippets in the option that has Proxmox read them.
func (b *build) snippets(vm *model.VM) {
	if vm.Seed == nil {
		return // told
	}
	if !b.cluster.SSH {
		b.fail("userData.delivery", "snippets are copied to nodes by SSH, for Proxmox' API has no call for that: say how in %s of the %s, or leave delivery out", inCluster("ssh"), TheCluster)
	}
	var l prop.List
	for _, part := range vm.Seed.Snippets {
		l.Set(part, model.SnippetVolume(vm.Seed.VolumeOf(ownSeed), part))
	}
	b.opts.set("cicustom", l.String())
}
