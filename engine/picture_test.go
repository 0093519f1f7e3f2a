package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/engine"
	"github.com/proxplane/proxplane/model"
)

// Plans of one picture read some configs, those that lists show something to do for, and nothing twice.
func TestAPictureReadsAFewConfigs(t *testing.T) {
	const n, most = 20, 5
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		want := desired(machines(n)...)
		l.mustConverge(want)
		time.Sleep(time.Minute) // lists are late
		l.setConfig(want.VMs[3].Name, "tags", "people")
		e, before := l.engine(), len(l.requests(0))
		pic := &engine.Picture{Since: time.Now(), Most: most, First: 7}
		for range 2 {
			p, err := e.PlanAsOf(t.Context(), want, pic)
			if err != nil {
				t.Fatal(err)
			}
			var todo []string
			for _, o := range p.Objects {
				if len(o.Steps) > 0 {
					todo = append(todo, o.Owner.Name)
				}
			}
			if len(p.Objects) != n+1 || fmt.Sprint(todo) != fmt.Sprint([]string{want.VMs[3].Owner.Name}) {
				t.Errorf("%d objects, to be changed: %v", len(p.Objects), todo)
			}
		}
		configs := 0
		for _, r := range l.requests(before) {
			if strings.HasSuffix(r, "/pending") {
				configs++
			}
		}
		if least := most + 1; configs < least || configs > least+2 { // and the image's
			t.Errorf("%d configs were read, want %d or a few more", configs, least)
		}
	})
}

// Whether VMIDs are taken isn't asked where people don't want to know.
func TestVMIDsThatNobodyAsksFor(t *testing.T) {
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		want := desired(machines(4)...)
		want.Unasked = map[model.Key]bool{want.VMs[0].Owner.Key: true, want.VMs[1].Owner.Key: true}
		p, err := l.engine().Plan(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		asked := strings.Count(strings.Join(l.requests(0), "\n"), "/cluster/nextid")
		if asked != 2 || len(p.Objects) != 5 || p.Objects[1].VMID == 0 {
			t.Errorf("%d VMIDs were asked for, want 2; %v", asked, p.Objects)
		}
	})
}
