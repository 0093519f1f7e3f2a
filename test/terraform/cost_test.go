package terraform_test

import (
	"fmt"
	"strings"
	"testing"
)

// What a machine costs Proxmox in requests, with count and with replicas. Lists are for all machines
// together, and the more the longer it takes: they are printed and not bounded.
func TestWhatMachinesCost(t *testing.T) {
	const n = 40
	for name, config := range map[string]string{
		"count":    fleet(n),
		"replicas": strings.NewReplacer("count =", "replicas =", "${count.index}", "x").Replace(fleet(n)),
	} {
		t.Run(name, func(t *testing.T) {
			b := begin(t)
			b.config(config)
			made := b.requests(func() { b.apply() })
			looked := b.requests(b.settled)
			fmt.Printf("%s: %.1f requests to make a machine and %.1f lists, %.1f and %.1f to look at it\n", name, made.own/n, made.lists/n, looked.own/n, looked.lists/n)
			if made.own/n > 9 {
				t.Errorf("a machine takes %.1f requests", made.own/n)
			}
			if looked.own/n > 2 {
				t.Errorf("to look at a machine takes %.1f requests", looked.own/n)
			}
		})
	}
}

// cost are requests: lists of the cluster, and all others.
type cost struct{ own, lists float64 }

// requests counts those that something makes.
func (b *bench) requests(do func()) (c cost) {
	before := b.server.RequestCount()
	do()
	for _, r := range b.server.Requests(before) {
		if strings.HasPrefix(r.URL, "/api2/json/cluster/") {
			c.lists++
		} else {
			c.own++
		}
	}
	return c
}
