package admission_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxplane/proxplane/pve/admission"
)

func TestOneThatNeedsNodeAndStorageIsNotStarvedByThoseThatNeedOneOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{lim: admission.New(admission.Config{Write: admission.Bounds{Start: 2, Max: 2}})}
		defer c.disperse()
		ask := func(node, storage string) *request {
			r := c.ask(admission.Key{Node: node, Storage: storage}, admission.Write)
			c.settle()
			return r
		}
		ask("pve1", "")
		ask("pve1", "")
		ask("pve2", "nfs")
		ask("pve3", "nfs")
		both := ask("pve1", "nfs")
		for turn := 0; both.slot == nil; turn++ {
			if turn > 4 {
				t.Fatal("starved")
			}
			// There is always somebody younger for each of the two.
			ask("pve1", "")
			ask("pve2", "nfs")
			c.release(c.admitted[0], admission.Outcome{Failed: true})
		}
	})
}

func TestWhatWasBegunIsFinishedBeforeMoreIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{lim: admission.New(admission.Config{Write: admission.Bounds{Start: 1, Max: 1}})}
		defer c.disperse()
		clone := admission.Key{Node: "pve1", Storage: "nfs", Later: true}
		for range 5 {
			c.ask(clone, admission.Write)
			c.settle()
		}
		start := c.ask(admission.Key{Node: "pve1"}, admission.Write)
		c.settle()
		if c.release(c.admitted[0], admission.Outcome{}); start.slot == nil {
			t.Error("a start waits for clones that came before it")
		}
	})
}

func TestARemovalIsNotStarvedByClonesOfACrowdedStorage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{lim: admission.New(admission.Config{Storage: admission.Bounds{Start: 4, Max: 4}})}
		defer c.disperse()
		clone := admission.Key{Node: "pve1", Storage: "nfs", Later: true}
		elsewhere := admission.Key{Node: "pve1", Storage: "local", Later: true}
		for range 100 {
			c.ask(clone, admission.Write)
			c.settle()
		}
		c.release(c.admitted[0], admission.Outcome{LockTimeout: true})
		removal := c.ask(admission.Key{Node: "pve1", Storage: "nfs", First: true}, admission.Write)
		for c.settle(); removal.slot == nil; {
			c.release(c.admitted[0], admission.Outcome{})
		}
		for len(c.admitted) > 1 { // those that were under way end
			i := slices.IndexFunc(c.admitted, func(r *request) bool { return r != removal })
			if fresh := c.release(c.admitted[i], admission.Outcome{}); len(fresh) > 0 {
				t.Fatalf("%d clones were let in beside the removal", len(fresh))
			}
		}
		other := c.ask(elsewhere, admission.Write)
		if c.settle(); other.slot == nil {
			t.Error("clones of other storages wait for it, too")
		}
		if fresh := c.release(removal, admission.Outcome{}); len(fresh) == 0 {
			t.Error("clones go on waiting when it is over")
		}
	})
}

func TestAFullStorageDoesNotHoldUpTheRestOfItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{lim: admission.New(admission.Config{Write: admission.Bounds{Start: 4, Max: 4}})}
		defer c.disperse()
		ask := func(node, storage string) *request {
			r := c.ask(admission.Key{Node: node, Storage: storage}, admission.Write)
			c.settle()
			return r
		}
		for range 4 {
			ask("pve1", "nfs")
		}
		for range 100 {
			ask("pve2", "nfs")
		}
		for range 3 { // one slot is kept for the oldest of those that wait
			if r := ask("pve2", "local"); r.slot == nil {
				t.Fatal("waits for a storage it doesn't need")
			}
		}
	})
}

func TestReadsAndWritesDoNotHoldUpEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{lim: admission.New(admission.Config{})}
		defer c.disperse()
		key := admission.Key{Node: "pve1", Storage: "nfs"}
		for range 1000 {
			c.ask(key, admission.Write)
		}
		c.settle()
		read := c.ask(key, admission.Read)
		if c.settle(); read.slot == nil {
			t.Error("a read waits for writes")
		}
		for range 1000 {
			c.ask(key, admission.Read)
		}
		c.settle()
		write := c.ask(admission.Key{Node: "pve1"}, admission.Write)
		c.settle()
		for write.slot == nil { // behind the other writes, but not behind the reads
			i := slices.IndexFunc(c.admitted, func(r *request) bool { return r.class == admission.Write })
			if i < 0 {
				t.Fatal("a write waits for reads")
			}
			c.release(c.admitted[i], admission.Outcome{})
		}
	})
}

func TestAcquireFailsOnlyWithItsContext(t *testing.T) {
	lim := admission.New(admission.Config{Write: admission.Bounds{Start: 1, Max: 1}})
	key := admission.Key{Node: "pve1", Storage: "nfs"}
	slot, err := lim.Acquire(t.Context(), key, admission.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer slot.Release(admission.Outcome{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = lim.Acquire(ctx, key, admission.Write)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "node pve1, storage nfs") {
		t.Errorf("got error %v, want one that is context.Canceled and says what was waited for", err)
	}
}

func TestUnusedNodesAndStoragesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := admission.New(admission.Config{Forget: time.Hour})
		long, err := lim.Acquire(t.Context(), admission.Key{Node: "pve1", Storage: "long"}, admission.Write)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10_000 {
			slot, err := lim.Acquire(t.Context(), admission.Key{Node: "pve1", Storage: fmt.Sprint("s", i)}, admission.Write)
			if err != nil {
				t.Fatal(err)
			}
			slot.Release(admission.Outcome{})
			time.Sleep(time.Minute)
		}
		if n := len(lim.Snapshot()); n > 100 {
			t.Errorf("%d bounds known, want those of the last hour or so", n)
		}
		if u := usageOf(lim, "long"); u.InUse != 1 {
			t.Errorf("a storage in use was forgotten: %+v", u)
		}
		long.Release(admission.Outcome{})
		time.Sleep(2 * time.Hour)
		if s := lim.Snapshot(); len(s) != 0 {
			t.Errorf("%d bounds known after long rest: %+v", len(s), s)
		}
	})
}
