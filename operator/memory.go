package operator

import (
	"fmt"
	"runtime/debug"
	"strconv"
)

// MemoryLimit is the environment variable with the container's memory limit in bytes. The
// chart sets it.
const MemoryLimit = "PROXPLANE_MEMORY_LIMIT"

// The part of the container's memory from which on Go collects harder: the rest is for
// temporary files, which are in memory too, and for what Go doesn't count.
const (
	softPart  = 4
	softWhole = 5
)

// limitMemory has Go collect before the container's limit is reached. GOMEMLIMIT and GOGC
// say otherwise.
func limitMemory(getenv func(string) string) error {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	limit, err := softLimit(getenv)
	if err != nil {
		return err
	}
	if limit > 0 {
		debug.SetMemoryLimit(limit)
	}
	return nil
}

// softLimit is the limit for Go in bytes; 0: none.
func softLimit(getenv func(string) string) (int64, error) {
	text := getenv(MemoryLimit)
	if text == "" || getenv("GOMEMLIMIT") != "" {
		return 0, nil
	}
	limit, err := strconv.ParseInt(text, 10, 64)
	if err != nil || limit < 0 {
		return 0, fmt.Errorf("%s: want a number of bytes, have %q", MemoryLimit, text)
	}
	return limit / softWhole * softPart, nil
}
