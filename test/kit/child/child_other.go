//go:build !linux

package child

import "os/exec"

// Start starts a command. It may outlive us where the system can't end it.
func Start(cmd *exec.Cmd) error { return cmd.Start() }
