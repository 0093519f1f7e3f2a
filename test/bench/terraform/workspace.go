package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/proxplane/proxplane/test/bench/world"
	"github.com/proxplane/proxplane/test/kit/child"
	"github.com/proxplane/proxplane/test/kit/outside"
)

// workspace is a folder with a configuration, and a fresh Proxmox.
type workspace struct {
	dir, tofu, meter string
	env              []string
	sim              *outside.Sim
	list             bool // requests by their kinds
}

// cost is what a command has cost.
type cost struct {
	wall     time.Duration
	requests int
	failed   int // tasks, until now
	usage
}

// open starts a simulator and writes a configuration for it.
func open(ctx context.Context, p *programs, c client, n int) (*workspace, error) {
	dir, err := os.MkdirTemp(p.dir, "workspace-")
	if err != nil {
		return nil, err
	}
	w := &workspace{dir: dir, tofu: p.tofu, meter: filepath.Join(dir, "meter"), list: p.list}
	if w.sim, err = world.Start(ctx, p.proxplane, dir, world.YAML, 0); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.Symlink(self, filepath.Join(dir, filepath.Base(c.program(p)))); err != nil {
		return nil, err
	}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TF_") && !strings.HasPrefix(v, "PVE_") && !strings.HasPrefix(v, "PROX") {
			w.env = append(w.env, v)
		}
	}
	w.env = append(w.env, "HOME="+dir, "TF_CLI_CONFIG_FILE="+filepath.Join(dir, "tofurc"), "TF_IN_AUTOMATION=1", "TF_INPUT=0", "TF_CLI_ARGS=-no-color",
		providerVariable+"="+c.program(p), meterVariable+"="+w.meter)
	for name, text := range map[string]string{
		"main.tf": c.config(w.sim, n),
		"tofurc":  fmt.Sprintf("disable_checkpoint = true\nprovider_installation {\n  dev_overrides {\n    %q = %q\n  }\n  direct {}\n}\n", c.source, dir),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// run measures a command.
func (w *workspace) run(ctx context.Context, args ...string) (c cost, err error) {
	if err := os.RemoveAll(w.meter); err != nil {
		return c, err
	}
	before, err := w.sim.Count(ctx)
	if err != nil {
		return c, err
	}
	cmd := exec.CommandContext(ctx, w.tofu, args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	begun := time.Now()
	if err := child.Start(cmd); err != nil {
		return c, err
	}
	if err := cmd.Wait(); err != nil {
		return c, fmt.Errorf("tofu %s: %w\n%s", strings.Join(args, " "), err, &out)
	}
	c.wall = time.Since(begun)
	after, err := w.sim.Count(ctx)
	if err != nil {
		return c, err
	}
	c.requests = after - before
	if w.list {
		fmt.Fprintf(os.Stderr, "tofu %s:\n", strings.Join(args, " "))
		if err := listRequests(ctx, w.sim, before); err != nil {
			return c, err
		}
	}
	failed, err := world.FailedTasks(ctx, w.sim)
	if err != nil {
		return c, err
	}
	c.failed = len(failed)
	c.usage, err = metered(w.meter)
	return c, err
}

// close ends the simulator.
func (w *workspace) close() { _ = w.sim.Stop() } // what was measured is known by then
