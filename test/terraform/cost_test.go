package terraform_test

import (
	"fmt"
	"strings"
	"testing"
)

// What a machine costs Proxmox in requests, with for_each and with replicas. The bounds are those that
// the documentation promises.
func TestWhatMachinesCost(t *testing.T) {
	const n = 40
	for name, config := range map[string]string{
		"for_each": fleet(n),
		"replicas": strings.NewReplacer("count =", "replicas =", "${count.index}", "x").Replace(fleet(n)),
	} {
		t.Run(name, func(t *testing.T) {
			b := begin(t)
			b.config(config)
			before := b.server.RequestCount()
			b.apply()
			made := b.server.RequestCount()
			b.settled()
			looked := b.server.RequestCount()
			each := func(requests int) float64 { return float64(requests) / n }
			fmt.Printf("%s: %.1f requests to make a machine, %.1f to look at it\n", name, each(made-before), each(looked-made))
			if each(made-before) > 10 {
				t.Errorf("a machine takes %.1f requests", each(made-before))
			}
			if each(looked-made) > 2 {
				t.Errorf("to look at a machine takes %.1f requests", each(looked-made))
			}
		})
	}
}
