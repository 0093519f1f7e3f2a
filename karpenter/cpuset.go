package karpenter

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// cpuSet are CPUs of a Proxmox node, by their numbers.
type cpuSet map[int]bool

// mostCPUs is more than any host has: larger numbers are mistakes.
const mostCPUs = 1 << 13

// parseCPUs reads CPUs such as 0-3,8.
func parseCPUs(text string) (cpuSet, error) {
	set := cpuSet{}
	for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == ',' || c == ';' || c == ' ' }) {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, also := strconv.Atoi(to)
		if err != nil || also != nil || first < 0 || first > last || last >= mostCPUs {
			return nil, fmt.Errorf("want CPUs such as 0-3,8, have %q", text)
		}
		for cpu := first; cpu <= last; cpu++ {
			set[cpu] = true
		}
	}
	return set, nil
}

// String returns the set as Proxmox writes it in affinity.
func (s cpuSet) String() string {
	var parts []string
	all := slices.Sorted(maps.Keys(s))
	for i := 0; i < len(all); {
		last := i
		for last+1 < len(all) && all[last+1] == all[last]+1 {
			last++
		}
		part := strconv.Itoa(all[i])
		if last > i {
			part += "-" + strconv.Itoa(all[last])
		}
		parts, i = append(parts, part), last+1
	}
	return strings.Join(parts, ",")
}

// add adds CPUs of a text. What can't be read names none.
func (s cpuSet) add(text string) {
	if set, err := parseCPUs(text); err == nil {
		maps.Copy(s, set)
	}
}
