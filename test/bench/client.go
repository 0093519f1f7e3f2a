package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/site"
)

// clientWord as the first argument makes this program the client.
const clientWord = "client"

// setName is the set that the machines belong to.
const setName = "bench"

// measure is what a part of the client's work has cost. The client prints one
// as a line of JSON for each part.
type measure struct {
	Wall     time.Duration // of this part
	Requests int64
	Writes   int64
	CPU      time.Duration
	Memory   int64 // most that was resident so far, bytes
}

// client is a site with a meter.
type client struct {
	sites            site.Sites
	config           site.Config
	site             *site.Site
	requests, writes atomic.Int64
}

// runClient makes machines, and if asked keeps them for a while and does what other manifests want
// then.
func runClient(args []string) error {
	fs := flag.NewFlagSet(clientWord, flag.ExitOnError)
	file := fs.String("f", "", "manifests")
	more := fs.String("more", "", "manifests with one machine more, or with another image")
	rest := fs.Duration("rest", 0, "how long they are kept")
	callers := fs.Bool("callers", false, "have each machine put by a caller of its own, all at once")
	profile := fs.String("cpuprofile", "", "write a CPU profile to this file")
	_ = fs.Parse(args)
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	ctx := context.Background()
	c := &client{}
	want, err := c.open(*file)
	if err != nil {
		return err
	}
	if *callers {
		err = c.putAll(ctx, want)
	} else {
		err = c.converge(ctx, want)
	}
	if err != nil {
		return err
	}
	if err := c.print(measure{}); err != nil || *more == "" {
		return err
	}
	if *rest > 0 {
		c.site.Want(want, nil)
		// The first look of the session isn't rest yet.
		time.Sleep(time.Second)
		if err := c.part(func() error { time.Sleep(*rest); return nil }); err != nil {
			return err
		}
	}
	wider, err := read(*more)
	if err != nil {
		return err
	}
	return c.part(func() error { return c.converge(ctx, wider.Desired) })
}

// open reads manifests and connects as the command line does.
func (c *client) open(file string) (model.Desired, error) {
	w, err := read(file)
	if err != nil {
		return model.Desired{}, err
	}
	cfg := w.Connection.Config()
	cfg.Observe = func(x pve.Exchange) {
		c.requests.Add(1)
		if printEvent != nil {
			fmt.Fprintf(os.Stderr, "%8.3f %s %s %v\n", time.Since(begun).Seconds(), x.Method, x.Route, x.Duration.Round(time.Millisecond))
		}
		if x.Method != "GET" {
			c.writes.Add(1)
		}
	}
	c.config = site.Config{Proxmox: cfg}
	c.site, err = c.sites.Open(c.config, site.Options{})
	return w.Desired, err
}

// putAll has each machine put by a caller of its own, all at once, and waits for all.
func (c *client) putAll(ctx context.Context, want model.Desired) error {
	errs := make([]error, len(want.VMs))
	var all sync.WaitGroup
	for i, vm := range want.VMs {
		all.Go(func() { errs[i] = c.putOne(ctx, want.Images, vm) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (c *client) putOne(ctx context.Context, images []model.Image, vm model.VM) error {
	s, err := c.sites.Open(c.config, site.Options{Options: engine.Options{Events: printEvent}})
	if err != nil {
		return err
	}
	for _, image := range images {
		if err := s.PutImage(image.Owner, image); err != nil {
			return err
		}
	}
	if err := s.Put(vm.Owner, vm); err != nil {
		return err
	}
	out, err := s.Await(ctx, vm.Owner, site.Ready)
	if err == nil && len(out.Addresses) == 0 {
		err = fmt.Errorf("%s has no address", vm.Owner.Key)
	}
	return err // the site is left open: whoever closes it asks nothing more
}

func read(file string) (manifest.Wanted, error) {
	set, err := manifest.Read([]string{file}, nil)
	if err != nil {
		return manifest.Wanted{}, err
	}
	all, err := set.Wanted(manifest.Options{Set: setName})
	if err != nil {
		return manifest.Wanted{}, err
	}
	if len(all) != 1 {
		return manifest.Wanted{}, fmt.Errorf("%s: want one Provider, have %d", file, len(all))
	}
	return all[0], nil
}

func (c *client) converge(ctx context.Context, want model.Desired) error {
	report, err := c.site.Apply(ctx, want, engine.Options{Events: printEvent})
	if err != nil {
		return err
	}
	for _, o := range report.Objects {
		if o.State != engine.StateReady {
			return fmt.Errorf("%s is %s: %s", o.Owner.Key, o.State, o.Text)
		}
		if o.Owner.Kind == "VirtualMachine" && len(o.Addresses) == 0 {
			return fmt.Errorf("%s has no address", o.Owner.Key)
		}
	}
	if len(report.Objects) < len(want.VMs) {
		return errors.New("the report lacks machines")
	}
	return nil
}

// printEvent shows what happens, if BENCH_EVENTS is set. Requests are shown then
// too.
var printEvent func(engine.Event)

func init() {
	if os.Getenv("BENCH_EVENTS") != "" {
		printEvent = func(e engine.Event) {
			fmt.Fprintf(os.Stderr, "%8.3f %s %s %s %s\n", time.Since(begun).Seconds(), e.Owner.Name, e.Kind, e.Step, e.Text)
		}
	}
}

// part does something and prints what it has cost.
func (c *client) part(do func() error) error {
	was := c.cost()
	if err := do(); err != nil {
		return err
	}
	return c.print(was)
}

// print prints what has been done since.
func (c *client) print(was measure) error {
	now := c.cost()
	return json.NewEncoder(os.Stdout).Encode(measure{
		Wall: now.Wall - was.Wall, Requests: now.Requests - was.Requests, Writes: now.Writes - was.Writes, CPU: now.CPU - was.CPU, Memory: now.Memory,
	})
}

// cost is what everything has cost so far.
func (c *client) cost() measure {
	return measure{Wall: time.Since(begun), Requests: c.requests.Load(), Writes: c.writes.Load(), CPU: cpuTime(), Memory: peak()}
}

// begun is when the program started.
var begun = time.Now()
