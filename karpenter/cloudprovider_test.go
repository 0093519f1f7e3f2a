package karpenter

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
)

func TestAMachineIsMadeForANodeClaimAndGoesWithIt(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		l.settle()
		if got := strings.Join(l.class().Status.SelectedZones, " "); got != "lab/pve1/9000 lab/pve2/9001" {
			t.Fatalf("zones are %q: %+v", got, l.class().Status.Conditions)
		}
		c := l.create(l.claim("node-1"))
		id := vmidOf(t, c)
		conf := l.config(id)
		for key, want := range map[string]string{"name": "node-1", "cores": "2", "memory": "4096"} {
			if conf[key] != want {
				t.Errorf("%s is %q, want %q", key, conf[key], want)
			}
		}
		if !strings.Contains(conf["tags"], "nodes") {
			t.Errorf("tags are %q", conf["tags"])
		}
		if c.Labels[corev1.LabelInstanceTypeStable] != "c1.2VCPU-4GB" || c.Labels[corev1.LabelTopologyRegion] != "lab" {
			t.Errorf("labels are %v", c.Labels)
		}
		list, err := l.List(t.Context())
		if err != nil || len(list) != 1 || list[0].Status.ProviderID != c.Status.ProviderID {
			t.Errorf("listed are %v, %v", list, err)
		}
		if got, err := l.Get(t.Context(), c.Status.ProviderID); err != nil || got.Status.ProviderID != c.Status.ProviderID {
			t.Errorf("got %v, %v", got, err)
		}
		l.gone(c)
		if l.guests() != 0 {
			t.Error("the machine is still there")
		}
		if _, err := l.Get(t.Context(), c.Status.ProviderID); !cloudprovider.IsNodeClaimNotFoundError(err) {
			t.Errorf("got %v", err)
		}
	})
}

// gone deletes until the machine is gone, as Karpenter does.
func (l *lab) gone(c *v1.NodeClaim) {
	l.t.Helper()
	for range 100 {
		err := l.Delete(l.t.Context(), c)
		if cloudprovider.IsNodeClaimNotFoundError(err) {
			return
		}
		if err != nil {
			l.t.Fatal(err)
		}
		time.Sleep(5 * time.Second) // virtual
	}
	l.t.Fatal("the machine never goes")
}

func TestTheSameNodeClaimGetsTheSameMachine(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		l.settle()
		c := l.claim("node-1")
		first, err := l.Create(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		// Another process, which knows nothing.
		l.regions.all["lab"].Site.Forget(l.ownerOf(c))
		second, err := l.Create(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if first.Status.ProviderID != second.Status.ProviderID || l.guests() != 1 {
			t.Errorf("made %s, then %s; there are %d", first.Status.ProviderID, second.Status.ProviderID, l.guests())
		}
	})
}

func TestNodesAreSpreadAndOneWithoutMemoryIsntChosen(t *testing.T) {
	w := labWorld()
	w.Nodes[1].Memory = 6 << 30
	inLab(t, w, talos(), func(t *testing.T, l *lab) {
		l.settle()
		zones := map[string]int{}
		for _, name := range []string{"a", "b", "c"} {
			zones[l.create(l.claim(name)).Labels[corev1.LabelTopologyZone]]++
		}
		if zones["pve1"] != 2 || zones["pve2"] != 1 {
			t.Errorf("nodes are on %v", zones)
		}
		_, err := l.Create(t.Context(), l.claim("d", zoneIs("pve2")))
		if !cloudprovider.IsInsufficientCapacityError(err) || !strings.Contains(err.Error(), "lab/pve2 for c1.2VCPU-4GB") || !strings.Contains(err.Error(), "of memory free") {
			t.Errorf("got %v", err)
		}
		types, err := l.instanceTypes(t.Context(), l.class())
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range types {
			for _, o := range it.Offerings {
				if o.Available && o.Zone() == "pve2" && it.Capacity.Memory().Value() > 2<<30 {
					t.Errorf("%s is promised on pve2", it.Name)
				}
			}
		}
	})
}

func TestAForeignMachineIsNeitherListedNorDeleted(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		l.settle()
		c := l.create(l.claim("node-1"))
		l.initialized(c)
		id := vmidOf(t, c)
		l.sim.Do(func(s *pvesim.State) { // as somebody's own VM has it
			for key, value := range map[string]string{"description": "mine", "tags": "mine", "name": "mine", "smbios1": "uuid=e536baad-cf78-4543-9034-60295eed2b22"} {
				s.VMs[id].Conf[key] = value
			}
		})
		time.Sleep(time.Minute)
		l.regions.all["lab"].Site.Look()
		time.Sleep(time.Minute)
		if err := l.Delete(t.Context(), c); !cloudprovider.IsNodeClaimNotFoundError(err) {
			t.Errorf("got %v", err)
		}
		if l.config(id) == nil || l.guests() != 1 {
			t.Errorf("a machine that isn't ours was destroyed, or another one was made: there are %d", l.guests())
		}
	})
}

func TestAMachineWhoseNodeClaimIsLostIsCollected(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		l.settle()
		c, kept := l.create(l.claim("node-1")), l.create(l.claim("node-2"))
		if err := l.client.Delete(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		k := &collector{direct: l.client, provider: l.CloudProvider, log: l.regions.log, missing: map[model.Owner]string{}}
		for range 2 {
			if l.guests() != 2 {
				t.Fatal("it went at once")
			}
			if err := k.round(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.regions.all["lab"].Site.Await(t.Context(), l.ownerOf(c), site.Gone); err != nil {
			t.Fatal(err)
		}
		if l.config(vmidOf(t, kept)) == nil || l.guests() != 1 {
			t.Error("the wrong one went")
		}
	})
}

// A machine that has no NodeClaim in one round is looked at again before the next one is due.
func TestALostMachineIsLookedAtAgainSoon(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		l.settle()
		c := l.create(l.claim("node-1"))
		k := &collector{direct: l.client, provider: l.CloudProvider, log: l.regions.log, every: collectEvery, missing: map[model.Owner]string{}}
		ctx, end := context.WithCancel(t.Context())
		var rounds sync.WaitGroup
		rounds.Go(func() { _ = k.Start(ctx) })
		time.Sleep(time.Second) // after the first round
		if err := l.client.Delete(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		const removal = 10 * time.Second
		time.Sleep(collectEvery + collectAgain + removal)
		if n := l.guests(); n != 0 {
			t.Errorf("%d machines are left", n)
		}
		end()
		rounds.Wait()
	})
}

func TestSeedsHoldATokenAndGoOnceTheNodeIsInitialized(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		l.settle()
		c := l.create(l.claim("node-1"))
		id := vmidOf(t, c)
		if drive := l.config(id)["ide2"]; !strings.Contains(drive, "proxplane-") {
			t.Fatalf("ide2 is %q", drive)
		}
		var secrets corev1.SecretList
		if err := l.client.List(t.Context(), &secrets); err != nil {
			t.Fatal(err)
		}
		if len(secrets.Items) != 3 {
			t.Errorf("there are %d Secrets, want two and a token", len(secrets.Items))
		}
		l.initialized(c)
		time.Sleep(2 * time.Minute)
		if drive := l.config(id)["ide2"]; strings.Contains(drive, "proxplane-") {
			t.Errorf("ide2 is still %q", drive)
		}
		if conf := l.config(id); conf["memory"] != "4096" || conf["cores"] != "2" {
			t.Errorf("it has changed: %v", conf)
		}
		if reason, err := l.IsDrifted(t.Context(), c); err != nil || reason != "" {
			t.Errorf("drifted: %q, %v", reason, err)
		}
	})
}

func request(name string) (r reconcile.Request) {
	r.NamespacedName = types.NamespacedName{Name: name}
	return r
}
