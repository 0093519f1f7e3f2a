package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/proxplane/proxplane/test/kit/child"
	"github.com/proxplane/proxplane/test/kit/outside"
)

// OpenTofu starts providers by itself, several times a command. Under the name of a provider this program
// starts the real one, and adds what that has used to a file.
const (
	providerVariable = "BENCH_PROVIDER" // the real one
	meterVariable    = "BENCH_METER"    // the file
)

// usage is what a provider has used.
type usage struct {
	CPU    time.Duration
	Memory int64 // most that was resident, bytes
}

// meterProvider runs a provider, and is its exit status.
func meterProvider() int {
	signal.Ignore(syscall.SIGINT) // the provider is told by itself
	cmd := exec.Command(os.Getenv(providerVariable), os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := child.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	s := cmd.ProcessState
	if err := note(usage{CPU: s.UserTime() + s.SystemTime(), Memory: outside.MostMemory(s)}); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return s.ExitCode()
}

// note adds a line to the file.
func note(u usage) error {
	f, err := os.OpenFile(os.Getenv(meterVariable), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(u), f.Close())
}

// metered is what the providers of a command have used: all CPU, and the most memory.
func metered(file string) (sum usage, err error) {
	f, err := os.Open(file)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	for lines := json.NewDecoder(f); lines.More(); {
		var u usage
		if err := lines.Decode(&u); err != nil {
			return sum, err
		}
		sum.CPU, sum.Memory = sum.CPU+u.CPU, max(sum.Memory, u.Memory)
	}
	return sum, nil
}
