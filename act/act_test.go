package act_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/pvesim"
)

func TestOnlyWhatProvesToBeOursIsDestroyed(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		for id, reason := range map[int]string{101: "it has no marker", 102: "it is another set's"} {
			if err := l.do(model.Destroy{Target: at(id), Owner: us, Owned: true}); !errors.Is(err, act.ErrNotOurs) {
				t.Errorf("%s: %v", reason, err)
			}
		}
		if err := l.do(model.Destroy{Target: at(100)}); !errors.Is(err, act.ErrNotOurs) {
			t.Errorf("nobody is expected: %v", err)
		}
		if n := l.asked("DELETE"); n != 0 {
			t.Errorf("%d were to be destroyed", n)
		}
		if err := l.do(model.Destroy{Target: at(100), Owner: us}); !errors.Is(err, act.ErrNotOurs) {
			t.Errorf("an unsigned marker under a VMID that is nobody's: %v", err)
		}
		l.must(model.Destroy{Target: at(100), Owner: us, Owned: true})
		if l.conf(100) != nil || l.conf(101) == nil || l.conf(102) == nil {
			t.Error("the wrong one has gone")
		}
	})
}

func TestOnlyFilesOfOursAreRemovedWhateverADescriptionSays(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		for _, volume := range []string{
			"local:iso/debian.iso", "local:100/vm-100-disk-0.raw", "local:iso/../100/proxplane-x", "local:iso/x/proxplane-1.iso",
			"local:iso/proxplane-1.iso", "local:iso/proxplane-5-0123456789ab.iso", "local:import/debian.qcow2", "local:import/proxplane-x.qcow2",
			"local:snippets/proxplane-1.yaml", "local:snippets/proxplane-hook", "local:snippets/proxplane-5-0123456789ab-user.yaml", "proxplane-1.iso", "local:backup/proxplane-1.vma", "",
		} {
			if err := l.do(model.RemoveFile{Node: "pve1", Volume: volume, For: 100}); !errors.Is(err, act.ErrNotOurs) {
				t.Errorf("%s: %v", volume, err)
			}
		}
		if n := l.asked("DELETE"); n != 0 {
			t.Errorf("%d were to be removed", n)
		}
		l.must(model.RemoveFile{Node: "pve1", Volume: "local:iso/proxplane-100-0123456789ab.iso", For: 100})
		l.must(model.RemoveFile{Node: "pve1", Volume: "local:iso/proxplane-100-0123456789ab.iso", For: 100}) // it is gone already
	})
}

func TestGoesBackToASnapshotOnceForEachNote(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		m := model.Marker{Owner: us}
		l.must(model.Configure{Target: at(100), Disks: []model.NewDisk{{Disk: model.Disk{Slot: "scsi1", Storage: "local", Size: 1 << 30, Format: "qcow2"}}}, Delete: []string{"scsi0"}})
		l.must(model.Snap{Target: at(100), Name: "before", Description: model.Describe("x", m)})
		l.must(model.Snap{Target: at(100), Name: "foreign", Description: "x"})
		m.Version = "once"
		back := model.Rollback{Target: at(100), Name: "before", Note: model.Describe("x", m)}
		if err := l.do(model.Rollback{Target: at(100), Name: "foreign", Note: back.Note}); !errors.Is(err, act.ErrNotOurs) {
			t.Errorf("somebody else's snapshot: %v", err)
		}
		if err := l.do(model.Rollback{Target: at(100), Name: "none", Note: back.Note}); !errors.Is(err, pve.ErrNotFound) {
			t.Errorf("no such snapshot: %v", err)
		}
		l.must(back)
		l.must(back)
		if n := l.asked("/rollback"); n != 1 {
			t.Errorf("it went back %d times", n)
		}
	})
}

func TestDeletesOnlySnapshotsThatProveToBeOurs(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.must(model.Configure{Target: at(100), Disks: []model.NewDisk{{Disk: model.Disk{Slot: "scsi1", Storage: "local", Size: 1 << 30, Format: "qcow2"}}}, Delete: []string{"scsi0"}})
		l.must(model.Snap{Target: at(100), Name: "ours", Description: model.Describe("x", model.Marker{Owner: us})})
		l.must(model.Snap{Target: at(100), Name: "foreign", Description: "x"})
		for _, owner := range []model.Owner{us, {}} {
			if err := l.do(model.Unsnap{Target: at(100), Name: "foreign", Owner: owner}); !errors.Is(err, act.ErrNotOurs) {
				t.Errorf("somebody else's snapshot: %v", err)
			}
		}
		l.must(model.Unsnap{Target: at(100), Name: "ours", Owner: us})
		l.must(model.Unsnap{Target: at(100), Name: "ours", Owner: us}) // it is gone already
		left, _, err := l.client.VM("pve1", 100).Snapshots(t.Context())
		if err != nil || len(left) != 1 || left[0].Name != "foreign" {
			t.Errorf("left are %v, %v", left, err)
		}
	})
}

func TestConfigsThatHaveChangedAreNotOverwritten(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		now, err := l.client.VM("pve1", 100).Config(t.Context(), pve.ConfigOptions{})
		if err != nil {
			t.Fatal(err)
		}
		l.must(model.Configure{Target: at(100), Digest: now.Digest, Set: map[string]string{"cores": "2"}})
		if err := l.do(model.Configure{Target: at(100), Digest: now.Digest, Set: map[string]string{"cores": "4"}}); !errors.Is(err, pve.ErrModified) {
			t.Errorf("%v", err)
		}
		if err := l.do(model.Release{Target: at(100), Digest: now.Digest}); !errors.Is(err, pve.ErrModified) {
			t.Errorf("%v", err)
		}
	})
}

func TestChangesConfigsInOneCall(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.must(model.Configure{
			Target: at(100), Slow: true,
			Set:         map[string]string{"cores": "2", "sshkeys": sshKey + "\n" + sshKey, "onboot": ""},
			Disks:       []model.NewDisk{{Disk: model.Disk{Slot: "scsi1", Storage: "local", Size: 2 << 30, Options: map[string]string{"ssd": "1", "discard": "on"}}}},
			NICs:        []model.NIC{{Slot: "net1", Model: "virtio", MAC: "BC:24:11:00:00:07", Bridge: "vmbr0", VLAN: 5, Firewall: true, Options: map[string]string{"queues": "2"}}},
			Tags:        new([]string{"b", "a"}),
			Description: new("text"),
			Delete:      []string{"net0"},
		})
		conf := l.conf(100)
		for k, v := range map[string]string{
			"cores": "2", "tags": "a;b", "description": "text", "net0": "",
			"net1": "virtio=BC:24:11:00:00:07,bridge=vmbr0,firewall=1,queues=2,tag=5",
		} {
			if conf[k] != v {
				t.Errorf("%s is %q, want %q", k, conf[k], v)
			}
		}
		if keys, err := prop.ParseSSHKeys(conf["sshkeys"]); err != nil || len(keys) != 2 || keys[0] != sshKey {
			t.Errorf("keys are %q", conf["sshkeys"])
		}
		if !strings.Contains(conf["scsi1"], "size=2G") || !strings.Contains(conf["scsi1"], "discard=on") {
			t.Errorf("scsi1 is %q", conf["scsi1"])
		}
		l.must(model.Configure{Target: at(100), Delete: []string{"scsi1"}, Tags: new([]string{})})
		for k := range l.conf(100) {
			if strings.HasPrefix(k, "unused") || k == "scsi1" || k == "tags" {
				t.Errorf("%s is still there", k)
			}
		}
	})
}

func TestCreatesClonesAndUploads(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.must(model.Create{
			Target: at(200), Name: "blank", Description: "d", Tags: []string{"x"}, Pool: "a", Options: map[string]string{"memory": "1024", "scsihw": "virtio-scsi-pci"},
			Disks: []model.NewDisk{{Disk: model.Disk{Slot: "scsi0", Storage: "local", Size: 3 << 30}}, {Disk: model.Disk{Slot: "ide2", Storage: "local", CloudInit: true, CDROM: true}}},
			NICs:  []model.NIC{{Slot: "net0", Model: "virtio", Bridge: "vmbr0"}},
		})
		l.must(model.MakeTemplate{Target: at(200)})
		l.must(model.Clone{From: at(200), To: at(201), Name: "linked", Description: "mine"})
		l.must(model.Clone{From: at(200), To: at(202), Name: "full", Full: true, Storage: "local"})
		if c := l.conf(201); c["name"] != "linked" || c["description"] != "mine" || !strings.Contains(c["scsi0"], "base-200") {
			t.Errorf("%v", c)
		}
		if c := l.conf(202); strings.Contains(c["scsi0"], "base-200") {
			t.Errorf("%v", c)
		}
		l.must(model.Resize{Target: at(201), Slot: "scsi0", Size: 5 << 30})
		if c := l.conf(201); !strings.Contains(c["scsi0"], "size=5G") {
			t.Errorf("%v", c)
		}
		l.must(model.UploadSeed{Node: "pve1", Storage: "local", File: "proxplane-201-x.iso", Files: map[string][]byte{"user-data": []byte("#cloud-config\n"), "meta-data": []byte("{}\n")}})
		l.must(model.Start{Target: at(201)})
		l.must(model.Stop{Target: at(201)})
		l.must(model.SetPool{VMID: 201, Pool: "a"})
		l.must(model.SetPool{VMID: 201, Pool: "b", From: "a"})
		l.must(model.SetPool{VMID: 200, From: "a"})
		l.sim.Do(func(s *pvesim.State) {
			if len(s.Pools["a"].VMs) != 0 || !s.Pools["b"].VMs[201] {
				t.Errorf("pools are %v and %v", s.Pools["a"].VMs, s.Pools["b"].VMs)
			}
		})
	})
}

func TestTellsHAByGroupsUntil8AndByRulesFrom9(t *testing.T) {
	for _, release := range []string{"8.4", "9.2"} {
		inLab(t, release, func(t *testing.T, l *lab) {
			if release == "8.4" {
				if err := l.client.HA().CreateGroup(t.Context(), pve.HAGroup{ID: "fast", Nodes: "pve1"}); err != nil {
					t.Fatal(err)
				}
			} else {
				if err := l.client.HA().AddResource(t.Context(), "vm:101", pve.HASettings{State: "stopped"}); err != nil {
					t.Fatal(err)
				}
				rule := pve.HARule{ID: "fast", Type: "node-affinity", Nodes: "pve1", Resources: []string{"vm:101"}}
				if err := l.client.HA().CreateRule(t.Context(), rule); err != nil {
					t.Fatal(err)
				}
			}
			l.must(model.SetHA{VMID: 100, HA: &model.HA{Group: "fast", MaxRestart: 3}, New: true})
			time.Sleep(time.Minute)
			l.sim.Do(func(s *pvesim.State) {
				r := s.HA.Resources["vm:100"]
				if r["max_restart"] != "3" || release == "8.4" && r["group"] != "fast" || release == "9.2" && !strings.Contains(s.HA.Rules["fast"]["resources"], "vm:100") {
					t.Errorf("%s: %v, rules %v", release, r, s.HA.Rules)
				}
			})
			l.must(model.SetHA{VMID: 100, HA: &model.HA{Group: "fast", MaxRestart: 1}})
			l.must(model.SetHA{VMID: 100})
			l.sim.Do(func(s *pvesim.State) {
				if s.HA.Resources["vm:100"] != nil || strings.Contains(s.HA.Rules["fast"]["resources"], "vm:100") {
					t.Errorf("%s: HA still knows it: %v", release, s.HA)
				}
			})
		})
	}
}

func TestProgressOfATaskThatCannotBeRead(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		tasks := l.actor.Watch(t.Context())
		if at, err := tasks.Progress(t.Context(), "no task"); err == nil || at >= 0 {
			t.Errorf("%v, %v", at, err)
		}
		if _, err := tasks.Follow("no task"); err == nil {
			t.Error("there is no such task")
		}
		res, err := l.actor.Do(t.Context(), model.Start{Target: at(100)}, act.Known{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tasks.Progress(t.Context(), res.Task); err != nil {
			t.Error(err)
		}
		l.broken.from = 1
		if at, err := tasks.Progress(t.Context(), res.Task); err == nil || at >= 0 {
			t.Errorf("%v, %v", at, err)
		}
	})
}

func TestLostAnswersSayThatTheyAreLost(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		if _, err := l.sim.AddFault(pvesim.Fault{Method: "POST", Path: "/nodes/*/qemu/*/status/start", Drop: "after"}); err != nil {
			t.Fatal(err)
		}
		err := l.do(model.Start{Target: at(100)})
		if f := act.Judge(err); f.Class != act.Lost {
			t.Errorf("%v is %v", err, f.Class)
		}
		if n := l.asked("/status/start"); n != 1 {
			t.Errorf("it was sent %d times", n)
		}
	})
}
