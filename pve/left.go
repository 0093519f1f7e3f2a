package pve

import (
	"regexp"
	"slices"
	"strconv"
)

var leftDisk = regexp.MustCompile(`^Could not remove disk '([^']+)', check manually`)

// LeftDisks returns the disks that a task couldn't remove though it removed their VM, by its
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

var inTheWay = regexp.MustCompile(`\bvolume '([^']+)' already exists`)

// InTheWay returns the volume that a task has failed to make since one of that name is there; empty: none.
func (e *TaskError) InTheWay() string {
	for _, line := range slices.Backward(e.Log) {
		if m := inTheWay.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	return ""
}

var cloneStarts = regexp.MustCompile(`^creating a clone of VM \d+ with ID (\d+)$`)

// CloneTarget returns the VMID that a clone was to get, by the beginning of its log: its UPID names the
// source. 0: the log doesn't tell.
func CloneTarget(log []string) int {
	for _, line := range log {
		if m := cloneStarts.FindStringSubmatch(line); m != nil {
			id, _ := strconv.Atoi(m[1])
			return id
		}
	}
	return 0
}

// Unclean reports whether a task has ended in a way that may have left disks of a VM that isn't
// there: a destruction with warnings, or one that failed, or a VM that couldn't be made.
func (t TaskInfo) Unclean() bool {
	switch warnings, ok := taskSucceeded(t.Status); t.UPID.Type {
	case "qmdestroy":
		return !t.Running() && (!ok || warnings > 0)
	case "qmclone", "qmcreate":
		return !t.Running() && !ok
	}
	return false
}

// Messy reports whether a task that failed may have left disks that it had made. One that ran out of
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
