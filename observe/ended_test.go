package observe_test

import (
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

func TestTasksThatHaveEndedAreNotWaitedFor(t *testing.T) {
	w := world(40)
	w.Load.TaskLag = pvesim.Duration(time.Minute) // the list of the cluster shows one end in eight that late
	inLab(t, w, func(t *testing.T, l *lab) {
		for id := 100; id < 140; id++ {
			upid, err := l.client.VM("pve1", id).Start(t.Context(), pve.StartOptions{})
			l.must(err)
			_, err = l.client.Task(upid).Wait(t.Context())
			l.must(err)
		}
		shown, err := l.client.Cluster().Tasks(t.Context())
		l.must(err)
		late := 0
		for _, task := range shown {
			if task.Running() {
				late++
			}
		}
		if late == 0 {
			t.Fatal("the list of the cluster shows all ends in time: this test shows nothing")
		}
		have, err := observe.New(l.client).Look(t.Context())
		l.must(err)
		if len(have.Tasks) > 0 {
			t.Errorf("%d tasks count as running that have ended, of %d that the list shows so", len(have.Tasks), late)
		}
	})
}

func TestTasksOfOthersThatRunAreAskedAboutOnce(t *testing.T) {
	w := world(2)
	w.Timing.Start = ms(60000)
	inLab(t, w, func(t *testing.T, l *lab) {
		_, err := l.client.VM("pve1", 100).Start(t.Context(), pve.StartOptions{})
		l.must(err)
		o := observe.New(l.client)
		var asked int
		for range 3 {
			for _, path := range l.during(func() {
				have, err := o.Look(t.Context())
				l.must(err)
				if len(have.Tasks) != 1 {
					t.Errorf("%d tasks run, want 1", len(have.Tasks))
				}
			}) {
				if strings.HasSuffix(path, "/tasks") {
					asked++
				}
			}
			time.Sleep(time.Second)
		}
		if asked != 3+1 {
			t.Errorf("tasks were listed %d times, want 3 of the cluster and 1 of the node", asked)
		}
	})
}
