package act_test

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/pvesim"
)

// stray is an action that the table of facts doesn't know.
type stray struct{ model.Stop }

func TestAnActionWithoutFactsIsRefused(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.must(model.Start{Target: at(100)})
		before := l.sim.RequestCount()
		for _, a := range []model.Action{stray{model.Stop{Target: at(100)}}, &model.Stop{Target: at(100)}, nil} {
			err := l.do(a)
			if !errors.Is(err, act.ErrNoFacts) || act.Judge(err).Class != act.Hard {
				t.Errorf("%T: %v", a, err)
			}
		}
		if n := l.sim.RequestCount() - before; n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

// A change of a config that names no digest overwrites what others have changed meanwhile.
func TestAChangeOfAConfigWithoutADigestIsNeverSent(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		tried := map[string]bool{}
		before := l.sim.RequestCount()
		for _, a := range []model.Action{
			model.Configure{Target: at(100), Set: map[string]string{"cores": "2"}},
			model.Configure{Target: at(100), Slow: true, Disks: []model.NewDisk{{Disk: model.Disk{Slot: "scsi1", Storage: "local", Size: 1 << 30}}}},
			model.Release{Target: at(100), Description: "x"},
			model.Detach{Target: at(100), Options: []string{"cores"}},
		} {
			tried[model.FactsOf(a).Kind] = true
			if err := l.do(a); !errors.Is(err, act.ErrNoDigest) || act.Judge(err).Class != act.Hard {
				t.Errorf("%T: %v", a, err)
			}
		}
		if n := l.sim.RequestCount() - before; n != 0 {
			t.Errorf("%d requests were sent", n)
		}
		for _, kind := range model.Kinds() {
			if model.FactsOfKind(kind).Proof == model.ProofDigest && !tried[kind] {
				t.Errorf("%s isn't tried here", kind)
			}
		}
	})
}

// What an action asks of Proxmox to change is in its row: privileges are granted by that.
func TestActionsMakeTheCallsThatTheirFactsSay(t *testing.T) {
	rules, err := schema.Load("9.2")
	if err != nil {
		t.Fatal(err)
	}
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.sim.Do(func(s *pvesim.State) { s.Dirs["/srv/data"], s.Dirs["/srv/other"] = true, true })
		disk := model.NewDisk{Disk: model.Disk{Slot: "scsi1", Storage: "local", Size: 1 << 30, Format: "qcow2"}}
		note := model.Describe("x", model.Marker{Owner: us})
		again := model.Describe("x", model.Marker{Owner: us, Version: "again"})
		done := map[string]bool{}
		for _, a := range []model.Action{
			model.Create{Target: at(200), Name: "made", Disks: []model.NewDisk{{Disk: model.Disk{Slot: "scsi0", Storage: "local", Size: 1 << 30}}}},
			model.MakeTemplate{Target: at(200)},
			model.Clone{From: at(200), To: at(201), Name: "copy"},
			model.Configure{Target: at(100), Disks: []model.NewDisk{disk}, Delete: []string{"scsi0"}, Slow: true},
			model.Configure{Target: at(100), Set: map[string]string{"cores": "2"}},
			model.Resize{Target: at(100), Slot: "scsi1", Size: 2 << 30},
			model.MoveDisk{Target: at(100), Slot: "scsi1", Storage: "local", Format: "raw"},
			model.MoveDisk{Target: at(100), Slot: "scsi1", Storage: "local", Format: "qcow2"},
			model.Snap{Target: at(100), Name: "before", Description: note},
			model.Rollback{Target: at(100), Name: "before", Note: again},
			model.Unsnap{Target: at(100), Name: "before", Owner: us},
			model.Start{Target: at(100)},
			model.Exec{Target: at(100), Owner: us, Command: []string{"true"}},
			model.ReadFile{Target: at(100), Owner: us, File: "/etc/hostname"},
			model.Reboot{Target: at(100)},
			model.Resume{Target: at(100)},
			model.Shutdown{Target: at(100)},
			model.Stop{Target: at(100), Abort: []string{"UPID:pve1:00000001:00000001:00000001:qmshutdown:100:root@pam:"}},
			model.SetPool{VMID: 100, Pool: "a"},
			model.SetFirewall{
				Target: at(100), Set: map[string]string{"enable": "1"}, Edits: []model.RuleEdit{
					{Verb: model.RuleInsert, Rule: model.FirewallRule{Type: "in", Action: "DROP"}},
					{Verb: model.RuleInsert, Rule: model.FirewallRule{Type: "in", Action: "ACCEPT", Macro: "SSH", Disabled: true}},
					{Verb: model.RuleMove, To: 1},
					{Verb: model.RuleEnable, At: 1},
					{Verb: model.RuleSet, At: 1, Rule: model.FirewallRule{Type: "in", Action: "ACCEPT", Macro: "HTTP"}},
					{Verb: model.RuleRemove, At: 1},
				},
			},
			model.SetHA{VMID: 100, HA: &model.HA{}, New: true, Off: true},
			model.SetHA{VMID: 100, HA: &model.HA{MaxRestart: 2}},
			model.SetHA{VMID: 101, HA: &model.HA{}, New: true, Off: true},
			model.KeepApart{VMID: 100, Rule: "apart", Resources: []string{"vm:100", "vm:101"}, New: true},
			model.KeepApart{VMID: 100, Rule: "apart", Resources: []string{"vm:100", "vm:101"}},
			model.SetHA{VMID: 100},
			model.MakeShare{Name: "data", Path: "/srv/data", Nodes: []string{"pve1"}, New: true, Maker: "us"},
			model.MakeShare{Name: "data", Path: "/srv/other", Nodes: []string{"pve1"}, Maker: "us"},
			model.RemoveShare{Name: "data", Maker: "us"},
			model.Detach{Target: at(100), Options: []string{"cores"}},
			model.Download{Node: "pve1", Storage: "local", Content: "import", File: "proxplane-a-b.qcow2", URL: "https://images.example/a.qcow2"},
			model.Unpack{Node: "pve1", Storage: "local", File: "proxplane-a-c.qcow2", URL: "https://images.example/a.qcow2.xz", Packing: "xz"},
			model.UploadSeed{Node: "pve1", Storage: "local", File: "proxplane-100-x.iso", Files: map[string][]byte{"user-data": []byte("#cloud-config\n")}},
			model.UploadSnippets{Node: "pve1", Volumes: map[string]string{"user": "local:snippets/x"}, For: 100},
			model.RemoveFile{Node: "pve1", Volume: "local:iso/proxplane-100-abc.iso", For: 100},
			model.RemoveDisk{Left: model.Left{Node: "pve1", VMID: 555, Volumes: []string{"local:555/vm-555-disk-0.qcow2"}, Watched: true}, Volume: "local:555/vm-555-disk-0.qcow2"},
			model.Migrate{Target: at(100), To: "pve2"},
			model.Release{Target: at(101)},
			model.Destroy{Target: model.Target{VMID: 100, Node: "pve2"}, Owner: us, Owned: true},
		} {
			facts, before := model.FactsOf(a), l.sim.RequestCount()
			err := l.do(l.seen(a))
			writes := 0
			for _, r := range l.sim.Requests(before) {
				c := callOf(t, rules, r)
				if c.Method == "GET" || c.Path == "/access/ticket" {
					continue
				}
				writes++
				if !slices.ContainsFunc(facts.Calls, func(k model.Call) bool { return k.Method == c.Method && k.Path == c.Path }) {
					t.Errorf("%s makes the call %s %s, which its facts don't have", facts.Kind, c.Method, c.Path)
				}
			}
			if facts.Kind != "UploadSnippets" && facts.Kind != "ReadFile" && writes == 0 {
				t.Errorf("%s has changed nothing: %v", facts.Kind, err)
			}
			done[facts.Kind] = true
		}
		for _, kind := range model.Kinds() {
			if !done[kind] {
				t.Errorf("%s isn't tried here", kind)
			}
		}
	})
}

// callOf is the endpoint that a request was sent to.
func callOf(t *testing.T, rules *schema.Schema, r pvesim.Request) model.Call {
	t.Helper()
	at, err := url.Parse(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	endpoint, _ := rules.Find(r.Method, strings.TrimPrefix(at.Path, "/api2/json"))
	if endpoint == nil {
		t.Fatalf("%s %s isn't in the schema", r.Method, r.URL)
	}
	return model.Call{Method: r.Method, Path: endpoint.Path}
}
