package engine_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// A storage that was added a moment ago is in the list without figures until the next status round. The nodes know it.
func TestStoragesThatWereJustAddedAreUsed(t *testing.T) {
	url, checksum := library(t)
	w := labWorld(2)
	for i := range w.Storages {
		w.Storages[i].Content = []string{"images"}
	}
	inLab(t, w, func(t *testing.T, l *lab) {
		params := pve.Params{"storage": "fresh", "type": "dir", "path": "/srv/fresh", "content": "import,iso,images"}
		if err := l.client.Call(t.Context(), http.MethodPost, "/storage", params, nil); err != nil {
			t.Fatal(err)
		}
		image := fetched(url, checksum)
		image.Storage = "fresh"
		l.mustConverge(model.Desired{Set: "test", Images: []model.Image{image}})
	})
}

// What is asked for before machines are made doesn't grow with their number.
func TestManyMachinesAskOnceForTheBridges(t *testing.T) {
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		l.mustConverge(desired(machines(20)...))
		asked := 0
		for _, r := range l.requests(0) {
			if strings.HasSuffix(r, "/network") {
				asked++
			}
		}
		if asked != 3 {
			t.Errorf("%d lists of bridges", asked)
		}
	})
}
