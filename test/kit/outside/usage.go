package outside

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is what a program has used so far.
type Usage struct {
	Resident, Peak int64 // memory in bytes, now and at most
	CPU            time.Duration
}

// tick is the unit of times in /proc, on all systems that Go runs on.
const tick = 10 * time.Millisecond

// Usage tells what a program that runs has used so far. It needs Linux.
func (p *Process) Usage() (u Usage, err error) { return UsageOf(p.Pid()) }

// UsageOf tells the same of any program.
func UsageOf(pid int) (u Usage, err error) {
	at := fmt.Sprintf("/proc/%d/", pid)
	status, err := os.ReadFile(at + "status")
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(status)) {
		for name, to := range map[string]*int64{"VmRSS:": &u.Resident, "VmHWM:": &u.Peak} {
			if rest, ok := strings.CutPrefix(line, name); ok {
				kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
				if err != nil {
					return u, err
				}
				*to = kib << 10
			}
		}
	}
	stat, err := os.ReadFile(at + "stat")
	if err != nil {
		return u, err
	}
	// The name of the program is in parentheses and may have any characters.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const user, system = 11, 12
	for _, n := range []int{user, system} {
		ticks, err := strconv.ParseInt(fields[n], 10, 64)
		if err != nil {
			return u, err
		}
		u.CPU += time.Duration(ticks) * tick
	}
	return u, nil
}
