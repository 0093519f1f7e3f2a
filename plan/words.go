package plan

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"strconv"

	"github.com/proxplane/proxplane/model"
)

// differs returns what an option changes from and to. Proxmox' own size stands for one that
// the config leaves out. Passwords are left out.
func differs(field, have, want string) model.Difference {
	if d := model.DefaultSizes[field]; d != "" {
		have, want = cmp.Or(have, d), cmp.Or(want, d)
	}
	if field == model.Password {
		have, want = "", ""
	}
	return model.Difference{Verb: model.VerbSet, Field: field, From: have, To: want}
}

// partOf returns a difference of a part of a slot.
func partOf(slot, name, have, want string) model.Difference {
	return model.Difference{Verb: model.VerbSet, Field: slot + "." + name, From: have, To: want}
}

// sized returns a disk that gets another size, in bytes; 0: not known yet.
func sized(slot string, have, want int64, e Effect) []model.Difference {
	d := partOf(slot, "size", amount(have), amount(want))
	d.Effect = e
	return []model.Difference{d}
}

// one returns a single difference that has an effect.
func one(d model.Difference, e Effect) []model.Difference {
	d.Effect = e
	return []model.Difference{d}
}

// amount returns a number of bytes as differences have it; empty: not known.
func amount(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// withSize names a disk with its size, where that says something.
func withSize(slot string, n int64) string {
	if n == 0 {
		return slot
	}
	return fmt.Sprintf("%s (%s)", slot, model.Bytes(n))
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

// taskName returns a task's type in words.
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
