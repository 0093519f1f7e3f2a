package admission_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/proxplane/proxplane/pve/admission"
)

func BenchmarkAcquireFree(b *testing.B) {
	lim := admission.New(admission.Config{})
	key := admission.Key{Node: "pve1", Storage: "nfs", Op: "clone"}
	b.ReportAllocs()
	for b.Loop() {
		slot, err := lim.Acquire(b.Context(), key, admission.Write)
		if err != nil {
			b.Fatal(err)
		}
		slot.Release(admission.Outcome{Failed: true})
	}
}

// Many wait at many places; each turn one leaves and one comes.
func BenchmarkAcquireContended(b *testing.B) {
	for _, waiting := range []int{100, 10_000} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			lim := admission.New(admission.Config{Write: admission.Bounds{Start: 4, Max: 4}})
			slots := make(chan *admission.Slot, waiting)
			ask := func(i int) {
				key := admission.Key{Node: fmt.Sprint("pve", i%8), Storage: fmt.Sprint("s", i%5), Op: "clone"}
				slot, err := lim.Acquire(context.Background(), key, admission.Write)
				if err == nil {
					slots <- slot
				}
			}
			for i := range waiting {
				go ask(i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				(<-slots).Release(admission.Outcome{Failed: true})
				go ask(i)
			}
			b.StopTimer()
			for range waiting {
				(<-slots).Release(admission.Outcome{})
			}
		})
	}
}
