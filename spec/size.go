package spec

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/prop"
)

// maxOptions leaves room for all else in the 512 KiB that Proxmox takes in a call.
const maxOptions = 448 << 10

// checkSize makes sure that one call can carry all options of a machine. They are
// longer on their way than in the manifest; keys are encoded twice.
func (b *build) checkSize(vm *model.VM) {
	sum, most, largest := 0, 0, ""
	options := vm.At(MaxVMID).Options
	for _, key := range slices.Sorted(maps.Keys(options)) {
		value := options[key]
		if key == "sshkeys" {
			value = prop.NewSSHKeys(strings.Split(value, "\n")...).String()
		}
		size := len(url.QueryEscape(value))
		sum += size
		if size > most {
			most, largest = size, key
		}
	}
	if sum <= maxOptions {
		return
	}
	field, instead := "extraConfig", ""
	if largest == "sshkeys" {
		field, instead = "userData", "; delivery: iso takes more"
	}
	b.fail(field, "the options have %d bytes on their way to Proxmox, mostly %s, and it takes at most %d%s", sum, largest, maxOptions, instead)
}
