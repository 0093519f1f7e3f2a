package karpenter

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/proxplane/proxplane/kube/join"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/test/kit/killed"
	"github.com/proxplane/proxplane/test/kit/thorough"
)

// process starts a process that is killed at one of its requests, and returns what ends with it; 0: it isn't killed.
func (l *lab) process(at int, arrives bool) (ctx context.Context, end func()) {
	process, ctx := killed.At(l.t.Context(), at, arrives)
	tr, stop := l.sim.Transport()
	regions := newRegions(new(site.Sites), "k8s-lab", process.Wire(tr), slog.New(slog.DiscardHandler))
	regions.update([]declared{declaredAs("lab")})
	c := l.client
	p := newCloudProvider(c, c, regions, "k8s-lab", nil, 0, &join.Tokens{Client: c, Door: Door, Signs: true})
	p.boot.cluster = l.boot.cluster
	l.CloudProvider = p
	return ctx, func() {
		process.Kill()
		regions.close()
		stop()
	}
}

// launch does what Karpenter does with some NodeClaims, until their machines run or the process is killed.
func (l *lab) launch(ctx context.Context, names ...string) {
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() {
			for ctx.Err() == nil && !l.oneStep(ctx, name) {
				select {
				case <-ctx.Done():
				case <-time.After(time.Second):
				}
			}
		})
	}
	all.Wait()
}

// oneStep does the next thing for a NodeClaim, and reports whether there is nothing more to do.
func (l *lab) oneStep(ctx context.Context, name string) (over bool) {
	var c v1.NodeClaim
	if err := l.client.Get(ctx, request(name).NamespacedName, &c); err != nil {
		return client.IgnoreNotFound(err) == nil
	}
	if c.Status.ProviderID != "" {
		k := &keeper{client: l.client, provider: l.CloudProvider}
		_, err := k.Reconcile(ctx, request(name))
		return err == nil && l.runs(vmidOf(l.t, &c))
	}
	made, err := l.Create(ctx, &c)
	switch {
	case ctx.Err() != nil: // it is dead, and nobody knows what it was told
	case cloudprovider.IsInsufficientCapacityError(err):
		l.t.Errorf("%s: %v", name, err)
		return true
	case err == nil:
		l.launched(&c, made)
	}
	return false
}

func (l *lab) runs(vmid int) (runs bool) {
	l.sim.Do(func(s *pvesim.State) { runs = s.VMs[vmid] != nil && s.VMs[vmid].Run != nil })
	return runs
}

// oneEach holds that each NodeClaim has one machine, and nobody else has one.
func (l *lab) oneEach(names ...string) {
	l.t.Helper()
	owners := map[string][]int{}
	l.sim.Do(func(s *pvesim.State) {
		for id, vm := range s.VMs {
			if vm.Conf["template"] != "1" {
				owners[vm.Name()] = append(owners[vm.Name()], id)
			}
		}
	})
	for _, name := range names {
		var c v1.NodeClaim
		if err := l.client.Get(l.t.Context(), request(name).NamespacedName, &c); err != nil {
			l.t.Fatal(err)
		}
		if have := owners[name]; len(have) != 1 || have[0] != vmidOf(l.t, &c) {
			l.t.Errorf("%s is %s, and has the VMs %v", name, c.Status.ProviderID, have)
		}
		delete(owners, name)
	}
	if len(owners) > 0 {
		l.t.Errorf("nobody wants %v", owners)
	}
	seeds := 0
	l.sim.Do(func(s *pvesim.State) {
		for _, space := range s.Spaces {
			for volume := range space.Volumes {
				if strings.Contains(volume, "iso/") {
					seeds++
				}
			}
		}
	})
	if seeds != len(names) {
		l.t.Errorf("there are %d first-boot images for %d machines", seeds, len(names))
	}
}

// launchedByADeadProcess has a process that launches NodeClaims killed at one of its requests, at each stride-th of them in turn, and says what the next
// process does.
func launchedByADeadProcess(t *testing.T, names []string, stride int, next func(ctx context.Context, l *lab)) {
	if thorough.All() {
		stride = 1
	}
	for _, arrives := range []bool{false, true} {
		for at, over := 1, false; !over; at += stride {
			t.Run(fmt.Sprintf("%d %v", at, arrives), func(t *testing.T) {
				inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
					l.settle()
					for _, name := range names {
						l.claim(name)
					}
					ctx, end := l.process(at, arrives)
					l.launch(ctx, names...)
					over = ctx.Err() == nil
					end()
					ctx, end = l.process(0, false)
					defer end()
					next(ctx, l)
				})
			})
		}
	}
}

// A process that is killed at any of its requests, and one that goes on, make one machine a NodeClaim.
func TestAKilledProcessLeavesNoSecondMachine(t *testing.T) {
	names := []string{"node-1", "node-2"}
	launchedByADeadProcess(t, names, 7, func(ctx context.Context, l *lab) {
		l.launch(ctx, names...)
		l.collects(ctx)
		l.oneEach(names...)
	})
}

// A machine that a killed process has begun is found also where the class has no zones any more: there is no second one elsewhere.
func TestAMachineInARegionThatTheClassHasLeftIsFound(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		far := l.addRegion("far", labWorld())
		l.settle()
		c := l.claim("node-1")
		made, err := l.Create(t.Context(), c) // and the process is killed before anybody hears of it
		if err != nil {
			t.Fatal(err)
		}
		begun, _, err := ParseProviderID(made.Status.ProviderID)
		if err != nil {
			t.Fatal(err)
		}
		other := map[string]string{"lab": "far", "far": "lab"}[begun]
		time.Sleep(time.Minute) // it runs

		left := l.class()
		left.Spec.Region = other
		if err := l.client.Update(t.Context(), left); err != nil {
			t.Fatal(err)
		}
		left.Status.SelectedZones = within(left.Status.SelectedZones, other)
		if err := l.client.Status().Update(t.Context(), left); err != nil {
			t.Fatal(err)
		}
		again, err := l.Create(t.Context(), c)
		if err != nil || again.Status.ProviderID != made.Status.ProviderID {
			t.Errorf("it was %s, and is %+v, %v", made.Status.ProviderID, again, err)
		}
		l.launched(c, made)
		second := 0
		for _, s := range []*pvesim.Sim{l.sim, far} {
			s.Do(func(s *pvesim.State) { second += len(s.VMs) - 2 })
		}
		if second != 1 {
			t.Errorf("there are %d machines", second)
		}
	})
}

// Should there be a second machine of a NodeClaim in another region all the same, it goes, and that of the NodeClaim stays.
func TestASecondMachineInAnotherRegionIsCollected(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		far := l.addRegion("far", labWorld())
		l.settle()
		c := l.create(l.claim("node-1", regionIs("lab")))
		twin := c.DeepCopy()
		twin.Spec.Requirements = []v1.NodeSelectorRequirementWithMinValues{regionIs("far")}
		class := l.class()
		at, err := l.made(t.Context(), class, place{zone: zone{region: "far", node: "pve1"}, size: Grid()[0].in(class)})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.put(t.Context(), l.regions.all["far"], twin, class, at, Grid()[0].in(class)); err != nil {
			t.Fatal(err)
		}
		if _, err := l.regions.all["far"].Site.Await(t.Context(), l.ownerOf(c), site.Running); err != nil {
			t.Fatal(err)
		}
		k := &collector{direct: l.client, provider: l.CloudProvider, log: l.regions.log, missing: map[model.Owner]string{}}
		for range 4 {
			if err := k.round(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		far.Do(func(s *pvesim.State) {
			if len(s.VMs) != 2 {
				t.Errorf("there are %d VMs in the other region", len(s.VMs))
			}
		})
		if !l.runs(vmidOf(t, c)) {
			t.Error("the machine of the NodeClaim has gone")
		}
	})
}

// collects does what the collector does within some minutes.
func (l *lab) collects(ctx context.Context) {
	l.t.Helper()
	c := &collector{direct: l.client, provider: l.CloudProvider, log: l.regions.log, missing: map[model.Owner]string{}}
	for range 4 {
		if err := c.round(ctx); err != nil {
			l.t.Fatal(err)
		}
		time.Sleep(time.Minute)
	}
}

// ends does what Karpenter does with NodeClaims that are deleted: machines that were launched are deleted until they are gone. Of one that wasn't launched yet
// nobody is told.
func (l *lab) ends(ctx context.Context, names ...string) {
	l.t.Helper()
	for _, name := range names {
		var c v1.NodeClaim
		if err := l.client.Get(ctx, request(name).NamespacedName, &c); err != nil {
			l.t.Fatal(err)
		}
		gone := c.Status.ProviderID == ""
		for range 60 {
			if gone || ctx.Err() != nil {
				break
			}
			err := l.Delete(ctx, &c)
			if gone = cloudprovider.IsNodeClaimNotFoundError(err); gone {
				break
			}
			if err != nil && ctx.Err() == nil {
				l.t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
		}
		if ctx.Err() != nil {
			return
		}
		if !gone {
			l.t.Errorf("the machine of %s doesn't go", name)
		}
		if err := l.client.Delete(l.t.Context(), &c); err != nil {
			l.t.Fatal(err)
		}
	}
}

// A process that is killed at any of its requests has its NodeClaims deleted before the next one has looked at them: nothing is left of their machines, whether
// Karpenter knew of them or not.
func TestNothingIsLeftOfNodeClaimsThatGoAfterAKill(t *testing.T) {
	names := []string{"default-7xk2p", "default-9bqzt"}
	launchedByADeadProcess(t, names, 5, func(ctx context.Context, l *lab) {
		l.ends(ctx, names...)
		l.collects(ctx)
		l.oneEach()
	})
}

// A process that is killed at any of its requests while it deletes machines leaves nothing that the next one doesn't delete.
func TestNothingIsLeftOfMachinesWhoseDeletionIsInterrupted(t *testing.T) {
	stride := 4
	if thorough.All() {
		stride = 1
	}
	for _, arrives := range []bool{false, true} {
		for at, over := 1, false; !over; at += stride {
			t.Run(fmt.Sprintf("%d %v", at, arrives), func(t *testing.T) {
				inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
					l.settle()
					_, end := l.process(0, false)
					l.create(l.claim("default-7xk2p"))
					end()
					ctx, end := l.process(at, arrives)
					l.ends(ctx, "default-7xk2p")
					over = ctx.Err() == nil
					end()
					ctx, end = l.process(0, false)
					defer end()
					if !over {
						l.ends(ctx, "default-7xk2p")
					}
					l.collects(ctx)
					l.oneEach()
				})
			})
		}
	}
}
