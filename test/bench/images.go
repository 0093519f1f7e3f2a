package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/bench/figures"
	"github.com/proxplane/proxplane/test/bench/world"
)

// images is what machines cost whose image has to be fetched onto the local storage of each node first, and what a
// new image costs that takes its place.
type images struct {
	n, places int
	*result
}

// fetched measures machines of an image with a URL.
func (r *report) fetched(ctx context.Context, n, places int) (*images, error) {
	address, stop, err := serveImages(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	b := &bench{settings: r.settings, dir: r.dir, world: r.world, n: n, places: places, images: address}
	best, err := b.best(ctx)
	if err != nil {
		return nil, err
	}
	i := &images{n: n, places: places, result: best}
	r.targets = append(r.targets, i.targets(r.times)...)
	return i, nil
}

// serveImages has an image at any path.
func serveImages(ctx context.Context) (address string, stop func(), err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(pvesim.BootableImage()) // the simulator says what it didn't get
	})}
	go func() { _ = srv.Serve(l) }() // ends with Close
	return "http://" + l.Addr().String(), func() { _ = srv.Close() }, nil
}

func imageSum() string {
	sum := sha256.Sum256(pvesim.BootableImage())
	return hex.EncodeToString(sum[:])
}

// bound is the shortest time for the first image and its machines.
func (i *images) bound(t world.Times) time.Duration { return t.Image() + t.Bound(i.n, i.places) }

func (i *images) table(t world.Times) string {
	row := func(what string, m measure, bound time.Duration, failed string) string {
		return fmt.Sprintf("| %s | %s | %s | %.2f | %d | %d | %s |\n", what, figures.Seconds(m.Wall), figures.Seconds(bound), float64(m.Wall)/float64(bound), m.Requests, m.Writes, failed)
	}
	return "\n| an image with a URL, on local storages only | wall time | bound | ratio | requests | writes | failed tasks |\n|---|---:|---:|---:|---:|---:|---:|\n" +
		row(fmt.Sprintf("%d machines, from nothing", i.n), i.measure, i.bound(t), fmt.Sprint(len(i.failed))) +
		row(fmt.Sprintf("a new image for the templates of %d machines", i.n), i.renewed, t.Image(), "") + shown(i.failed)
}

func (i *images) targets(t world.Times) []figures.Target {
	at := func(what string) string { return fmt.Sprintf("%d machines of an image with a URL: %s", i.n, what) }
	return []figures.Target{
		figures.AtMost(at("time"), float64(i.Wall)/float64(i.bound(t)), 1.1, "× the bound"),
		figures.AtMost(at("requests"), float64(i.Requests)/float64(i.n), 10, "a machine"),
		figures.AtMost(at("failed tasks"), float64(len(i.failed)), 0, ""),
	}
}
