package model

import (
	"strconv"
	"strings"
)

// DefaultSizes are Proxmox' defaults for sizes that a config leaves out.
var DefaultSizes = map[string]string{"cores": "1", "memory": "512", "sockets": "1"}

// MemoryOf returns the memory in a guest's options, in bytes; 0: not set.
func MemoryOf(options map[string]string) int64 {
	text, _, _ := strings.Cut(said(options, "memory"), ",")
	mib, err := strconv.ParseInt(strings.TrimPrefix(text, "current="), 10, 64)
	if err != nil {
		return 0
	}
	return mib << 20
}

// CPUsOf returns the number of CPUs in a guest's options; 0: not set.
func CPUsOf(options map[string]string) int {
	if n, err := strconv.Atoi(options["vcpus"]); err == nil && n > 0 {
		return n
	}
	cores, err := strconv.Atoi(said(options, "cores"))
	if err != nil {
		cores = 0
	}
	if sockets, err := strconv.Atoi(options["sockets"]); err == nil && sockets > 1 {
		return max(1, cores) * sockets
	}
	return cores
}

// said returns the value of an option; that of Proxmox where it is to be absent, which
// is how a spec says so.
func said(options map[string]string, key string) string {
	value, there := options[key]
	if there && value == "" {
		return DefaultSizes[key]
	}
	return value
}
