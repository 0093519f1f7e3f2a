package engine_test

import (
	"fmt"
	"slices"
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
		pic := &engine.Picture{Since: time.Now(), Turn: most, First: 7}
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
		if configs < most || configs > most+3 { // and that of the changed one, and the image's
			t.Errorf("%d configs were read, want %d or a few more", configs, most)
		}
	})
}

// Pictures that go on one after another come to all guests, whoever is asked for first: Terraform asks for
// resources in an order of its own. Beside those whose turn it is, a few are always read.
func TestPicturesTakeTurns(t *testing.T) {
	const n, turn = 20, 5
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		want := desired(machines(n)...)
		l.mustConverge(want)
		time.Sleep(time.Minute) // lists are late
		e, read := l.engine(), map[string]bool{}
		look := func(pic *engine.Picture, parts ...[]model.VM) (fresh int) {
			t.Helper()
			pic.Since = time.Now()
			for _, vms := range parts {
				part := want
				part.VMs = vms
				p, err := e.PlanAsOf(t.Context(), part, pic)
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range p.Objects {
					if o.Owner.Kind == vms[0].Owner.Kind && !o.Unread {
						fresh++
						read[o.Owner.Name] = true
					}
				}
			}
			time.Sleep(time.Minute)
			return fresh
		}
		few := slices.Collect(slices.Chunk(want.VMs, 4))
		for _, parts := range [][][]model.VM{few, {want.VMs}} {
			clear(read)
			for i := range n / turn {
				if fresh := look(&engine.Picture{Few: 4, Turn: turn, First: i * turn}, parts...); fresh < turn || fresh > turn+4 {
					t.Errorf("picture %d read %d configs, want %d and a few more", i, fresh, turn)
				}
			}
			if len(read) != n {
				t.Errorf("all pictures together read %d configs, want %d", len(read), n)
			}
		}
		for _, c := range []struct {
			few, want int
			parts     [][]model.VM
			reason    string
		}{
			{n, n, few, "there are no more than a few"},
			{n, n, [][]model.VM{want.VMs}, "the same at once"},
			{-1, n, few, "all are wanted"},
			{8, 8, few, "a few are read though there are more"},
			{8, 0, [][]model.VM{want.VMs}, "it is known that there are more"},
		} {
			if fresh := look(&engine.Picture{Few: c.few}, c.parts...); fresh != c.want {
				t.Errorf("%s: %d configs are read, want %d", c.reason, fresh, c.want)
			}
		}
	})
}

// What a picture has left out for a question it leaves out again, though it knows by then what is to be done for others.
func TestAPictureStandsByWhatItHasLeftOut(t *testing.T) {
	const n, few, turn = 20, 18, 5
	inLab(t, labWorld(2), func(t *testing.T, l *lab) {
		want := desired(machines(n)...)
		l.mustConverge(want)
		time.Sleep(time.Minute) // lists are late
		for _, v := range want.VMs {
			l.setConfig(v.Name, "net0", "virtio,bridge=vmbr1") // which no list shows
		}
		e, pic := l.engine(), &engine.Picture{Since: time.Now(), Few: few, Turn: turn}
		for range 2 {
			p, err := e.PlanAsOf(t.Context(), want, pic)
			if err != nil {
				t.Fatal(err)
			}
			changed, unread := 0, 0
			for _, o := range p.Objects {
				if len(o.Steps)+len(o.Refused) > 0 {
					changed++
				}
				if o.Unread {
					unread++
				}
			}
			if changed != turn || unread != n-turn {
				t.Errorf("%d are changed and %d unread, want %d and %d", changed, unread, turn, n-turn)
			}
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
