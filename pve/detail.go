package pve

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// said are the programs whose words a task's exit status doesn't repeat, by what it says
// instead. What they said last counts.
var said = []struct{ exit, line *regexp.Regexp }{
	{regexp.MustCompile(`^download failed\b`), regexp.MustCompile(`\bERROR (\d{3}: .+?)\.?$`)},
	// Of the script that plugs a guest into a bridge QEMU says only that it has failed.
	{regexp.MustCompile(`\bQEMU exited\b`), regexp.MustCompile(`^(bridge '[^']+' does not exist)$`)},
	// An option that is complained of is repeated with all of its values.
	{regexp.MustCompile(`\bQEMU exited\b`), regexp.MustCompile(`^kvm: (?:-\S+ .*?: )?(.+)$`)},
	// Which disk can't be moved is said before "can't migrate VM - check log".
	{regexp.MustCompile(`^migration aborted$`), regexp.MustCompile(`\b(can't migrate local (?:cdrom drive|disk '[^']+': .+))$`)},
	{regexp.MustCompile(`^migration aborted$`), regexp.MustCompile(`\bERROR: migration aborted \(duration [^)]*\): (.+)$`)},
	{regexp.MustCompile(`^hookscript error\b`), regexp.MustCompile(`^(?:proxplane: VM \d+: )?(.+)$`)},
}

// Detail returns what the log tells beyond the exit status: for a URL that couldn't be fetched what
// its server said, such as "404: Not Found"; for a VM that doesn't start what QEMU or its
// hookscript said; for one that couldn't be migrated why. Empty: nothing.
func (e *TaskError) Detail() string {
	for _, s := range said {
		if !s.exit.MatchString(e.ExitStatus) {
			continue
		}
		for _, line := range slices.Backward(e.Log) {
			if strings.HasPrefix(line, "TASK ERROR: ") {
				continue
			}
			if m := s.line.FindStringSubmatch(line); m != nil {
				return m[1]
			}
		}
	}
	return ""
}

// noDirectory is how QEMU and our hook say that there is no such directory to share.
var noDirectory = regexp.MustCompile(`\bfsdev\b.*failed to open '(/[^']*)': No such file or directory$|^share (/.*): there is no such directory$`)

// refusedForGood are the answers to a request for a URL after which asking again doesn't
// help: all of 400 to 499 but those that tell to come back.
var refusedForGood = regexp.MustCompile(`^4(?:0[0-7]|09|1\d|2[0-46-8]|[3-9]\d):`)

// readLog adds to the error of a task what only its log tells.
func (e *TaskError) readLog() {
	detail := e.Detail()
	missing := noDirectory.FindStringSubmatch(detail)
	switch {
	case missing != nil:
		e.cause.Kind, e.cause.Subject = ErrNotFound, "path "+cmp.Or(missing[1], missing[2])
	case strings.HasPrefix(detail, "bridge '"):
		e.cause.Kind, e.cause.Subject = ErrNotFound, subjectOf(detail)
	case e.cause.Kind == ErrDownload && refusedForGood.MatchString(detail):
		e.cause.also = append(e.cause.also, ErrURL)
	}
}
