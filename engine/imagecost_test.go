package engine_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// bootable serves an image whose guests boot and have an agent.
func bootable(t *testing.T) (url, checksum string) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(pvesim.BootableImage())
	}))
	t.Cleanup(srv.Close)
	sum := sha256.Sum256(pvesim.BootableImage())
	return srv.URL + "/os.qcow2", hex.EncodeToString(sum[:])
}

var digits = regexp.MustCompile(`/(UPID(:|%3A)[^/]*|\d+)`)

// kinds counts requests by what they ask, whichever guest, node and task it is about.
func kinds(requests []string) string {
	count := map[string]int{}
	for _, r := range requests {
		count[regexp.MustCompile(`/pve\d+`).ReplaceAllString(digits.ReplaceAllString(r, "/N"), "/pve")]++
	}
	var b strings.Builder
	for _, k := range slices.SortedFunc(maps.Keys(count), func(a, b string) int { return count[b] - count[a] }) {
		fmt.Fprintf(&b, "%5d %s\n", count[k], k)
	}
	return b.String()
}

// Machines wait until their node has fetched the image and made a template of it: six seconds, in which nothing about them
// is worth a question.
func TestMachinesOfAnImageThatIsFetchedTakeLittleMoreThanOthers(t *testing.T) {
	url, checksum := bootable(t)
	const nodes, n = 5, 100
	// What no client can beat: fetch, make a VM, make it a template; then clone, configure, resize, start, ask the agent.
	const bound = (3+2+1+2)*time.Second + 200*time.Millisecond + 300*time.Millisecond + time.Second + 3*time.Second + 8*5*time.Millisecond
	w := localWorld(nodes)
	for i := range w.Nodes {
		w.Nodes[i].CPUs, w.Nodes[i].Memory = 64, 4<<40
	}
	w.Timing.Download, w.Timing.Create, w.Timing.Template = ms(3000), ms(2000), ms(1000)
	w.Timing.Clone, w.Timing.Link, w.Timing.ClonePerGiB = 0, ms(2000), 0
	w.Load = pvesim.Load{TaskLag: ms(100)}
	inLab(t, w, func(t *testing.T, l *lab) {
		want := model.Desired{Set: "test", Images: []model.Image{fetched(url, checksum)}}
		want.Images[0].Storage = ""
		want.Images[0].Range = model.Range{First: 1000, Last: 4999} // none of them waits for a VMID that a machine is to take
		for i := range n {
			vm := machine(fmt.Sprintf("web-%d", i+1))
			vm.Source = model.Source{Image: want.Images[0].Owner.Key}
			want.VMs = append(want.VMs, vm)
		}
		start := time.Now()
		l.mustConverge(want)
		took, reqs := time.Since(start), l.requests(0)
		each, ratio := float64(len(reqs))/n, float64(took)/float64(bound)
		t.Logf("%d machines: %v, %.2f × the bound; %.1f requests each\n%s", n, took, ratio, each, kinds(reqs))
		if ratio > 1.1 {
			t.Errorf("%d machines take %v, %.2f times the time of Proxmox\n%s", n, took, ratio, l.story())
		}
		if each > 10 {
			t.Errorf("%d machines take %.1f requests each:\n%s", n, each, kinds(reqs))
		}
		if got := l.nodesOf(true); len(got) != nodes {
			t.Errorf("templates are on %v", got)
		}
	})
}
