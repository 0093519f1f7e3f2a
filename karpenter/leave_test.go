package karpenter

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/pvesim"
)

// ours counts the templates that proxplane has made in a Proxmox.
func ours(sim *pvesim.Sim) (n int) {
	sim.Do(func(s *pvesim.State) {
		for _, vm := range s.VMs {
			if vm.Conf["template"] == "1" && strings.Contains(vm.Conf["tags"], "proxplane") {
				n++
			}
		}
	})
	return n
}

// A template whose region is changed goes from the former one, also if that was done while no process ran.
func TestATemplateGoesFromARegionThatItIsntForAnyMore(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		inLab(t, labWorld(), managed(t, strings.Replace(page, "spec:\n", "spec:\n  region: lab\n", 1)), func(t *testing.T, l *lab) {
			l.settle()
			far := l.addRegion("far", labWorld())
			if ours(l.sim) != 2 || ours(far) != 0 {
				t.Fatalf("there are %d and %d templates", ours(l.sim), ours(far))
			}
			if restarted {
				l.regions.mu.Lock()
				was := l.regions.all["lab"]
				delete(l.regions.all, "lab")
				l.regions.mu.Unlock()
				was.Site.Close()
				tr, stop := l.sim.Transport()
				l.ending = append(l.ending, stop)
				l.regions.proxmox = tr
				l.regions.update([]declared{declaredAs("lab"), declaredAs("far")})
			}
			l.changeTemplate(func(s *api.TemplateSpec) { s.Region = "far" })
			l.looked()
			if ours(l.sim) != 0 || ours(far) != 2 {
				t.Errorf("restarted %v: there are %d and %d templates: %+v", restarted, ours(l.sim), ours(far), l.template().Status)
			}
			if is := l.template(); !is.StatusConditions().Get("Ready").IsTrue() || len(is.Status.Zones) != 2 || !strings.HasPrefix(is.Status.Zones[0], "far/") {
				t.Errorf("it is %+v", is.Status)
			}
			if c := l.create(l.claim("node-1")); c.Labels["topology.kubernetes.io/region"] != "far" {
				t.Errorf("it is in %v", c.Labels)
			}
		})
	}
}

// A template isn't forgotten while its region can't be used: nobody would remove it from there.
func TestADeletedTemplateWaitsForItsRegion(t *testing.T) {
	inLab(t, labWorld(), managed(t, page), func(t *testing.T, l *lab) {
		l.settle()
		if err := l.client.Delete(t.Context(), l.template()); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			list []declared
			want string
		}{
			{nil, "region lab isn't declared any more"},
			{[]declared{{name: "lab", by: "Provider lab", wrong: "there is no Secret login"}}, "region lab can't be used: there is no Secret login"},
		} {
			l.regions.update(c.list)
			k := &templates{client: l.client, regions: l.regions, set: l.set}
			if _, err := k.Reconcile(t.Context(), request("default")); err != nil {
				t.Fatal(err)
			}
			if text := l.template().StatusConditions().Get("Ready").Message; !strings.Contains(text, c.want) {
				t.Errorf("it says %q, want %q", text, c.want)
			}
			if ours(l.sim) != 2 {
				t.Fatalf("there are %d templates", ours(l.sim))
			}
		}
		l.regions.update([]declared{declaredAs("lab")})
		k := &templates{client: l.client, regions: l.regions, set: l.set}
		for range 10 {
			if _, err := k.Reconcile(t.Context(), request("default")); err != nil {
				t.Fatal(err)
			}
		}
		var gone api.ProxmoxTemplate
		if err := l.client.Get(t.Context(), request("default").NamespacedName, &gone); !apierrors.IsNotFound(err) || ours(l.sim) != 0 {
			t.Errorf("it is there (%v), with %d templates: %+v", err, ours(l.sim), gone.Status)
		}
	})
}

// A process that has just started and hasn't read its regions decides nothing: what was ready is ready, and no event says otherwise.
func TestNothingIsDecidedBeforeTheRegionsAreRead(t *testing.T) {
	for name, objects := range map[string][]client.Object{"ProxmoxTemplate": managed(t, page), "ProxmoxUnmanagedTemplate": talos()} {
		t.Run(name, func(t *testing.T) {
			inLab(t, labWorld(), objects, func(t *testing.T, l *lab) {
				l.settle()
				before := l.class().Status
				l.regions.mu.Lock()
				all := l.regions.all
				l.regions.all, l.regions.read = map[string]*Region{}, false
				l.regions.mu.Unlock()
				l.reconciled()
				l.regions.mu.Lock()
				l.regions.all, l.regions.read = all, true
				l.regions.mu.Unlock()
				if now := l.class().Status; len(now.SelectedZones) != len(before.SelectedZones) || !l.class().StatusConditions().Get("Ready").IsTrue() {
					t.Errorf("the class is %+v", now)
				}
			})
		})
	}
}
