// Package world is the simulated cluster that benchmarks measure on, in a process
// of its own.
package world

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/proxplane/proxplane/test/kit/outside"
)

// YAML is the world: see `proxplane sim --help`.
//
//go:embed world.yaml
var YAML []byte

// The login in it, and the name of its templates.
const (
	TokenID     = "root@pam!bench"
	TokenSecret = "5f0c1c0e-8a57-4c0e-9d0a-2b7f3a9d6e11"
	Template    = "bench-template"
)

// Start starts a simulator that serves so many clones at a time on each storage;
// 0: any number.
func Start(ctx context.Context, program, dir string, yaml []byte, places int) (*outside.Sim, error) {
	file := filepath.Join(dir, fmt.Sprintf("world-%d.yaml", places))
	text := string(yaml) + fmt.Sprintf("\nlocks: {storage: %d}\n", places)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return outside.StartSim(ctx, outside.SimOptions{Program: program, World: file})
}

// FailedTasks are the exit statuses of tasks that failed.
func FailedTasks(ctx context.Context, sim *outside.Sim) ([]string, error) {
	state, err := sim.State(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, list := range state.Tasks {
		for _, t := range list {
			if t.Exit != "" && t.Exit != "OK" {
				out = append(out, t.Type+": "+t.Exit)
			}
		}
	}
	return out, nil
}
