package pve

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTwoAgentCallsAreUnderWayWhileAllAnswerPromptly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most, takes := 0, 0, 10*time.Millisecond
		h := &recorder{answer: func(w http.ResponseWriter, _ seen) {
			mu.Lock()
			now++
			most = max(most, now)
			d := takes
			mu.Unlock()
			time.Sleep(d)
			mu.Lock()
			now--
			mu.Unlock()
			if d > time.Second {
				answerMessage(w, 500, "QEMU guest agent is not running")
			} else {
				answerData(w, map[string]any{"result": []any{}})
			}
		}}
		c := client(t, virtual(h))
		ask := func(n int) int {
			mu.Lock()
			most = 0
			mu.Unlock()
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() { _, _ = c.VM("pve1", 100+i).Agent().Interfaces(t.Context()) })
			}
			wg.Wait()
			return most
		}
		if got := ask(1); got != 1 {
			t.Errorf("%d calls at a time", got)
		}
		if got := ask(20); got != 2 {
			t.Errorf("%d calls at a time while all answer, want 2", got)
		}
		mu.Lock()
		takes = 3 * time.Second
		mu.Unlock()
		ask(2) // both may block
		if got := ask(5); got != 1 {
			t.Errorf("%d calls at a time while none answers, want 1", got)
		}
	})
}

func TestLogsOfClonesTellWhetherTheyWait(t *testing.T) {
	for _, c := range []struct {
		reason string
		log    []string
		want   int
	}{
		{"nothing yet", nil, cloneBefore},
		{"the lock of the VM isn't meant", []string{"trying to acquire lock...", " OK"}, cloneBefore},
		{"at work", []string{"create linked clone of drive scsi0 (local:100/base-100-disk-0.qcow2)"}, cloneThrough},
		{"waiting", []string{"create linked clone of drive scsi0 (x)", "trying to acquire lock..."}, cloneWaits},
		{"has waited", []string{"create linked clone of drive scsi0 (x)", "trying to acquire lock...", " OK"}, cloneWaited},
		{"waiting for a shared storage", []string{"create full clone of drive scsi0 (x)", "trying to acquire cfs lock 'storage-nfs' ...", "trying to acquire cfs lock 'storage-nfs' ..."}, cloneWaits},
		{"copying", []string{"create full clone of drive scsi0 (x)", "transferred 0.0 B of 8.0 GiB (0.00%)"}, cloneThrough},
	} {
		if got := cloneState(c.log); got != c.want {
			t.Errorf("%s: %d, want %d", c.reason, got, c.want)
		}
	}
}
