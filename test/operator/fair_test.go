package operator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/pvesim"
)

// Where a storage serves four clones at a time, many new machines take long. Who asks for
// another one to go meanwhile doesn't wait for them.
func TestManyNewMachinesDontKeepADeletionWaiting(t *testing.T) {
	t.Parallel()
	const many = 60
	s := begin(t, func(w *pvesim.World) {
		w.Locks.Storage, w.Timing.Clone, w.Timing.Link = 4, 0, pvesim.Duration(15*time.Second)
	})
	s.operate("--alone")
	s.provide()
	s.apply(machine("old"))
	s.waitFor("--for=condition=Ready", "vm/old")
	var all strings.Builder
	for n := range many {
		text := machine(fmt.Sprintf("new-%d", n))
		all.WriteString(text[strings.LastIndex(text, "---"):])
	}
	s.apply(all.String())
	s.until("they have begun", func() bool {
		return len(strings.Fields(s.kubectl("get", "vm", "-o", `jsonpath={.items[*].status.vmid}`))) > 1
	})
	waiting := func() int {
		return strings.Count(s.kubectl("get", "vm", "-o", `jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}`), "False")
	}
	before := waiting()
	s.kubectl("delete", "vm", "old", "--timeout", patience.String())
	after := waiting()
	t.Logf("%d of %d new machines weren't ready when it was asked for, and %d when it had gone", before, many, after)
	if after < before/2 {
		t.Error("it waited for most of them")
	}
	if strings.Contains(" "+s.machines()+" ", " old ") {
		t.Error("it is still there")
	}
}
