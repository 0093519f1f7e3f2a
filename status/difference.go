package status

import (
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Reason returns why a step is done: its own reason, or its differences.
func Reason(why string, diff []model.Difference) string {
	if why != "" {
		return Sentence(why)
	}
	return Sentence(Differences(diff))
}

// Text returns a text with its differences.
func Text(text string, diff []model.Difference) string {
	switch {
	case len(diff) == 0:
		return Sentence(text)
	case text == "":
		return Sentence(Differences(diff))
	}
	return Sentence(text + ": " + Differences(diff))
}

// Why returns the reason of a step; empty if the reason is trivial, such as that a new
// object doesn't exist yet.
func Why(s plan.Step) string {
	if s.Obvious {
		return ""
	}
	return Reason(s.Why, s.Diff)
}

// Differences formats changes: those at once, and those at the next start.
func Differences(list []model.Difference) string {
	var now, later []model.Difference
	for _, d := range list {
		if d.Waits() {
			later = append(later, d)
		} else {
			now = append(now, d)
		}
	}
	switch {
	case len(later) == 0:
		return joinDiff(now)
	case len(now) == 0:
		return joinDiff(later)
	}
	return joinDiff(now) + "; at the next start " + joinDiff(later)
}

// joinDiff names the parts of a device after one another: "net0 bridge vmbr0 → vmbr1, VLAN 5".
func joinDiff(list []model.Difference) string {
	var parts []string
	last := ""
	for _, d := range list {
		text := Difference(d)
		slot, part := d.Slot()
		if slot != "" && slot != last && !aloneParts[part] && slot != model.FieldHA && slot != model.FieldFirewall {
			text = slot + " " + text
		}
		last = slot
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// aloneParts are parts of disks that steps of their own change, which name the disk.
var aloneParts = map[string]bool{"size": true, "format": true, "storage": true}

// fieldWords are fields as people call them.
var fieldWords = map[string]string{
	"cipassword": "password", "sshkeys": "SSH keys", "tag": "VLAN", "mac": "MAC", "mtu": "MTU",
	"enable": "enabled", "policy_in": "policyIn", "policy_out": "policyOut", "log_level_in": "logIn", "log_level_out": "logOut",
	"radv": "routerAdvertisements", "macfilter": "macFilter", "ipfilter": "ipFilter",
	model.FieldHook: "what the hook does", model.FieldPower: "powerState", "max_restart": "maxRestart", "max_relocate": "maxRelocate",
}

// verbWords are differences of which the value says nothing more.
var verbWords = map[model.Verb]map[string]string{
	model.VerbSet: {
		model.FieldMarker:    "update proxplane's marker (guest unaffected)",
		model.FieldFirstBoot: "other first-boot data, for the next first boot",
		model.FieldRules:     "another order of its rules",
	},
	model.VerbSign:   {model.FieldMarker: "sign proxplane's marker (guest unaffected)"},
	model.VerbRerun:  {model.FieldFirstBoot: "other first-boot data, which is all done again"},
	model.VerbRemove: {model.FieldFirstBoot: "detach its first-boot data"},
	model.VerbEmpty:  {model.FieldFirstBoot: "empty the drive for its first-boot data"},
	model.VerbAttach: {model.FieldFirstBoot: "attach its first-boot data"},
	model.VerbAdd:    {model.FieldCloudInit: "add a cloud-init drive"},
}

// Difference formats one change: "memory 2048 → 4096 MiB".
func Difference(d model.Difference) string {
	if text := verbWords[d.Verb][d.Field]; text != "" {
		return text
	}
	slot, part := d.Slot()
	switch d.Verb {
	case model.VerbUnset:
		return d.Field + " is no longer wanted"
	case model.VerbAdd:
		switch {
		case d.Field == model.FieldRule:
			return "add the rule " + inQuotes(d.To)
		case slot == model.FieldHA:
			return "HA rule " + d.To + " isn't about it"
		case isNIC(d.Field):
			bridge, vlan, tagged := strings.Cut(d.To, ",tag=")
			if tagged {
				bridge += " (VLAN " + vlan + ")"
			}
			return "add " + d.Field + " on " + bridge
		}
		return "add " + withSize(d.Field, d.To)
	case model.VerbReplace:
		return "add " + withSize(d.Field, d.To) + ", new and empty: the volume that it had is gone"
	case model.VerbAttach:
		return "attach " + d.To + " to " + d.Field + " again, which was detached"
	case model.VerbInsert:
		return "insert " + d.To + " into " + d.Field
	case model.VerbRemove:
		if d.Field == model.FieldRule {
			return "remove the rule " + inQuotes(d.From)
		}
		return "remove " + withSize(d.Field, d.From)
	case model.VerbUndoAdd:
		return "drop the pending " + d.Field
	case model.VerbUndoRemove:
		return "drop the pending removal of " + d.Field
	case model.VerbUndo:
		switch {
		case isNIC(d.Field):
			return "drop the pending change of " + d.Field
		case isDrive(d.Field):
			return "drop the pending options of " + d.Field
		}
		return "drop the pending " + changed(d.Field, d.To, d.From)
	}
	return changed(part, d.From, d.To)
}

// changed says "memory 2048 → 4096 MiB".
func changed(name, have, want string) string {
	switch name {
	case "cipassword", "sshkeys", "description", model.FieldHook:
		return fieldWord(name)
	case "size":
		return sizes(have, want)
	case "firewall":
		return name + " " + want
	}
	unit := ""
	if name == "memory" || name == "balloon" {
		unit = " MiB"
	}
	word := fieldWord(name)
	switch {
	case have == "":
		return word + " " + model.Shortened(want) + unit
	case want == "":
		return word + " " + model.Shortened(have) + " → default"
	}
	return word + " " + model.Shortened(have) + " → " + model.Shortened(want) + unit
}

// inQuotes returns a rule of a firewall.
func inQuotes(rule string) string { return `"` + rule + `"` }

func fieldWord(name string) string {
	if word := fieldWords[name]; word != "" {
		return word
	}
	return name
}

// sizes returns the old and new size of a disk; without have they aren't known yet.
func sizes(have, want string) string {
	if have == "" {
		return "to " + bytesText(want)
	}
	return bytesText(have) + " → " + bytesText(want)
}

// withSize names a disk with its size, where that says something.
func withSize(slot, bytes string) string {
	if bytes == "" {
		return slot
	}
	return slot + " (" + bytesText(bytes) + ")"
}

func bytesText(n string) string {
	size, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		return n
	}
	return model.Bytes(size)
}

func isNIC(field string) bool { return model.SlotFamily(field) == "net" }

func isDrive(field string) bool {
	switch model.SlotFamily(field) {
	case "scsi", "virtio", "sata", "ide":
		return true
	}
	return false
}
