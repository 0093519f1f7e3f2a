//go:build linux

package hook

import (
	"context"
	"fmt"
	"io"
	"log/syslog"
	"os"
	"slices"
	"sync"
)

// Called reports whether the program was called by Proxmox, or by itself, and not
// by a person. Proxmox calls hookscripts with a VMID and a phase, whatever
// their name; no command of ours is a number.
func Called(args []string) bool {
	if len(args) != 2 {
		return false
	}
	if args[0] == shimWord {
		return true
	}
	_, err := ParseVMID(args[0])
	return err == nil && slices.Contains(Phases, args[1])
}

// Main runs as a hookscript, and returns the exit status.
func Main(ctx context.Context, args []string, out, complaints io.Writer) int {
	if args[0] == shimWord {
		fmt.Fprintln(complaints, becomeDaemon(args[1]))
		return 1
	}
	vmid, err := ParseVMID(args[0])
	if err == nil {
		err = This(out, os.Getenv(RootVariable)).Run(ctx, vmid, args[1])
	}
	for _, e := range split(err) {
		fmt.Fprintf(complaints, "proxplane: VM %s: %v\n", args[0], e)
	}
	if err != nil {
		return 1
	}
	return 0
}

// systemLog writes to the host's log, if there is one. What matters is said to
// the caller, too.
func systemLog() func(failed bool, message string) {
	open := sync.OnceValue(func() *syslog.Writer {
		log, err := syslog.New(syslog.LOG_DAEMON|syslog.LOG_INFO, "proxplane-hook")
		if err != nil {
			return nil
		}
		return log
	})
	return func(failed bool, message string) {
		switch log := open(); {
		case log == nil:
		case failed:
			_ = log.Warning(message)
		default:
			_ = log.Info(message)
		}
	}
}
