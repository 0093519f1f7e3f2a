package engine_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/packed"
)

// packedImage is an image at a server of its own, and the machines that are made from it.
func packedImage(t *testing.T, name string, machines ...string) model.Desired {
	t.Helper()
	srv := httptest.NewServer(packed.Server{})
	t.Cleanup(srv.Close)
	res := httptest.NewRecorder()
	packed.Server{}.ServeHTTP(res, httptest.NewRequest(http.MethodGet, "/"+name, http.NoBody))
	sum := sha256.Sum256(res.Body.Bytes())
	img := fetched(srv.URL+"/"+name, hex.EncodeToString(sum[:]))
	img.Storage = ""
	want := model.Desired{Set: "test", Images: []model.Image{img}}
	for _, name := range machines {
		vm := machine(name)
		vm.Source = model.Source{Image: key("VMImage", "noble")}
		vm.Disks, vm.WaitAddress = nil, false
		want.VMs = append(want.VMs, vm)
	}
	return want
}

// imports are the files of images that are left on storages.
func (l *lab) imports() (list []string) {
	l.sim.Do(func(s *pvesim.State) {
		for _, space := range s.Spaces {
			for name := range space.Volumes {
				if strings.HasPrefix(name, "import/") {
					list = append(list, name)
				}
			}
		}
	})
	return list
}

func TestImagesOfAllKindsBecomeTemplates(t *testing.T) {
	for _, name := range []string{"flatcar.img", "raw.img", "noext", "raw.raw", "a.qcow2.xz", "a.raw.xz", "a.img.bz2", "a.img.gz", "a.qcow2.zst", "box.ova"} {
		want := packedImage(t, name, "web")
		inLab(t, labWorld(2), func(t *testing.T, l *lab) {
			l.mustConverge(want)
			l.check(want)
			if left := l.imports(); len(left) > 0 {
				t.Errorf("%s: %v is left", name, left)
			}
			through := false
			for _, r := range l.requests(0) {
				through = through || strings.HasSuffix(r, "/upload")
			}
			if through != (model.Packing(name) != "") {
				t.Errorf("%s was uploaded: %v", name, through)
			}
		})
	}
}

func TestPackedImagesAreMadeThoughTheProcessDiesAtAnyRequest(t *testing.T) {
	want := packedImage(t, "a.qcow2.xz", "web")
	crashes(t, func(*lab) {}, want)
}

func TestNothingIsLeftOfPackedImagesThoughTheProcessDiesAtAnyRequest(t *testing.T) {
	want := packedImage(t, "a.qcow2.xz")
	gone := want
	gone.Images = []model.Image{want.Images[0]}
	gone.Images[0].Deleted = true
	w := labWorld(2)
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			killed := false
			inLab(t, w, func(t *testing.T, l *lab) {
				killed = l.runUntil(want, n, after)
				l.mustConverge(gone)
				if left := l.imports(); len(left)+len(l.ours()) > 0 {
					t.Errorf("killed at %d (%v): %v and %v are left\n%s", n, after, left, l.ours(), l.story())
				}
			})
			if t.Failed() {
				t.Fatalf("killed at request %d, when it was done: %v", n, after)
			}
			if !killed {
				break
			}
		}
	}
}

func TestAPackedImageThatIsNotWhatItsChecksumSaysIsNotUploaded(t *testing.T) {
	want := packedImage(t, "a.qcow2.xz")
	want.Images[0].Checksum = strings.Repeat("0", 64)
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		rep := l.converge(want)
		if o := rep.Objects[0]; o.State != engine.StateFailed || o.Failure == nil || !strings.Contains(o.Failure.Text, "and 0000") {
			t.Errorf("%s", describe(rep))
		}
		for _, r := range l.requests(0) {
			if strings.HasSuffix(r, "/upload") {
				t.Errorf("%s", r)
			}
		}
	})
}

func TestAPackedImageLargerThanTheStorageIsNotUploaded(t *testing.T) {
	want := packedImage(t, "raw.xz")
	w := labWorld(1)
	for i, s := range w.Storages {
		if slices.Contains(s.Content, "import") {
			w.Storages[i].Size = 8 << 10
		}
	}
	inLab(t, w, func(t *testing.T, l *lab) {
		rep := l.converge(want)
		if o := rep.Objects[len(rep.Objects)-1]; o.State == engine.StateReady || len(l.imports()) > 0 {
			t.Errorf("%s", describe(rep))
		}
	})
}
