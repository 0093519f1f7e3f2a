package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/proxplane/proxplane/test/bench/world"
	"github.com/proxplane/proxplane/test/kit/child"
	"github.com/proxplane/proxplane/test/kit/outside"
)

// bench is one row of a table.
type bench struct {
	*settings
	dir       string
	world     []byte
	n, places int
	keeps     bool   // it goes on when the machines are there
	callers   bool   // each machine is put by a caller of its own
	pooled    bool   // each machine has an address from a pool
	images    string // the URL below which their image is, and a second one that takes its place; empty: there are templates
}

// result is what was measured.
type result struct {
	measure
	failed  []string // tasks
	keeping *keeping
	renewed measure // what it cost that the image was another one
}

// keeping is what was measured after the machines were there.
type keeping struct {
	n                       int
	rest, more, plan, quick measure
}

// best runs it as often as was asked for, and keeps the quickest.
func (b *bench) best(ctx context.Context) (*result, error) {
	var best *result
	for range max(b.runs, 1) {
		r, err := b.once(ctx)
		if err != nil {
			return nil, err
		}
		if best == nil || r.Wall < best.Wall {
			best = r
		}
	}
	return best, nil
}

// once makes the machines of a fresh simulator with a fresh client.
func (b *bench) once(ctx context.Context) (*result, error) {
	sim, err := world.Start(ctx, b.binary, b.dir, b.world, b.places)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sim.Stop() }() // what was measured is known by then
	file, more := filepath.Join(b.dir, "machines.yaml"), filepath.Join(b.dir, "more.yaml")
	first, then := wanted{n: b.n, pooled: b.pooled}, wanted{n: b.n + 1, pooled: b.pooled}
	if b.images != "" {
		first.url, then.url, then.n = b.images+"/first.qcow2", b.images+"/second.qcow2", b.n
	}
	if err := errors.Join(first.write(file, sim), then.write(more, sim)); err != nil {
		return nil, err
	}
	c, err := b.startClient(ctx, file, more)
	if err != nil {
		return nil, err
	}
	r, err := b.measure(ctx, c, sim)
	if err != nil {
		return nil, errors.Join(err, c.end())
	}
	if err := c.end(); err != nil {
		return nil, err
	}
	if b.keeps {
		if r.keeping.plan, err = b.plan(ctx, sim, file); err != nil {
			return nil, fmt.Errorf("plan: %w", err)
		}
		if r.keeping.quick, err = b.plan(ctx, sim, file, "--quick"); err != nil {
			return nil, fmt.Errorf("plan --quick: %w", err)
		}
	}
	return r, nil
}

// measure listens to the client.
func (b *bench) measure(ctx context.Context, c *process, sim *outside.Sim) (*result, error) {
	r := &result{}
	var err error
	if r.measure, err = c.next(); err != nil {
		return nil, err
	}
	r.Wall = time.Since(c.begun) // with the start of the program
	seen, err := sim.Count(ctx)
	if err != nil {
		return nil, err
	}
	if !b.keeps && b.images == "" && int64(seen) != r.Requests {
		return nil, fmt.Errorf("the client counts %d requests, the simulator %d", r.Requests, seen)
	}
	if b.keeps {
		k := &keeping{n: b.n}
		if k.rest, err = c.next(); err != nil {
			return nil, err
		}
		if k.more, err = c.next(); err != nil {
			return nil, err
		}
		r.keeping = k
	}
	if b.images != "" {
		if r.renewed, err = c.next(); err != nil {
			return nil, err
		}
	}
	r.failed, err = world.FailedTasks(ctx, sim)
	return r, err
}

// process is a client that runs.
type process struct {
	cmd   *exec.Cmd
	begun time.Time
	lines *json.Decoder
}

func (b *bench) startClient(ctx context.Context, file, more string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{clientWord, "-f", file}
	if b.keeps {
		args = append(args, "-more", more, "-rest", b.rest.String())
	}
	if b.images != "" {
		args = append(args, "-more", more)
	}
	if b.callers {
		args = append(args, "-callers")
	}
	if b.profile != "" {
		args = append(args, "-cpuprofile", b.profile)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, begun: time.Now(), lines: json.NewDecoder(bufio.NewReader(out))}
	return p, child.Start(cmd)
}

// next is what the client measured next.
func (p *process) next() (m measure, err error) {
	if err := p.lines.Decode(&m); err != nil {
		return m, fmt.Errorf("the client ended early: %w", err)
	}
	return m, nil
}

func (p *process) end() error { return p.cmd.Wait() }

// plan has the command line plan what is up to date already, in a new process.
func (b *bench) plan(ctx context.Context, sim *outside.Sim, file string, flags ...string) (m measure, err error) {
	before, err := sim.Count(ctx)
	if err != nil {
		return m, err
	}
	cmd := exec.CommandContext(ctx, b.binary, append([]string{"plan", "-f", file, "--set", setName, "--detailed-exitcode"}, flags...)...)
	cmd.Stderr = os.Stderr
	begun := time.Now()
	if out, err := cmd.Output(); err != nil {
		return m, fmt.Errorf("%w: %.500s", err, out)
	}
	m.Wall = time.Since(begun)
	m.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	m.Memory = outside.MostMemory(cmd.ProcessState)
	after, err := sim.Count(ctx)
	m.Requests = int64(after - before)
	return m, err
}
