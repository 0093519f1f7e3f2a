package act_test

import (
	"sync"
	"testing"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
)

func TestTwoOfUsGoBackToASnapshotOnce(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		m := model.Marker{Owner: us}
		l.must(model.Configure{Target: at(100), Disks: []model.NewDisk{{Disk: model.Disk{Slot: "scsi1", Storage: "local", Size: 1 << 30, Format: "qcow2"}}}, Delete: []string{"scsi0"}})
		l.must(model.Snap{Target: at(100), Name: "before", Description: model.Describe("", m)})
		m.Version = "once"
		back := model.Rollback{Target: at(100), Name: "before", Note: model.Describe("", m)}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				res, err := act.New(l.client).Do(t.Context(), back, act.Known{})
				if err == nil && res.Task != "" {
					_, _ = l.actor.Watch(t.Context()).Follow(res.Task)
				}
			})
		}
		all.Wait()
		l.must(back)
		if n := l.asked("/rollback"); n != 1 {
			t.Errorf("it went back %d times", n)
		}
		_, now, ok := model.ParseDescription(l.conf(100)["description"])
		if !ok || now.Owner != us || now.Reverts["before"] != "once" {
			t.Errorf("its marker is %+v", now)
		}
	})
}

func TestACopyOfOneOfOursIsNotDestroyed(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		text := model.Describe("", model.Marker{Owner: us, VMID: 555})
		l.must(model.Configure{Target: at(100), Description: &text})
		if err := l.do(model.Destroy{Target: at(100), Owner: us, Owned: true}); err == nil || l.conf(100) == nil {
			t.Errorf("it was destroyed (%v), though it was made as a copy of another", err)
		}
	})
}
