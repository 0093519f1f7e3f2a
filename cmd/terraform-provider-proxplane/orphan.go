package main

import (
	"fmt"
	"os"
	"time"
)

// endWithParent ends this process after the one that has started it was killed, which tells nobody: a provider
// that goes on alone would make machines that nobody waits for, and make them again when somebody destroys them. Tasks go on in
// Proxmox; the next apply finds what became of them.
func endWithParent() {
	parent := os.Getppid()
	if parent <= 1 {
		return // started by init, or for a debugger
	}
	go func() {
		for range time.Tick(time.Second) {
			if os.Getppid() != parent {
				fmt.Fprintln(os.Stderr, "terraform-provider-proxplane: the process that started this one is gone")
				os.Exit(1)
			}
		}
	}()
}
