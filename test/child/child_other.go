//go:build !linux

package child

import "os/exec"

// DieWithUs does nothing where the system can't.
func DieWithUs(*exec.Cmd) {}

// Start starts a command.
func Start(cmd *exec.Cmd) error { return cmd.Start() }
