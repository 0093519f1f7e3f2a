package observe_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxplane/proxplane/imagefile"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	kit "github.com/proxplane/proxplane/test/kit/sim"
)

func ms(n int) pvesim.Duration { return pvesim.Duration(time.Duration(n) * time.Millisecond) }

// world has a node with some guests, and one that is empty.
func world(guests int) *pvesim.World {
	return &pvesim.World{
		Release: "9.2", Cluster: "lab",
		Nodes: []pvesim.WorldNode{{Name: "pve1", Memory: 64 << 30}, {Name: "pve2", Memory: 64 << 30}},
		Storages: []pvesim.WorldStorage{
			{
				Name: "local", Type: "dir", Path: "/var/lib/vz", Size: 1 << 40, Content: []string{"images", "iso", "import"},
				Volumes: []pvesim.WorldVolume{{Name: "iso/tiny.iso", Size: 1 << 20}, {Name: "import/os.qcow2", Size: 1 << 20}},
			},
			{Name: "nfs", Type: "nfs", Path: "/mnt/pve/nfs", Size: 1 << 40, Content: []string{"images", "iso"}, Options: map[string]string{"server": "10.0.0.9", "export": "/x"}},
		},
		Users: []pvesim.WorldUser{{ID: "root@pam", Password: "secret"}},
		DHCP:  pvesim.WorldDHCP{Range: "10.7.0.1-10.7.9.250", Bits: 16},
		Guests: []pvesim.WorldGuest{{
			ID: 100, Node: "pve1", Count: guests, System: pvesim.WithAgent,
			Config: map[string]string{"name": "web-%d", "scsi0": "nfs:4", "boot": "order=scsi0", "agent": "1", "net0": "virtio,bridge=vmbr0", "tags": "proxplane"},
		}},
		Timing: pvesim.Timing{Request: ms(5), Start: ms(1000), Boot: ms(2000), Agent: ms(8000)},
		Load:   pvesim.Load{AgentWait: ms(3000), StatusRound: ms(10000)},
	}
}

type lab struct {
	t      *testing.T
	sim    *pvesim.Sim
	client *pve.Client
}

func inLab(t *testing.T, w *pvesim.World, test func(t *testing.T, l *lab), options ...pvesim.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sim, err := pvesim.New(w, options...)
		if err != nil {
			t.Fatal(err)
		}
		l := &lab{t: t, sim: sim}
		defer l.sim.Close()
		l.client = l.connect(pve.Password("root@pam", "secret"))
		test(t, l)
	})
}

// connect makes a client of its own, and logs in.
func (l *lab) connect(creds pve.Credentials) *pve.Client {
	l.t.Helper()
	c := kit.Dial(l.t, l.sim, creds)
	_, err := c.Version(l.t.Context())
	l.must(err)
	return c
}

// during counts the requests while fn runs, by their last part.
func (l *lab) during(fn func()) []string {
	before := l.sim.RequestCount()
	fn()
	var out []string
	for _, r := range l.sim.Requests(before) {
		path, _, _ := strings.Cut(strings.TrimPrefix(r.URL, "/api2/json"), "?")
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func TestOneLookIsTwoListsHoweverManyGuestsThereAre(t *testing.T) {
	inLab(t, world(300), func(t *testing.T, l *lab) {
		o := observe.New(l.client)
		first := l.during(func() { _, err := o.Look(t.Context()); l.must(err) })
		if fmt.Sprint(first) != "[/cluster/resources /cluster/tasks /version]" {
			t.Errorf("the first look asks %v", first)
		}
		var have *model.Observed
		again := l.during(func() {
			var err error
			have, err = o.Look(t.Context())
			l.must(err)
		})
		if fmt.Sprint(again) != "[/cluster/resources /cluster/tasks]" {
			t.Errorf("later ones ask %v", again)
		}
		if len(have.Guests) != 300 || have.Release != 9 || !have.Nodes["pve2"].Online || !have.Storages["nfs"].Shared || have.Storages["local"].OnNode["pve1"].Free() == 0 {
			t.Errorf("%d guests, release %d, %v", len(have.Guests), have.Release, have.Storages["local"])
		}
	})
}

func TestThoseWhoAskAtOnceShareTheAnswer(t *testing.T) {
	inLab(t, world(3), func(t *testing.T, l *lab) {
		o := observe.New(l.client)
		l.must(o.Refresh(t.Context(), 0))
		asked := l.during(func() {
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() { l.must(o.Refresh(t.Context(), 0)) })
			}
			all.Wait()
		})
		// One is under way for the first; it is too old for the others, who share the next.
		if len(asked) > 4 {
			t.Errorf("20 who ask at once cause %d requests", len(asked))
		}
		if asked := l.during(func() { l.must(o.Refresh(t.Context(), time.Minute)) }); len(asked) != 0 {
			t.Errorf("a young list is asked for again: %v", asked)
		}
	})
}

func TestOneWhoGivesUpDoesNotSpoilItForTheOthers(t *testing.T) {
	inLab(t, world(3), func(t *testing.T, l *lab) {
		o := observe.New(l.client)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
		defer cancel()
		go func() { _ = o.Refresh(ctx, 0) }()
		synctest.Wait()
		l.must(o.Refresh(t.Context(), 0))
	})
}

func TestAConfigIsOneRequestAndKept(t *testing.T) {
	inLab(t, world(2), func(t *testing.T, l *lab) {
		o := observe.New(l.client)
		l.must(o.Refresh(t.Context(), 0))
		asked := l.during(func() { l.must(o.Config(t.Context(), 100)) })
		if fmt.Sprint(asked) != "[/nodes/pve1/qemu/100/pending]" {
			t.Errorf("%v", asked)
		}
		time.Sleep(time.Minute)
		have, err := o.Look(t.Context())
		l.must(err)
		if c := have.Guests[100].Config; c == nil || c.Digest == "" || len(c.Disks) != 1 || len(c.NICs) != 1 {
			t.Errorf("%+v", c)
		}
	})
}

func TestGuestsThatMovedOrWentAreLookedFor(t *testing.T) {
	inLab(t, world(2), func(t *testing.T, l *lab) {
		o := observe.New(l.client)
		l.must(o.Refresh(t.Context(), 0))
		l.sim.Do(func(s *pvesim.State) {
			s.VMs[100].Node = "pve2"
			delete(s.VMs, 101)
		})
		l.must(o.Config(t.Context(), 100))
		l.must(o.Config(t.Context(), 101))
		have := o.Snapshot()
		if g := have.Guests[100]; g == nil || g.Node != "pve2" || g.Config == nil {
			t.Errorf("%+v", g)
		}
		if have.Guests[101] != nil {
			t.Error("a guest that is gone is still known")
		}
	})
}

func TestFilesAreReadOnceFromSharedStoragesAndFromEachNodeElse(t *testing.T) {
	inLab(t, world(1), func(t *testing.T, l *lab) {
		o := observe.New(l.client)
		l.must(o.Refresh(t.Context(), 0))
		asked := l.during(func() { l.must(o.Files(t.Context())) })
		want := "[/nodes/pve1/storage/local/content /nodes/pve1/storage/local/content /nodes/pve1/storage/nfs/content /nodes/pve2/storage/local/content /nodes/pve2/storage/local/content]"
		if fmt.Sprint(asked) != want {
			t.Errorf("%v", asked)
		}
		files := o.Snapshot().Files
		if _, ok := files["local:iso/tiny.iso"]; !ok || len(files) != 2 {
			t.Errorf("%v", files)
		}
	})
}

func TestFilesAreReadAgainWhenANodeIsBack(t *testing.T) {
	inLab(t, world(1), func(t *testing.T, l *lab) {
		o := observe.New(l.client)
		l.must(o.Refresh(t.Context(), 0))
		l.sim.Do(func(s *pvesim.State) { s.Nodes["pve2"].State = pvesim.Unreachable })
		l.must(o.Files(t.Context()))
		if have := o.Snapshot(); have.Files == nil || have.Nodes["pve2"].Online {
			t.Errorf("files %v, pve2 online: %v", have.Files, have.Nodes["pve2"].Online)
		}
		l.sim.Do(func(s *pvesim.State) { s.Nodes["pve2"].State = pvesim.Online })
		l.must(o.Refresh(t.Context(), 0))
		if o.Snapshot().Files != nil {
			t.Error("files of a node that is back are taken for gone")
		}
	})
}

func TestAFileThatAGuestHasIsThereWhateverTheListShows(t *testing.T) {
	inLab(t, world(1), func(t *testing.T, l *lab) {
		const seed = "local:iso/proxplane-100-0123456789ab.iso"
		o := observe.New(l.client)
		l.must(o.Refresh(t.Context(), 0))
		l.must(o.Files(t.Context()))
		l.sim.Do(func(s *pvesim.State) { // another of us has uploaded and attached it since
			m := model.Marker{Owner: model.Owner{Set: "lab", Key: model.Key{Kind: "VirtualMachine", Name: "web"}}, VMID: 100, Seed: seed}
			s.VMs[100].Conf["description"], s.VMs[100].Conf["ide2"] = model.Describe("", m), seed+",media=cdrom"
		})
		l.must(o.Config(t.Context(), 100))
		if files := o.Snapshot().Files; files != nil {
			t.Errorf("they are still believed: %v", files)
		}
		// Once is enough: who may not see the file would list it for ever.
		l.must(o.Files(t.Context()))
		l.must(o.Config(t.Context(), 100))
		if o.Snapshot().Files == nil {
			t.Error("they are doubted again")
		}
	})
}

func TestAFileThatIsGoneTwiceIsGone(t *testing.T) {
	inLab(t, world(1), func(t *testing.T, l *lab) {
		o := observe.New(l.client)
		l.must(o.Refresh(t.Context(), 0))
		l.must(o.Files(t.Context()))
		for _, node := range []string{"pve1", "pve2", "pve1"} { // in the end a list has been faster
			o.FileGone(node, "local:iso/tiny.iso")
		}
		if f, there := o.Snapshot().Files["local:iso/tiny.iso"]; there {
			t.Errorf("it is on %q", f.Node)
		}
	})
}

func TestConfigsThatWereReadTheLongestAgoComeFirst(t *testing.T) {
	inLab(t, world(4), func(t *testing.T, l *lab) {
		o := observe.New(l.client)
		l.must(o.Refresh(t.Context(), 0))
		var order []int
		for range 6 {
			oldest := o.Oldest([]int{103, 100, 101, 102, 777}, 1, 9)
			for _, id := range oldest {
				l.must(o.Config(t.Context(), id))
			}
			order = append(order, oldest...)
			time.Sleep(time.Second)
		}
		if fmt.Sprint(order) != "[100 101 102 103 100 101]" {
			t.Errorf("%v", order)
		}
	})
}

// start starts guests, as we do.
func (l *lab) start(o *observe.Observer, ids ...int) {
	for _, id := range ids {
		upid, err := l.client.VM("pve1", id).Start(l.t.Context(), pve.StartOptions{})
		l.must(err)
		_, err = l.client.Task(upid).Wait(l.t.Context())
		l.must(err)
		o.Powered(id, model.StatusRunning)
	}
}

func TestAgentsAreAskedOneAtATimeAndNotBeforeTheyAreLikelyToAnswer(t *testing.T) {
	inLab(t, world(8), func(t *testing.T, l *lab) {
		o := observe.New(l.client)
		l.must(o.Refresh(t.Context(), 0))
		l.start(o, 100)
		start := time.Now()
		l.must(o.Addresses(t.Context(), 100))
		if took := time.Since(start); took > 13*time.Second {
			t.Errorf("the agent is up after 8 s, and its answer is known after %v", took)
		}
		if g := o.Snapshot().Guests[100]; g.Agent != model.AgentUp || len(g.Addresses) != 1 {
			t.Errorf("%+v", g)
		}
		before := l.sim.RequestCount()
		l.start(o, 101, 102, 103, 104, 105)
		var all sync.WaitGroup
		for id := 101; id <= 105; id++ {
			all.Go(func() { l.must(o.Addresses(t.Context(), id)) })
		}
		all.Wait()
		var asked []pvesim.Request
		for _, r := range l.sim.Requests(before) {
			if strings.Contains(r.URL, "/agent/") {
				asked = append(asked, r)
			}
		}
		slices.SortFunc(asked, func(a, b pvesim.Request) int { return a.Time.Compare(b.Time) })
		for i := 1; i < len(asked); i++ {
			if end := asked[i-1].Time.Add(asked[i-1].Duration.D()); asked[i].Time.Before(end) {
				t.Errorf("%s is asked before %s has answered", asked[i].URL, asked[i-1].URL)
			}
		}
		if len(asked) > 7 {
			t.Errorf("%d questions for 5 answers, though it is known how long guests take", len(asked))
		}
	})
}

func TestAskingEndsWhenTheGuestDoesNotRunOrNobodyWaits(t *testing.T) {
	inLab(t, world(2), func(t *testing.T, l *lab) {
		o := observe.New(l.client)
		l.must(o.Refresh(t.Context(), 0))
		l.must(o.Addresses(t.Context(), 100)) // it is off
		if s := o.Snapshot().Guests[100].Status; s != model.StatusUnknown {
			t.Errorf("status is %s", s)
		}
		l.start(o, 101)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		if err := o.Addresses(ctx, 101); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		time.Sleep(10 * time.Second) // what was asked is answered, to nobody
		asked := l.during(func() { time.Sleep(time.Minute) })
		if len(asked) != 0 {
			t.Errorf("though nobody waits any more, %v are asked for", asked)
		}
	})
}

// Lists of the cluster are a status round late; one of a node isn't, and is asked for
// when many want to know.
func TestManyPowerStatesAreReadWithFewRequests(t *testing.T) {
	inLab(t, world(40), func(t *testing.T, l *lab) {
		o := observe.New(l.client)
		l.must(o.Refresh(t.Context(), 0))
		l.sim.Do(func(s *pvesim.State) {
			for _, vm := range s.VMs {
				vm.Run = nil
			}
		})
		asked := l.during(func() {
			var all sync.WaitGroup
			for id := 100; id < 140; id++ {
				all.Go(func() { l.must(o.Status(t.Context(), id)) })
			}
			all.Wait()
		})
		if len(asked) > 10 {
			t.Errorf("%d requests: %v", len(asked), asked)
		}
		for id := 100; id < 140; id++ {
			if g := o.Snapshot().Guests[id]; g.Status != model.StatusStopped || g.StalePower {
				t.Errorf("VM %d is %s, stale %v", id, g.Status, g.StalePower)
			}
		}
	})
}

func TestAVMIDIsTakenOnlyByGuestsThatAreNotVisible(t *testing.T) {
	inLab(t, world(2), func(t *testing.T, l *lab) {
		o := observe.New(l.client)
		l.must(o.Refresh(t.Context(), 0))
		l.sim.Do(func(s *pvesim.State) {
			s.VMs[300] = &pvesim.VM{ID: 300, Node: "pve1", Conf: pvesim.Conf{"name": "new"}, Pending: pvesim.Conf{}, Snaps: map[string]*pvesim.Snap{}}
		})
		l.must(o.ID(t.Context(), 300)) // it is just younger than the list
		l.must(o.ID(t.Context(), 301))
		have := o.Snapshot()
		if taken, asked := have.IDs[300]; asked && taken || have.Guests[300] == nil {
			t.Errorf("a new guest counts as one that isn't visible")
		}
		if taken, asked := have.IDs[301]; !asked || taken {
			t.Errorf("VMID 301 was asked about: %v, and is taken: %v", asked, taken)
		}
	})
}

// TestErrorsOfURLsHaveNoQuery: it may hold a secret.
func TestErrorsOfURLsHaveNoQuery(t *testing.T) {
	inLab(t, world(1), func(t *testing.T, l *lab) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		web := imagefile.New(http.NewFileTransport(http.Dir(t.TempDir())))
		for _, node := range []string{"", "pve1"} {
			err := observe.New(l.client).Fetching(web).URL(ctx, model.URLKey(node, "https://images.test/a.qcow2?sig=hunter2"))
			if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "https://images.test/a.qcow2") {
				t.Errorf("%q: %v", node, err)
			}
		}
	})
}
