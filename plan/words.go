package plan

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"
)

// defaults are what Proxmox takes for sizes that a config leaves out.
var defaults = map[string]string{"cores": "1", "memory": "512", "sockets": "1"}

// changed says "memory 2048 → 4096 MiB".
func changed(name, have, want string) string {
	unit := ""
	if name == "memory" || name == "balloon" {
		unit = " MiB"
	}
	if d := defaults[name]; d != "" {
		have, want = cmp.Or(have, d), cmp.Or(want, d)
	}
	switch {
	case name == "cipassword":
		return "password"
	case name == "sshkeys":
		return "SSH keys"
	case have == "":
		return name + " " + shortened(want) + unit
	case want == "":
		return name + " " + shortened(have) + " → default"
	}
	return name + " " + shortened(have) + " → " + shortened(want) + unit
}

// shortened keeps long values from hiding the rest.
func shortened(s string) string {
	const most = 60
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i] + "…"
	}
	if len(s) <= most {
		return s
	}
	at := most
	for !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at] + "…"
}

// size prints bytes for people.
func size(n int64) string {
	const unit = 1024
	switch {
	case n >= 10*unit*unit*unit*unit && n%(unit*unit*unit*unit) == 0:
		return fmt.Sprintf("%d TiB", n/(unit*unit*unit*unit))
	case n >= unit*unit*unit && n%(unit*unit*unit) == 0:
		return fmt.Sprintf("%d GiB", n/(unit*unit*unit))
	case n >= unit*unit*unit:
		return fmt.Sprintf("%.1f GiB", float64(n)/(unit*unit*unit))
	case n >= unit*unit:
		return fmt.Sprintf("%d MiB", n/(unit*unit))
	}
	return fmt.Sprintf("%d KiB", n/unit)
}

// withSize names a disk with its size, where that says something.
func withSize(slot string, n int64) string {
	if n == 0 {
		return slot
	}
	return fmt.Sprintf("%s (%s)", slot, size(n))
}

// sizes says from what to what a disk grows; 0: nobody knows yet.
func sizes(have, want int64) string {
	if have == 0 {
		return "to " + size(want)
	}
	return size(have) + " → " + size(want)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func itoa(n int) string { return strconv.Itoa(n) }

// number is empty for 0, so that "VLAN 0" is never shown.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func keysOf[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }

// memoryOf is how much memory a guest is to have, in bytes; 0: not said.
func memoryOf(options map[string]string) int64 {
	text, _, _ := strings.Cut(said(options, "memory"), ",")
	mib, err := strconv.ParseInt(strings.TrimPrefix(text, "current="), 10, 64)
	if err != nil {
		return 0
	}
	return mib << 20
}

// said is the value of an option; that of Proxmox where it is to be absent, which
// is how wishes say so.
func said(options map[string]string, key string) string {
	value, there := options[key]
	if there && value == "" {
		return defaults[key]
	}
	return value
}

// cpusOf is how many CPUs a guest has; 0: not said.
func cpusOf(options map[string]string) int {
	if n, err := strconv.Atoi(options["vcpus"]); err == nil && n > 0 {
		return n
	}
	cores, err := strconv.Atoi(said(options, "cores"))
	if err != nil {
		cores = 0
	}
	if sockets, err := strconv.Atoi(options["sockets"]); err == nil && sockets > 1 {
		return max(1, cores) * sockets
	}
	return cores
}

// taskName is a task's type in words.
func taskName(typ string) string {
	names := map[string]string{
		"qmstart": "the start", "qmstop": "the stop", "qmshutdown": "the shutdown", "qmreboot": "the restart",
		"qmsnapshot": "a snapshot", "qmdelsnapshot": "the deletion of a snapshot", "qmrollback": "a rollback",
		"qmdestroy": "the removal", "qmcreate": "the creation", "qmconfig": "a configuration", "resize": "a resize",
		"qmmove": "the move of a disk", "qmigrate": "a migration", "qmtemplate": "the conversion", "vzdump": "a backup",
	}
	if n, ok := names[typ]; ok {
		return n
	}
	return "a task (" + typ + ")"
}
