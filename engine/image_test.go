package engine_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
)

// library serves an image.
func library(t *testing.T) (url, checksum string) {
	t.Helper()
	image := make([]byte, 64<<10)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(image)
	}))
	t.Cleanup(srv.Close)
	sum := sha256.Sum256(image)
	return srv.URL + "/noble.raw", hex.EncodeToString(sum[:])
}

func fetched(url, checksum string) model.Image {
	return model.Image{
		Owner: owner("VMImage", "noble"), URL: url, Checksum: checksum, ChecksumAlgorithm: "sha256", Storage: "nfs", Range: vmids,
		Options: map[string]string{"scsihw": "virtio-scsi-pci", "agent": "1", "boot": "order=scsi0"},
	}
}

func TestAnImageIsFetchedOnceForAllWhoWaitForIt(t *testing.T) {
	url, checksum := library(t)
	inLab(t, labWorld(3), func(t *testing.T, l *lab) {
		want := model.Desired{Set: "test", Images: []model.Image{fetched(url, checksum)}}
		for _, name := range []string{"a", "b", "c"} {
			vm := machine(name)
			vm.Source = model.Source{Image: key("VMImage", "noble")}
			vm.Disks, vm.WaitAddress = nil, false
			want.VMs = append(want.VMs, vm)
		}
		l.mustConverge(want)
		downloads, templates := 0, 0
		for _, r := range l.requests(0) {
			if strings.HasSuffix(r, "/download-url") {
				downloads++
			}
			if strings.HasSuffix(r, "/template") {
				templates++
			}
		}
		if downloads != 1 || templates != 1 {
			t.Errorf("%d downloads, %d templates\n%s", downloads, templates, l.story())
		}
		before := l.sim.RequestCount()
		l.mustConverge(want)
		if n := writes(l.requests(before)); n != 0 {
			t.Errorf("the second run has made %d changes", n)
		}
		for i := range want.VMs {
			want.VMs[i].Deleted = true
		}
		want.Images[0].Deleted = true
		l.mustConverge(want)
		l.check(want)
		if n := len(l.ours()); n != 0 {
			t.Errorf("%d guests are left", n)
		}
	})
}

func TestAnImageThatIsNotWhatItsChecksumSaysIsNotUsed(t *testing.T) {
	url, checksum := library(t)
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vm := machine("web")
		vm.Source = model.Source{Image: key("VMImage", "noble")}
		want := model.Desired{Set: "test", Images: []model.Image{fetched(url, strings.Repeat("0", len(checksum)))}, VMs: []model.VM{vm}}
		rep := l.converge(want)
		if o := rep.Objects[0]; o.State != engine.StateFailed || o.Failure == nil || !strings.Contains(o.Failure.Hint.String(), "checksum") {
			t.Errorf("%s", describe(rep))
		}
		if o := rep.Objects[1]; o.State != engine.StateWaiting || o.Text == "" {
			t.Errorf("%s", describe(rep))
		}
		if n := len(l.ours()); n != 0 {
			t.Errorf("%d guests were made", n)
		}
	})
}

// The disks of its machine were listed while they were still there.
func TestAnEarlierTemplateGoesWithItsLastMachine(t *testing.T) {
	url, checksum := library(t)
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		want := model.Desired{Set: "test", Images: []model.Image{fetched(url, checksum)}}
		vm := machine("a")
		vm.Source, vm.Disks, vm.WaitAddress = model.Source{Image: want.Images[0].Owner.Key}, nil, false
		want.VMs = []model.VM{vm}
		l.mustConverge(want)
		want.Images[0].URL = strings.Replace(url, "noble", "noble-2", 1)
		l.mustConverge(want)
		if n := len(l.nodesOf(true)); n != 2 {
			t.Fatalf("there are %d templates, want the one that a machine is a linked clone of and the new one", n)
		}
		want.Delete()
		l.mustConverge(want)
		if n := len(l.ours()); n != 0 {
			t.Errorf("%d guests are left", n)
		}
	})
}

// Its machine is replaced when the new template is ready, and nothing would be done for the image after that.
func TestAnEarlierTemplateGoesWhenItsLastMachineIsReplaced(t *testing.T) {
	url, checksum := library(t)
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		want := model.Desired{Set: "test", Images: []model.Image{fetched(url, checksum)}}
		vm := machine("a")
		vm.Source, vm.Disks, vm.WaitAddress = model.Source{Image: want.Images[0].Owner.Key}, nil, false
		want.VMs, want.Allow = []model.VM{vm}, model.Allow{Replace: true}
		l.mustConverge(want)
		want.Images[0].URL = strings.Replace(url, "noble", "noble-2", 1)
		l.mustConverge(want)
		if n := len(l.nodesOf(true)); n != 1 {
			t.Errorf("there are %d templates, want the new one alone\n%s", n, l.story())
		}
	})
}
