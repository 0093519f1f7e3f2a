package outside

import (
	"os"
	"syscall"
)

// MostMemory is how much memory a process had at most, in bytes.
func MostMemory(state *os.ProcessState) int64 {
	use, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return int64(use.Maxrss) << 10 //nolint:unconvert // Linux counts in KiB, with 32 bits on some machines
}
