// Package figures prints what was measured: values with their units, targets and
// whether they hold, and puts tables where people read them.
package figures

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Seconds prints a duration.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// Mebibytes prints a number of bytes.
func Mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// Numbers reads numbers with commas between them; an empty text has none.
func Numbers(text string) ([]int, error) {
	var out []int
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q isn't a number", word)
		}
		out = append(out, n)
	}
	return out, nil
}

// Target is something that has to hold.
type Target struct {
	What      string
	Have, Max float64
	Unit      string
}

// AtMost is a target for a figure.
func AtMost(what string, have, most float64, unit string) Target {
	return Target{What: what, Have: have, Max: most, Unit: unit}
}

// Holds reports whether it does.
func (t Target) Holds() bool { return t.Have <= t.Max }

// Missed are the targets that don't hold.
func Missed(list []Target) []Target {
	var missed []Target
	for _, t := range list {
		if !t.Holds() {
			missed = append(missed, t)
		}
	}
	return missed
}

// Verdict says which targets don't hold.
func Verdict(list []Target) string {
	missed := Missed(list)
	if len(missed) == 0 {
		return fmt.Sprintf("\nAll %d targets hold.\n", len(list))
	}
	var lines []string
	for _, t := range missed {
		lines = append(lines, fmt.Sprintf("- %s: %.2f, want at most %.2f %s", t.What, t.Have, t.Max, t.Unit))
	}
	return fmt.Sprintf("\n%d of %d targets hold. These don't:\n\n%s\n", len(list)-len(missed), len(list), strings.Join(lines, "\n"))
}

// Targets is a table of targets, with whether each holds.
func Targets(list []Target) string {
	var b strings.Builder
	b.WriteString("| target | measured | at most | |\n|---|---:|---:|---|\n")
	for _, t := range list {
		verdict := "holds"
		if !t.Holds() {
			verdict = "**doesn't hold**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", t.What, figure(t.Have, t.Unit), figure(t.Max, t.Unit), verdict)
	}
	return b.String()
}

// figure prints a value as short as is useful.
func figure(v float64, unit string) string {
	text := fmt.Sprintf("%.2f", v)
	if v >= 100 || v == float64(int64(v)) {
		text = fmt.Sprintf("%.0f", v)
	}
	return strings.TrimSpace(text + " " + unit)
}

// Put writes a text into a file, between the lines <!-- name --> and
// <!-- end of name -->.
func Put(file, name, text string) error {
	was, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, ok := strings.Cut(string(was), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s has no lines %q and %q", file, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(file, []byte(before+begin+text+end+after), 0o644)
}

// PutRow writes a row of a table into a file: the one whose first cell is the same gets the other cells.
func PutRow(file string, cells ...string) error {
	was, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines, first := strings.Split(string(was), "\n"), "| "+cells[0]+" |"
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, first) })
	if at < 0 {
		return fmt.Errorf("%s has no row that begins with %q", file, first)
	}
	lines[at] = "| " + strings.Join(cells, " | ") + " |"
	return os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644)
}

// Machine says what a measurement runs on, and how busy that is: times mean little where others work, too.
func Machine() string {
	text := fmt.Sprintf("%d CPUs", runtime.NumCPU())
	b, err := os.ReadFile("/proc/loadavg")
	if load, _, ok := strings.Cut(string(b), " "); err == nil && ok {
		text += ", of which " + load + " were busy in the minute before"
	}
	return text
}
