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

// Messy tells whether a task that failed may have left disks that it had made: the lock that it
// needed to remove them was held, or it was interrupted, or something was in its way that an
// earlier one had left.
func (e *TaskError) Messy() bool {
	return slices.ContainsFunc(append([]string{e.ExitStatus}, e.Log...), func(text string) bool {
		said := &Error{Text: text}
		switch said.classify() {
		case ErrLockTimeout, ErrExists, ErrInterrupted:
			return true
		}
		return false
	})
}
