package spec

import (
	"regexp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/spec/suggest"
)

// VMIDs that Proxmox takes.
const (
	MinVMID = 100
	MaxVMID = 999999999
)

var (
	guestName   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)
	partName    = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	storageName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]$`)
	poolName    = regexp.MustCompile(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+){0,2}$`)
	haGroup     = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]+$`)
	ifaceName   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{1,20}$`)
)

// IsGuestName reports whether a name is valid for a machine in Proxmox.
func IsGuestName(name string) bool {
	tooLong := func(label string) bool { return len(label) > 63 }
	return guestName.MatchString(name) && len(name) <= 253 && !slices.ContainsFunc(strings.Split(name, "."), tooLong)
}

// checkGuestName checks a name of a machine in Proxmox.
func (r *report) checkGuestName(field, name string) {
	if !IsGuestName(name) {
		r.fail(field, "want a host name of letters, digits, - and ., with at most 63 of them between dots, have %q", suggest.Shortened(name))
	}
}

func (r *report) checkStorage(field, name string) {
	if name != "" && !storageName.MatchString(name) {
		r.fail(field, "want the name of a storage, have %q", suggest.Shortened(name))
	}
}

func (r *report) checkNetwork(field, bridge string, vlan, mtu int) {
	switch {
	case bridge == "":
		r.fail(field+".bridge", "is missing")
	case !ifaceName.MatchString(bridge):
		r.fail(field+".bridge", "want the name of a bridge such as vmbr0, have %q", suggest.Shortened(bridge))
	}
	if vlan < 0 || vlan > 4094 {
		r.fail(field+".vlan", "want a number from 1 to 4094, have %d", vlan)
	}
	if mtu != 0 && mtu != 1 && (mtu < 576 || mtu > 65520) {
		r.fail(field+".mtu", "want 1 for that of the bridge, or a number from 576 to 65520, have %d", mtu)
	}
}

// checkWord checks that a field has one of the words it may have, or none.
func (r *report) checkWord(field, have string, words ...string) bool {
	if have == "" || slices.Contains(words, have) {
		return true
	}
	r.fail(field, "%s", suggest.OneOf(have, words))
	return false
}
