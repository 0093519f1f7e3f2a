package engine_test

import (
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// sharing is a machine that uses a directory of its node, and the mapping for it.
func sharing(name, dir string) (model.VM, model.Share) {
	v := machine(name)
	v.Shares = []string{dir}
	v.Options["virtiofs0"] = dir
	v.Managed = append(v.Managed, "virtiofs0")
	return v, model.Share{Owner: model.Owner{Door: "vm", Set: "test", Key: model.ShareKey(dir)}, Path: "/srv/" + dir}
}

// A session doesn't wait for its next round to make what a new machine needs.
func TestASessionMakesDirectoryMappingsAtOnce(t *testing.T) {
	serving(t, func(t *testing.T, l *lab, s *session) {
		s.Want(desired(machine("one")), nil)
		s.await("one", engine.StateReady)
		l.sim.Do(func(st *pvesim.State) { st.Dirs["/srv/data"] = true })
		begun := time.Now()
		v, share := sharing("two", "data")
		want := desired(machine("one"), v)
		want.Shares = []model.Share{share}
		s.Want(want, nil)
		for made := false; !made; {
			time.Sleep(100 * time.Millisecond)
			l.sim.Do(func(st *pvesim.State) { made = len(st.DirMaps) > 0 })
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("it took %s", took)
		}
		s.await("two", engine.StateReady)
	})
}
