package karpenter

import (
	"strings"
	"testing"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
)

func TestCPUsAreChosenByCoresAndNUMANodes(t *testing.T) {
	two := nodeSetting{Sockets: 2, Threads: 2}.topology(16) // 0-3,8-11 and 4-7,12-15
	for _, one := range []struct {
		reason string
		taken  string
		n      int
		want   string
		nodes  []pinNode
	}{
		{"both threads of a core", "", 2, "0,8", []pinNode{{0, 2}}},
		{"a core that is free before one that is half taken", "0", 2, "1,9", []pinNode{{0, 2}}},
		{"the NUMA node with the fewest that are enough", "4-6,12-14", 2, "7,15", []pinNode{{1, 2}}},
		{"one NUMA node, not two halves", "0-2,8-10", 4, "4-5,12-13", []pinNode{{1, 4}}},
		{"two where one isn't enough", "0,8", 9, "1-3,4-6,9-11", nil},
		{"all of it", "", 16, "0-15", []pinNode{{0, 8}, {1, 8}}},
	} {
		h := &host{numa: two, cores: 8, taken: cpuSet{}}
		h.taken.add(one.taken)
		p, ok := h.pin(one.n)
		if one.nodes == nil {
			if got, _ := parseCPUs(p.CPUs); !ok || len(got) != one.n || len(p.Nodes) != 2 {
				t.Errorf("%s: %+v", one.reason, p)
			}
			continue
		}
		if !ok || p.CPUs != one.want || len(p.Nodes) != len(one.nodes) || p.Nodes[0] != one.nodes[0] {
			t.Errorf("%s: %+v", one.reason, p)
		}
	}
	h := &host{numa: two, cores: 8, taken: cpuSet{}}
	h.taken.add("0-14")
	if _, ok := h.pin(2); ok || h.room() != 1 {
		t.Error("a CPU that is taken was given away")
	}
}

func TestSettingsOfNodesAreReadAsTheOriginalHasThem(t *testing.T) {
	s, err := parseNodeSettings([]byte(`{"lab": {"pve1": {"sockets": 1, "threads": 2, "uncorecaches": 1, "nodes": {"0": {"cpus": "0-15", "memory": 4294967296}, "1": {"cpus": "16-31", "memory": 4294967296}},
		"reservedcpus": [0, 4], "reservedmemory": 1073741824}, "*": {"reservedcpus": [1]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if one := s.of("lab", "pve1"); one.topology(32)[1].String() != "16-31" || one.ReservedMemory != 1<<30 {
		t.Errorf("%+v", one)
	}
	if one := s.of("lab", "pve7"); len(one.ReservedCPUs) != 1 || one.topology(4)[0].String() != "0-3" {
		t.Errorf("%+v", one)
	}
	for text, want := range map[string]string{
		`{"lab": {"pve1": {"reservedCPU": [0]}}}`:                                    "unknown field",
		`{"lab": {"pve1": {"nodes": {"0": {"cpus": "7-3"}}}}}`:                       "want CPUs such as 0-3,8",
		`{"lab": {"pve1": {"nodes": {"a": {"cpus": "0"}}}}}`:                         "number of a NUMA node",
		`{"lab": {"pve1": {"nodes": {"0": {"cpus": "0-3"}, "1": {"cpus": "3-4"}}}}}`: "CPU 3 is in two NUMA nodes",
		`{"lab": {"pve1": {"nodes": {"0": {"cpus": ""}}}}}`:                          "cpus is missing",
		`{"lab": {"pve1": {"reservedcpus": [-1]}}}`:                                  "there is no CPU -1",
	} {
		if _, err := parseNodeSettings([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// With the policy static each machine has CPUs of its own, those of other guests among them, and its memory is near them.
func TestMachinesArePinnedToCPUsThatNobodyHas(t *testing.T) {
	w := labWorld()
	for i := range w.Nodes {
		w.Nodes[i].CPUs, w.Nodes[i].NUMA = 8, 2
	}
	w.Guests = append(w.Guests, pvesim.WorldGuest{ID: 500, Node: "pve1", Running: true, Config: map[string]string{"name": "db", "memory": "1024", "cores": "2", "affinity": "0,4"}})
	inLab(t, w, talos(), func(t *testing.T, l *lab) {
		l.static = true
		l.settings = NodeSettings{"lab": {"*": {Sockets: 2, Threads: 2, ReservedCPUs: []int{1, 5}}}} // 0-1,4-5 and 2-3,6-7
		l.settle()
		first := l.create(l.claim("node-1", zoneIs("pve1")))
		conf := l.config(vmidOf(t, first))
		if conf["affinity"] != "2,6" || conf["numa"] != "1" || conf["numa0"] != "cpus=0-1,hostnodes=1,memory=4096,policy=preferred" {
			t.Errorf("%v %v %v", conf["affinity"], conf["numa"], conf["numa0"])
		}
		// Another process finds its machine and those of the others.
		at := l.regions.all["lab"].Site
		at.Forget(l.ownerOf(first))
		again, err := l.Create(t.Context(), first)
		if err != nil || asMade(again).Pin.CPUs != "2,6" {
			t.Errorf("%+v, %v", again, err)
		}
		second := l.create(l.claim("node-2", zoneIs("pve1")))
		if is := l.config(vmidOf(t, second))["affinity"]; is != "3,7" {
			t.Errorf("the second one is pinned to %s", is)
		}
		if _, err := l.Create(t.Context(), l.claim("node-3", zoneIs("pve1"))); err == nil || !strings.Contains(err.Error(), "0 CPUs that nobody is pinned to, 2 needed") {
			t.Errorf("a third one: %v", err)
		}
		// What it is pinned to stays when it is a node.
		l.initialized(second)
		if is := l.config(vmidOf(t, second))["affinity"]; is != "3,7" {
			t.Errorf("it is pinned to %s now", is)
		}
	})
}

// A token may not pin machines, and the class says who may.
func TestATokenMayNotPinMachines(t *testing.T) {
	w := labWorld()
	w.Users[0].Tokens = []pvesim.WorldToken{{Name: "karpenter", Secret: "secret"}}
	inLab(t, w, talos(), func(t *testing.T, l *lab) {
		l.static = true
		region := declaredAs("lab")
		region.connection.Credentials = pve.Token("root@pam!karpenter", "secret")
		l.regions.all["lab"].Site.Close()
		delete(l.regions.all, "lab")
		l.regions.sites = new(site.Sites)
		l.regions.update([]declared{region})
		l.settle()
		c := l.class().StatusConditions().Get(api.ConditionPlacementReady)
		if !c.IsFalse() || !strings.Contains(c.Message, "only root@pam with its password") {
			t.Errorf("%+v", c)
		}
	})
}
