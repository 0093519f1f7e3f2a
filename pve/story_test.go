package pve_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// inLab runs a test against a simulated cluster in virtual time.
func inLab(t *testing.T, release string, test func(t *testing.T, c *pve.Client, sim *pvesim.Sim)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		world := pvesim.DefaultWorld()
		world.Release = release
		sim, err := pvesim.New(world)
		if err != nil {
			t.Fatal(err)
		}
		defer sim.Close()
		transport, closeTransport := sim.Transport()
		defer closeTransport()
		c, err := pve.New(pve.Config{
			Endpoints: []string{"http://pve1"}, TLS: pve.TLS{Insecure: true}, RoundTripper: transport,
			Credentials: pve.Password("root@pam", "proxplane"),
		})
		if err != nil {
			t.Fatal(err)
		}
		test(t, c, sim)
	})
}

// must waits for the task of a call.
func must(t *testing.T, c *pve.Client) func(pve.UPID, error) {
	return func(upid pve.UPID, err error) {
		t.Helper()
		if err == nil && !upid.IsZero() {
			_, err = c.Task(upid).Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheLifeOfAVM(t *testing.T) {
	for _, release := range []string{"8.4", "9.2"} {
		inLab(t, release, func(t *testing.T, c *pve.Client, _ *pvesim.Sim) { liveAndDie(t, c, release) })
	}
}

func liveAndDie(t *testing.T, c *pve.Client, release string) {
	ctx := t.Context()
	done := must(t, c)
	if v, err := c.Version(ctx); err != nil || v.Release != release {
		t.Fatalf("version %v, %v", v, err)
	}
	vm := c.VM("pve1", 101)
	if _, err := vm.Config(ctx, pve.ConfigOptions{}); !errors.Is(err, pve.ErrNotFound) {
		t.Errorf("there is no VM yet: %v", err)
	}
	done(c.VM("pve1", 9000).Clone(ctx, pve.CloneOptions{NewID: 101, Name: "web-1", Full: new(true), Storage: "local-lvm"}))
	if err := c.Cluster().CheckID(ctx, 101); !errors.Is(err, pve.ErrExists) {
		t.Errorf("the id is taken: %v", err)
	}
	if _, err := c.VM("pve1", 9000).Clone(ctx, pve.CloneOptions{NewID: 101}); !errors.Is(err, pve.ErrExists) {
		t.Errorf("a second clone: %v", err)
	}

	config, err := vm.Config(ctx, pve.ConfigOptions{})
	if err != nil || config.Settings["name"] != "web-1" {
		t.Fatalf("config %v, %v", config, err)
	}
	change := pve.ConfigChange{
		Set:    pve.Settings{"memory": "1024", "description": "a&b;c=d\n50% ä+", "cipassword": "hunter22", "scsi1": "local-lvm:4"},
		Digest: config.Digest,
	}
	if err := vm.SetConfig(ctx, change); err != nil {
		t.Fatal(err)
	}
	if err := vm.SetConfig(ctx, change); !errors.Is(err, pve.ErrModified) {
		t.Errorf("with an old digest: %v", err)
	}
	if config, err = vm.Config(ctx, pve.ConfigOptions{}); err != nil || strings.TrimSpace(config.Settings["description"]) != "a&b;c=d\n50% ä+" {
		t.Errorf("the description came back as %q, %v", config.Settings["description"], err)
	}
	done(vm.Resize(ctx, pve.ResizeOptions{Disk: "scsi1", Size: "+1G"}))
	done(vm.Snapshot(ctx, pve.SnapshotOptions{Name: "before", Description: "first"}))
	if all, parent, err := vm.Snapshots(ctx); err != nil || len(all) != 1 || parent != "before" {
		t.Errorf("snapshots %v, parent %q, %v", all, parent, err)
	}
	if err := vm.Agent().Ping(ctx); !errors.Is(err, pve.ErrNotRunning) {
		t.Errorf("agent of a stopped VM: %v", err)
	}
	done(vm.Start(ctx, pve.StartOptions{}))
	if err := vm.Agent().Ping(ctx); !errors.Is(err, pve.ErrAgentNotRunning) {
		t.Errorf("agent of a VM that boots: %v", err)
	}
	time.Sleep(time.Minute)
	interfaces, err := vm.Agent().Interfaces(ctx)
	if err != nil || !slices.ContainsFunc(interfaces, func(i pve.GuestInterface) bool { return len(i.Addresses) > 0 && i.Name != "lo" }) {
		t.Errorf("interfaces %+v, %v", interfaces, err)
	}
	upid, err := vm.Start(ctx, pve.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Task(upid).Wait(ctx); !errors.Is(err, pve.ErrRunning) || !errors.Is(err, pve.ErrTaskFailed) {
		t.Errorf("a second start: %v", err)
	}
	if _, err := vm.Destroy(ctx, pve.DestroyOptions{}); !errors.Is(err, pve.ErrRunning) {
		t.Errorf("destroy of a running VM: %v", err)
	}
	done(vm.Stop(ctx, pve.StopOptions{}))
	done(vm.Rollback(ctx, "before", false))
	done(vm.Destroy(ctx, pve.DestroyOptions{Purge: true, UnreferencedDisks: new(true)}))
	if _, err := vm.Status(ctx); !errors.Is(err, pve.ErrNotFound) {
		t.Errorf("it is gone: %v", err)
	}
}

func TestFilesOnASimulatedStorage(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, c *pve.Client, _ *pvesim.Sim) {
		ctx := t.Context()
		done := must(t, c)
		local := c.Storage("pve1", "local")
		body := strings.Repeat("\x00iso", 1000)
		done(local.Upload(ctx, pve.Upload{Content: "iso", Filename: "seed.iso", Body: strings.NewReader(body)}))
		list, err := local.Content(ctx, pve.ContentFilter{Content: "iso"})
		if err != nil || len(list) != 1 || list[0].ID != "local:iso/seed.iso" || list[0].Size != int64(len(body)) {
			t.Errorf("content %+v, %v", list, err)
		}
		upid, err := local.Upload(ctx, pve.Upload{
			Content: "iso", Filename: "bad.iso", Body: strings.NewReader(body), Algorithm: "sha256", Checksum: strings.Repeat("0", 64),
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Task(upid).Wait(ctx); !errors.Is(err, pve.ErrChecksum) {
			t.Errorf("a wrong checksum: %v", err)
		}
		done(local.DeleteVolume(ctx, "local:iso/seed.iso"))
		if _, err := local.Volume(ctx, "local:iso/seed.iso"); !errors.Is(err, pve.ErrNotFound) {
			t.Errorf("it is gone: %v", err)
		}
	})
}

func TestWhatIsLostOnTheWayToASimulatedCluster(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, c *pve.Client, sim *pvesim.Sim) {
		ctx := t.Context()
		fault := func(f pvesim.Fault) {
			if _, err := sim.AddFault(f); err != nil {
				t.Fatal(err)
			}
		}
		for i, drop := range []string{"before", "after"} {
			fault(pvesim.Fault{Method: "POST", Path: "/nodes/*/qemu/*/clone", Drop: drop, Times: 1})
			id := 200 + i
			_, err := c.VM("pve1", 9000).Clone(ctx, pve.CloneOptions{NewID: id, Name: fmt.Sprint("vm-", id)})
			if !errors.Is(err, pve.ErrUnknownOutcome) {
				t.Errorf("dropped %s: %v", drop, err)
			}
			time.Sleep(time.Minute)
			_, err = c.VM("pve1", id).Config(ctx, pve.ConfigOptions{})
			if exists := err == nil; exists != (drop == "after") {
				t.Errorf("dropped %s: VM %d exists: %v", drop, id, exists)
			}
		}
		fault(pvesim.Fault{Method: "GET", Path: "/version", Drop: "before", Times: 2})
		if _, err := c.Version(ctx); err != nil {
			t.Errorf("a read: %v", err)
		}
		fault(pvesim.Fault{Method: "GET", Path: "/nodes/pve2/status", Status: 595, Reason: "No route to host", Times: 20})
		if _, err := c.Node("pve2").Status(ctx); !errors.Is(err, pve.ErrNodeUnreachable) {
			t.Errorf("a node that is away: %v", err)
		}
	})
}

func TestManyClonesOfASimulatedTemplate(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, c *pve.Client, sim *pvesim.Sim) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		watcher := c.Watch(ctx, pve.WatchOptions{})
		before := sim.RequestCount()
		var results []<-chan pve.TaskResult
		const n = 40
		for i := range n {
			upid, err := c.VM("pve1", 9000).Clone(ctx, pve.CloneOptions{NewID: 300 + i, Name: fmt.Sprint("web-", i)})
			if err != nil {
				t.Fatal(err)
			}
			results = append(results, watcher.Follow(upid))
		}
		for i, result := range results {
			if r := <-result; r.Err != nil {
				t.Errorf("clone %d: %v", i, r.Err)
			}
		}
		if requests := sim.RequestCount() - before; requests > 2*n {
			t.Errorf("%d requests for %d clones", requests, n)
		}
	})
}
