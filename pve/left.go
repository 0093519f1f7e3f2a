package pve

import (
	"regexp"
	"slices"
)

var leftDisk = regexp.MustCompile(`^Could not remove disk '([^']+)', check manually`)

// LeftDisks are the disks that a task couldn't remove though it removed their VM, by its
// warnings. Nothing else names them any more.
func LeftDisks(warnings []string) []string {
	var volumes []string
	for _, w := range warnings {
		if m := leftDisk.FindStringSubmatch(w); m != nil {
			volumes = append(volumes, m[1])
		}
	}
	return volumes
}

// Messy tells whether a task that failed may have left disks that it had made. One that ran out of
// room has removed them, unless the lock that it needed for that was held, or something was in its
// way that an earlier one had left. After anything else nobody knows.
func (e *TaskError) Messy() bool {
	kind := func(text string) Kind { said := &Error{Text: text}; return said.classify() }
	return kind(e.ExitStatus) != ErrNoSpace || slices.ContainsFunc(e.Log, func(line string) bool {
		switch kind(line) {
		case ErrLockTimeout, ErrExists, ErrInterrupted:
			return true
		}
		return false
	})
}
