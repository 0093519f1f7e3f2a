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
	// An option that is complained of is repeated with all of its values.
	{regexp.MustCompile(`\bQEMU exited\b`), regexp.MustCompile(`^kvm: (?:-\S+ .*?: )?(.+)$`)},
	{regexp.MustCompile(`^hookscript error\b`), regexp.MustCompile(`^(?:proxplane: VM \d+: )?(.+)$`)},
}

// Detail is what the log tells beyond the exit status: for a URL that couldn't be fetched what
// its server said, such as "404: Not Found"; for a VM that doesn't start what QEMU or its
// hookscript said. Empty: nothing.
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

// readLog adds to the error of a task what only its log tells.
func (e *TaskError) readLog() {
	if m := noDirectory.FindStringSubmatch(e.Detail()); m != nil {
		e.cause.Kind, e.cause.Subject = ErrNotFound, "path "+cmp.Or(m[1], m[2])
	}
}
