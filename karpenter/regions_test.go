package karpenter

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	infra "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
)

func regionIs(name string) v1.NodeSelectorRequirementWithMinValues {
	return v1.NodeSelectorRequirementWithMinValues{Key: corev1.LabelTopologyRegion, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}
}

func (l *lab) listed() map[string]bool {
	l.t.Helper()
	list, err := l.List(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	all := map[string]bool{}
	for _, c := range list {
		all[c.Status.ProviderID] = c.DeletionTimestamp == nil
	}
	return all
}

// Karpenter takes for gone what isn't listed, so machines of a region that can't be asked are listed; those of others are
// collected as ever.
func TestARegionThatCantBeAskedHoldsUpNoOtherOne(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		far := l.addRegion("far", labWorld())
		l.settle()
		here, lost, there, away := l.create(l.claim("here", regionIs("lab"))), l.create(l.claim("lost", regionIs("lab"))), l.create(l.claim("there", regionIs("far"))), l.create(l.claim("away", regionIs("far")))
		l.initialized(lost) // else it would be made again
		if _, err := far.AddFault(pvesim.Fault{Path: "/**", Status: 503}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // what was read before is too old then
		id := vmidOf(t, lost)
		l.sim.Do(func(s *pvesim.State) { delete(s.VMs, id) })
		time.Sleep(time.Minute)
		all := l.listed()
		if !all[here.Status.ProviderID] || all[lost.Status.ProviderID] || !all[there.Status.ProviderID] || !all[away.Status.ProviderID] {
			t.Errorf("listed are %v", all)
		}

		// Nodes are made where Proxmox answers.
		l.settle()
		if ready := l.class().StatusConditions().Get("Ready"); !ready.IsTrue() {
			t.Errorf("the class isn't ready: %+v", ready)
		}

		if c := l.create(l.claim("fresh")); c.Labels[corev1.LabelTopologyRegion] != "lab" {
			t.Errorf("it is in %s", c.Labels[corev1.LabelTopologyRegion])
		}
		// One that may have been begun there isn't made a second time.
		begun := l.claim("begun")
		if err := l.remember(t.Context(), begun, made{Region: "far", Zone: "pve1"}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Create(t.Context(), begun); err == nil || !strings.Contains(err.Error(), "region far") {
			t.Errorf("got %v", err)
		}
		// One that is older than this process and was begun nowhere is made where Proxmox answers.
		early := l.claim("early")
		early.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
		if c := l.create(early); c.Labels[corev1.LabelTopologyRegion] != "lab" {
			t.Errorf("it is in %s", c.Labels[corev1.LabelTopologyRegion])
		}

		// Machines whose NodeClaims are lost: that of the region that answers goes, the other one when its region answers again.
		for _, c := range []*v1.NodeClaim{here, there} {
			if err := l.client.Delete(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		k := &collector{direct: l.client, provider: l.CloudProvider, log: l.regions.log, missing: map[model.Owner]string{}}
		for range 3 {
			if err := k.round(t.Context()); err == nil || !strings.Contains(err.Error(), "region far") {
				t.Errorf("got %v", err)
			}
			time.Sleep(time.Minute)
		}
		if _, err := l.regions.all["lab"].Site.Await(t.Context(), l.ownerOf(here), site.Gone); err != nil {
			t.Fatal(err)
		}
		far.RemoveFault(0)
		for range 3 {
			time.Sleep(time.Minute)
			if err := k.round(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.regions.all["far"].Site.Await(t.Context(), l.ownerOf(there), site.Gone); err != nil {
			t.Fatal(err)
		}
		far.Do(func(s *pvesim.State) {
			if s.VMs[vmidOf(t, away)] == nil {
				t.Error("the machine of a NodeClaim that is there has gone")
			}
		})
	})
}

// Whoever deletes a Provider whose machines are there must not lose their NodeClaims by it.
func TestMachinesOfARegionThatNobodyDeclaresAreListed(t *testing.T) {
	inLab(t, labWorld(), talos(), func(t *testing.T, l *lab) {
		l.addRegion("far", labWorld())
		l.settle()
		c := l.create(l.claim("there", regionIs("far")))
		l.regions.update([]declared{declaredAs("lab")})
		if all := l.listed(); !all[c.Status.ProviderID] {
			t.Errorf("listed are %v", all)
		}
		err := l.Delete(t.Context(), c)
		if err == nil || strings.Count(err.Error(), "karpenter.proxmox.sinextra.dev/region") > 1 || !strings.Contains(err.Error(), "/region=far; known are lab") {
			t.Errorf("got %v", err)
		}
	})
}

// A Secret with regions that is missing or wrong holds up no Provider, is said where a region is looked for, and takes away no region that it had.
func TestASecretOfRegionsThatCantBeReadHoldsUpNoProvider(t *testing.T) {
	world, err := pvesim.New(labWorld())
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	proxmox, stop := world.Transport()
	defer stop()
	login := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "login"}, Data: map[string][]byte{"username": []byte("root@pam"), "password": []byte("secret")}}
	provider := &infra.Provider{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "lab"}, Spec: infra.ProviderSpec{
		Type: "proxmox", Endpoint: "https://pve1:8006", CredentialSecretRef: &infra.Ref{Name: "login"},
	}}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(login, provider).Build()
	regions := newRegions(new(site.Sites), "k8s-lab", proxmox, slog.New(slog.DiscardHandler))
	defer regions.close()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "regions"}}
	k := &regionKeeper{client: c, direct: c, regions: regions, set: "k8s-lab", secret: clustersSecret{NamespacedName: types.NamespacedName{Namespace: "kube-system", Name: "regions"}, key: "cfg", vmids: model.Range{First: 20000, Last: 29999}}}
	said := func(want string) {
		t.Helper()
		if err := k.read(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it says %v, and not %s", err, want)
		}
		if _, err := regions.Get("lab"); err != nil {
			t.Error(err)
		}
		if _, err := regions.Get("west"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("of a region it says %v, and not %s", err, want)
		}
		if !regions.troubled() {
			t.Error("it isn't read again soon")
		}
	}
	said("read the Secret kube-system/regions with the regions")
	secret.Data = map[string][]byte{"config.yaml": []byte("clusters: []")}
	if err := c.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	said("the Secret kube-system/regions has no key cfg")
	secret.Data = map[string][]byte{"cfg": []byte("clusters: [{url: https://west:8006, username: root@pam, password: secret, region: east}]")}
	if err := c.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if err := k.read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := regions.Get("east"); err != nil || r.Cluster.Range.First != 20000 || regions.troubled() {
		t.Errorf("it is %+v, %v", r, err)
	}
	secret.Data = map[string][]byte{"cfg": []byte("clusters: {")}
	if err := c.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	said("Secret kube-system/regions: want clusters, each with url")
	if _, err := regions.Get("east"); err != nil {
		t.Errorf("what it had is gone: %v", err)
	}
}

// A region has the name of its Provider, or that of its label; a name that two Providers have is said, and holds up no other one.
func TestAProviderIsARegionByItsNameOrLabel(t *testing.T) {
	world, err := pvesim.New(labWorld())
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	proxmox, stop := world.Transport()
	defer stop()
	login := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "login"}, Data: map[string][]byte{"username": []byte("root@pam"), "password": []byte("secret")}}
	provider := func(name, label string) *infra.Provider {
		p := &infra.Provider{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name}, Spec: infra.ProviderSpec{
			Type: "proxmox", Endpoint: "https://" + name + ":8006", CredentialSecretRef: &infra.Ref{Name: "login"},
		}}
		if label != "" {
			p.Labels = map[string]string{labelRegion: label}
		}
		return p
	}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(login, provider("north", ""), provider("pve-south", "south"), provider("east-1", "east"), provider("east-2", "east")).Build()
	regions := newRegions(new(site.Sites), "k8s-lab", proxmox, slog.New(slog.DiscardHandler))
	defer regions.close()
	if err := (&regionKeeper{client: c, direct: c, regions: regions, set: "k8s-lab"}).read(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"north": "", "south": "", "pve-south": "there is no region pve-south", "east": "both stand for it", "west": "known are north, south"} {
		if _, err := regions.Get(name); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}
