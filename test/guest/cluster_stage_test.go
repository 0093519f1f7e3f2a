package guest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
)

var (
	hold    = flag.Bool("hold", false, "leave a real cluster running after a stage has failed, until it is interrupted, and say how proxplane finds it")
	through = flag.Bool("through", false, "with -keep, go on from stage to stage without hibernating the machines: they are kept after the last one, if none fails")
	keep    = flag.String("keep", "", "`FOLDER` for real clusters as they were after the last stage that has passed: a later run goes on from there, and -run chooses stages")
)

// realCluster is a cluster of real machines. What is done to it are stages. With -keep, each of them is a run of its own: the
// machines are hibernated after it, and what is in their memory and on their disks is kept.
type realCluster struct {
	*lab
	parts  nodeParts
	mirror *mirror
	world  func() *pvesim.World
	kept   string // where it is kept; empty: it isn't
	each   bool   // after each stage, not only after the last one

	controlPlanes, workers int
	releases               map[string]release // by their suffixes
	life                   life
}

// life is what has become of a cluster so far.
type life struct {
	Stages  []string // that have passed
	Suffix  string   // of the release that it runs
	Version string
	Before  string // what Proxmox had before it was made
	Lost    string // the machine that was turned off
}

// release is one of the stand-in for RKE2.
type release struct {
	version string
	archive []byte
}

// newRealCluster is a cluster that is to be made, or that an earlier run has kept.
func newRealCluster(t *testing.T, controlPlanes, workers int) *realCluster {
	t.Helper()
	_, parts := nodeWorld(t)
	r := &realCluster{
		lab: &lab{t: t}, parts: parts, mirror: newMirror(t), world: func() *pvesim.World { w, _ := nodeWorld(t); return w },
		controlPlanes: controlPlanes, workers: workers, releases: map[string]release{}, life: life{Suffix: suffix},
	}
	if *keep == "" {
		r.open(t)
		return r
	}
	r.each = !*through
	at, err := filepath.Abs(*keep)
	if err == nil {
		r.kept = filepath.Join(at, t.Name())
		err = os.MkdirAll(at, 0o700)
	}
	if err == nil {
		err = r.readLife(r.kept)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !r.each {
		r.open(t)
	}
	return r
}

const lifeFile = "life.json"

// readLife reads what has become of the cluster in a folder; one that isn't there has none yet.
func (r *realCluster) readLife(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, lifeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, json.Unmarshal(text, &r.life))
}

// open starts the lab that the cluster is in: a new one, or that which was kept.
func (r *realCluster) open(t *testing.T) {
	t.Helper()
	dir := labFolder(t)
	again := len(r.life.Stages) > 0
	if again {
		copyFolder(t, r.kept, dir)
	}
	if r.kept != "" {
		t.Cleanup(func() { // once the lab has ended
			if !t.Failed() && !t.Skipped() {
				r.keepIt(t, dir)
			}
		})
	}
	r.lab = openLab(t, r.world(), dir)
	r.offer(map[uint16]string{443: r.mirror.address})
	have := r.offers(t, r.life.Suffix)
	if r.life.Version = have.version; again {
		r.wake()
		return
	}
	r.life.Before = r.inventory()
	if err := os.WriteFile(r.file(), fmt.Appendf(nil, clusterFile, have.version, sha(have.archive), r.controlPlanes, r.workers), 0o600); err != nil {
		t.Fatal(err)
	}
}

// file is the file that the cluster is made from.
func (r *realCluster) file() string { return filepath.Join(r.dir, "lab.yaml") }

// keepIt has a folder be what the next run goes on from.
func (r *realCluster) keepIt(t *testing.T, dir string) {
	text, err := json.Marshal(r.life)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, lifeFile), text, 0o600)
	}
	next := r.kept + ".next"
	if err == nil {
		err = errors.Join(os.RemoveAll(next), os.Rename(dir, next), os.RemoveAll(r.kept), os.Rename(next, r.kept))
	}
	if err != nil {
		t.Error(err)
	}
}

// end hibernates the machines that went through all stages.
func (r *realCluster) end() {
	if r.kept != "" && !r.each && !r.t.Failed() {
		r.hibernate()
	}
}

// stage is a test of its own. One that has failed has those behind it left out, unless the cluster is kept after each.
func (r *realCluster) stage(name string, do func()) {
	whole := r.t
	if whole.Failed() && !r.each || slices.Contains(r.life.Stages, name) {
		return
	}
	whole.Run(name, func(t *testing.T) {
		before := r.life
		defer func() {
			r.held()
			if t.Failed() {
				r.life = before
			}
			r.t = whole
		}()
		r.t = t
		if r.kept != "" && name != firstStage && len(before.Stages) == 0 {
			t.Skipf("there is no cluster: the stage %s comes first", firstStage)
		}
		if r.each {
			r.open(t)
		}
		do()
		r.life.Stages = append(slices.Clip(r.life.Stages), name)
		if r.each {
			r.hibernate()
		}
	})
}

// firstStage makes the cluster.
const firstStage = "init"

// held waits until somebody has looked at what failed.
func (r *realCluster) held() {
	if !*hold || !r.t.Failed() || r.sim == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "held: proxplane cluster status %s\n", strings.Join(r.as(), " "))
	select {}
}

// Building takes all processors for some minutes: it can be done apart from what needs the parts.
func TestPartsOfRealClustersAreBuilt(t *testing.T) {
	_, parts := nodeWorld(t)
	for _, behind := range []string{suffix, nextSuffix} {
		releaseOf(t, parts, behind)
	}
}
