package terraform_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pve"
)

// What a machine costs Proxmox in requests, with count and with replicas. Lists are for all machines
// together, and the more the longer it takes: they are printed and not bounded.
func TestWhatMachinesCost(t *testing.T) {
	const n = 40
	for name, config := range map[string]string{
		"count":    fleet(n),
		"replicas": replicas(n),
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
			if read := looked.own + looked.lists; read > n+45 { // configs, and lists: of the cluster, of nodes and of their storages
				t.Errorf("to look at %d machines takes %.0f requests", n, read)
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

// Of many machines, lists show what matters most, and refresh = "Configs" all.
func TestWhatIsSeenOfManyMachines(t *testing.T) {
	const n = 104 // more than are always read
	b := begin(t)
	config := strings.Replace(replicas(n), "replicas", "on_boot = true\n  replicas", 1)
	b.config(config)
	b.apply()
	b.touch("node-x-7", "POST", "/config", pve.Params{"tags": "people"})
	b.touch("node-x-8", "POST", "/status/stop", nil)
	b.server.Settle()
	out := b.planned()
	b.says(out, "node-x-7: configure VM", "node-x-8: start VM")

	b.apply()
	b.settled()
	for i := range n {
		b.touch(fmt.Sprint("node-x-", i+1), "POST", "/config", pve.Params{"onboot": "0"})
	}
	b.write("main.tf", strings.Replace(head, `set = "shop"`, "set = \"shop\"\n  refresh = \"Configs\"", 1)+config)
	out = b.planned()
	if told := changed(out); told != n || strings.Contains(out, unread) {
		t.Errorf("%d of %d changes are told:\n%s", told, n, out)
	}
	b.config(config)
	out = b.planned()
	if told := changed(out); told < 30 || told == n {
		t.Errorf("with lists %d of the changes are told, want those of 30 machines", told)
	}
	b.says(out, unread, "and 71 others: up to date by the cluster's lists", `Set refresh = "Configs"`) // all but those whose turn it is
	b.write("main.tf", strings.Replace(head, `set = "shop"`, "set = \"shop\"\n  refresh = \"Lists\"", 1)+config)
	if out := b.planned(); strings.Contains(out, unread) {
		t.Errorf("who has asked for lists is warned of them:\n%s", out)
	}
}

// unread is what a plan says that hasn't looked at all that there is.
const unread = "Not every config was read"

// changed is of how many machines a plan says that they are configured.
func changed(plan string) int {
	names := map[string]bool{}
	for _, name := range regexp.MustCompile(`node-x-\d+: configure VM`).FindAllString(plan, -1) {
		names[name] = true
	}
	return len(names)
}
