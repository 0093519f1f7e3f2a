//go:build !linux

package main

import "time"

// What a program has used is measured on Linux only.
func cpuTime() time.Duration { return 0 }

func peak() int64 { return 0 }
