package main

import (
	"syscall"
	"time"
)

func usage() syscall.Rusage {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u
}

func cpuTime() time.Duration {
	u := usage()
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peak is the most memory that was resident; Linux counts it in KiB.
func peak() int64 { return int64(usage().Maxrss) << 10 } //nolint:unconvert // it has 32 bits on some machines
