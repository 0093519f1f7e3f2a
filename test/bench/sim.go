package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/proxplane/proxplane/test/outside"
)

// startSim starts a simulator that serves so many clones at a time on each storage.
func startSim(ctx context.Context, binary, dir string, world []byte, places int) (*outside.Sim, error) {
	file := filepath.Join(dir, "world.yaml")
	text := string(world) + fmt.Sprintf("\nlocks: {storage: %d}\n", places)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return outside.StartSim(ctx, outside.SimOptions{Program: binary, World: file})
}

// failedTasks are the exit statuses of tasks that failed.
func failedTasks(ctx context.Context, sim *outside.Sim) ([]string, error) {
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
