package engine_test

import (
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
)

// A session notices that a node was put into maintenance, and takes the machines away from there that may be moved.
func TestASessionLeavesANodeInMaintenance(t *testing.T) {
	serving(t, func(t *testing.T, l *lab, s *session) {
		for _, way := range []string{"by what people say", "by the HA manager"} {
			web := machine("web")
			web.Source.Full, web.Update.Move = true, true
			s.Want(desired(web), nil)
			s.await("web", engine.StateReady)
			from := l.named("web")["node"]
			if way == "by the HA manager" {
				if err := l.sim.Maintenance(from, true); err != nil {
					t.Fatal(err)
				}
			} else {
				web.Place.Facts = map[string]model.NodeFacts{from: {Maintenance: true}}
				s.Want(desired(web), nil)
			}
			time.Sleep(10 * time.Minute)
			if at := l.named("web")["node"]; at == from {
				t.Errorf("%s: it is still on %s", way, at)
			}
		}
	})
}
