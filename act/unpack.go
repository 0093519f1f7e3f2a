package act

import (
	"context"
	"fmt"

	"github.com/proxplane/proxplane/imagefile"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// Fetching sets the client for packed images.
func (a *Actor) Fetching(w *imagefile.Web) *Actor {
	a.web = w
	return a
}

// Measuring and sending count as half of the work each.
const half = 0.5

// unpack uploads what is in a packed image. Nothing is sent before the checksum is verified, and nothing is
// left if it ends early: Proxmox has to receive all of it first.
func (a *Actor) unpack(ctx context.Context, c *pve.Client, u model.Unpack, progress func(float64)) (pve.UPID, error) {
	src := imagefile.Source{URL: u.URL, Packing: u.Packing, Checksum: u.Checksum, Algorithm: u.Algorithm}
	if progress == nil {
		progress = func(float64) {}
	}
	m, err := a.measure(ctx, src, u.Room, func(part float64) { progress(part * half) })
	if err != nil {
		return pve.UPID{}, err
	}
	if want := model.NamedFormat(u.File); m.Format != want {
		return pve.UPID{}, fmt.Errorf("%w: it is a %s by now, and was a %s when it was looked at", imagefile.ErrContent, m.Format, want)
	}
	in, err := a.web.Open(ctx, src)
	if err != nil {
		return pve.UPID{}, err
	}
	defer in.Close()
	return c.Storage(u.Node, u.Storage).Upload(ctx, pve.Upload{
		Content: "import", Filename: u.File, Body: in, Size: m.Size, Checksum: m.SHA256, Algorithm: "sha256",
		Progress: func(sent, size int64) { progress(half + half*float64(sent)/float64(size)) },
	})
}

// measure verifies and measures a packed image: once for all nodes, if a checksum says that it stays
// the same.
func (a *Actor) measure(ctx context.Context, src imagefile.Source, room int64, progress func(float64)) (imagefile.Measured, error) {
	a.mu.Lock()
	m, known := a.measured[src]
	a.mu.Unlock()
	if known && (room == 0 || m.Size <= room) {
		return m, nil
	}
	m, err := a.web.Measure(ctx, src, room, progress)
	if err == nil && src.Checksum != "" {
		a.mu.Lock()
		a.measured[src] = m
		a.mu.Unlock()
	}
	return m, err
}
