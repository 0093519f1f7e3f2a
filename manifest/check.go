package manifest

import (
	"regexp"
	"slices"
	"strings"
)

// VMIDs that Proxmox takes.
const (
	minVMID = 100
	maxVMID = 999999999
)

var (
	objectName  = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
	guestName   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)
	partName    = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	storageName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]$`)
	poolName    = regexp.MustCompile(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+){0,2}$`)
	haGroup     = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]+$`)
	ifaceName   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{1,20}$`)
)

// checkName checks the object's own name. Kubernetes is as strict.
func (s scope) checkName() {
	if name := s.o.key.Name; !objectName.MatchString(name) || len(name) > 253 {
		s.fail("metadata.name", "want lower-case letters, digits, - and ., have %q", shortened(name))
	}
}

// IsGuestName reports whether Proxmox takes a name for a machine.
func IsGuestName(name string) bool {
	tooLong := func(label string) bool { return len(label) > 63 }
	return guestName.MatchString(name) && len(name) <= 253 && !slices.ContainsFunc(strings.Split(name, "."), tooLong)
}

// checkGuestName checks a name of a machine in Proxmox.
func (s scope) checkGuestName(field, name string) {
	if !IsGuestName(name) {
		s.fail(field, "want a host name of letters, digits, - and ., with at most 63 of them between dots, have %q", shortened(name))
	}
}

func (s scope) checkStorage(field, name string) {
	if name != "" && !storageName.MatchString(name) {
		s.fail(field, "want the name of a storage, have %q", shortened(name))
	}
}

func (s scope) checkNetwork(field, bridge string, vlan, mtu int) {
	switch {
	case bridge == "":
		s.fail(field+".bridge", "is missing")
	case !ifaceName.MatchString(bridge):
		s.fail(field+".bridge", "want the name of a bridge such as vmbr0, have %q", shortened(bridge))
	}
	if vlan < 0 || vlan > 4094 {
		s.fail(field+".vlan", "want a number from 1 to 4094, have %d", vlan)
	}
	if mtu != 0 && mtu != 1 && (mtu < 576 || mtu > 65520) {
		s.fail(field+".mtu", "want 1 for that of the bridge, or a number from 576 to 65520, have %d", mtu)
	}
}

// checkWord checks that a field has one of the words it may have, or none.
func (s scope) checkWord(field, have string, words ...string) bool {
	if have == "" || slices.Contains(words, have) {
		return true
	}
	hint := ""
	if near, ok := Nearest(have, words); ok {
		hint = "; did you mean " + near + "?"
	}
	last := len(words) - 1
	s.fail(field, "want %s or %s, have %q%s", strings.Join(words[:last], ", "), words[last], shortened(have), hint)
	return false
}
