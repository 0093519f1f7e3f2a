package act_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/imagefile"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/packed"
)

// counted counts how often something is fetched.
type counted struct {
	internet
	n int
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n++
	return c.internet.RoundTrip(r)
}

// A packed image is read twice: to measure it, and to send it. If a checksum says that it stays the same, it is measured
// once for all nodes.
func TestAPackedImageIsMeasuredOnceIfItHasAChecksum(t *testing.T) {
	sum := sha256.Sum256(packed.Bootable("xz"))
	size := int64(len(pvesim.BootableImage()))
	for _, c := range []struct {
		reason, checksum string
		rooms            []int64
		fetched          int
		fails            bool // the last one
	}{
		{"without a checksum it may be another one", "", []int64{0, 0}, 4, false},
		{"a checksum says that it is the same", hex.EncodeToString(sum[:]), []int64{0, 0, 2 * size}, 4, false},
		{"there is just enough room", hex.EncodeToString(sum[:]), []int64{0, size}, 3, false},
		{"there is too little room", hex.EncodeToString(sum[:]), []int64{0, size - 1}, 3, true},
		{"what couldn't be measured is measured again", hex.EncodeToString(sum[:]), []int64{size - 1, 0}, 3, false},
		{"a checksum is wrong each time", hex.EncodeToString(sum[1:]) + "00", []int64{0, 0}, 2, true},
	} {
		inLab(t, "9.2", func(t *testing.T, l *lab) {
			web := &counted{}
			actor := act.New(l.client).Fetching(imagefile.New(web))
			var err error
			for i, room := range c.rooms {
				var res act.Result
				res, err = actor.Do(t.Context(), model.Unpack{
					Node: "pve1", Storage: "local", File: "proxplane-a-" + string(rune('a'+i)) + ".qcow2",
					URL: "https://images.example/a.qcow2.xz", Packing: "xz", Checksum: c.checksum, Algorithm: "sha256", Room: room,
				}, act.Known{})
				if err == nil {
					_, err = actor.Watch(t.Context()).Follow(res.Task)
				}
			}
			if (err != nil) != c.fails || web.n != c.fetched {
				t.Errorf("%s: fetched %d times, want %d; %v", c.reason, web.n, c.fetched, err)
			}
			if c.fails && !errors.Is(err, imagefile.ErrRoom) && !errors.Is(err, imagefile.ErrChecksum) {
				t.Errorf("%s: %v", c.reason, err)
			}
		})
	}
}

func TestTheProgressOfAPackedImageGoesFromNothingToAll(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		var parts []float64
		_, err := l.actor.Do(t.Context(), model.Unpack{Node: "pve1", Storage: "local", File: "proxplane-a-b.qcow2", URL: "https://images.example/a.qcow2.xz", Packing: "xz"},
			act.Known{Progress: func(part float64) { parts = append(parts, part) }})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSorted(parts) || len(parts) < 2 || parts[len(parts)-1] != 1 || !slices.Contains(parts, 0.5) {
			t.Errorf("%v", parts)
		}
	})
}
