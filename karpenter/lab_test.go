package karpenter

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/kube/join"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/spec"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// lab is a simulated Proxmox and a Kubernetes that only remembers, in virtual time.
type lab struct {
	*CloudProvider
	t   *testing.T
	sim *pvesim.Sim

	ending []func()
}

// inLab runs a test in a lab whose region is called lab.
func inLab(t *testing.T, world *pvesim.World, objects []client.Object, test func(t *testing.T, l *lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sim, err := pvesim.New(world, pvesim.WithInternet(internet{}))
		if err != nil {
			t.Fatal(err)
		}
		defer sim.Close()
		c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).
			WithStatusSubresource(&api.ProxmoxTemplate{}, &api.ProxmoxUnmanagedTemplate{}, &api.ProxmoxNodeClass{}, &v1.NodeClaim{}).Build()
		regions := newRegions(new(site.Sites), "k8s-lab", nil, slog.New(slog.DiscardHandler))
		tr, stop := sim.Transport()
		defer stop()
		regions.proxmox = tr
		regions.update([]declared{declaredAs("lab")})
		l := &lab{t: t, sim: sim}
		defer func() {
			regions.close()
			for _, end := range l.ending {
				end()
			}
		}()
		p := newCloudProvider(c, c, regions, "k8s-lab", nil, 0, &join.Tokens{Client: c, Door: Door, Signs: true})
		p.boot.cluster = join.Cluster{Server: "https://10.0.0.1:6443", CA: []byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n")}
		l.CloudProvider = p
		test(t, l)
	})
}

// declaredAs is a region whose Proxmox is the one that is opened next.
func declaredAs(name string) declared {
	return declared{
		name: name, by: "Provider " + name, cluster: spec.Cluster{Name: name, Range: model.DefaultRange},
		connection: manifest.Connection{Endpoints: []string{"https://" + name + ":8006"}, Credentials: pve.Password("root@pam", "secret")},
	}
}

// addRegion adds a region beside lab: another Proxmox, which has another certificate.
func (l *lab) addRegion(name string, world *pvesim.World) *pvesim.Sim {
	l.t.Helper()
	sim, err := pvesim.New(world, pvesim.WithInternet(internet{}), pvesim.WithSeed(2))
	if err != nil {
		l.t.Fatal(err)
	}
	tr, stop := sim.Transport()
	l.regions.proxmox = tr
	l.regions.update([]declared{declaredAs("lab"), declaredAs(name)})
	l.ending = append(l.ending, stop, func() { _ = sim.Close() })
	return sim
}

// labWorld has two nodes, each with a template of the same name.
func labWorld() *pvesim.World {
	return sim.Lab(2, pvesim.WorldNode{CPUs: 32, Memory: 64 << 30}, "talos")
}

// talos is the template that people made, and a class that nodes are made by.
func talos() []client.Object {
	return []client.Object{
		&api.ProxmoxUnmanagedTemplate{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 1}, Spec: api.UnmanagedTemplateSpec{TemplateName: "talos"}},
		class(api.KindUnmanagedTemplate),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "boot"}, Data: map[string][]byte{
			"user-data": []byte("#cloud-config\nhostname: {{ .Metadata.Hostname }}\nwrite_files:\n- path: /etc/join\n  content: {{ .Kubernetes.BootstrapToken }} {{ .Metadata.ProviderID }} {{ .Values.flavour }}\n"),
		}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "values"}, Data: map[string][]byte{"flavour": []byte("vanilla")}},
	}
}

func class(kind string) *api.ProxmoxNodeClass {
	return &api.ProxmoxNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 1}, Spec: api.NodeClassSpec{
		InstanceTemplateRef: api.InstanceTemplateRef{Kind: kind, Name: "default"}, BootDevice: &api.BootDevice{Size: "30G"}, Tags: []string{"nodes"},
		MetadataOptions: &api.MetadataOptions{Type: api.MetadataCDROM, TemplatesRef: &api.SecretRef{Namespace: "kube-system", Name: "boot"}, ValuesRef: &api.SecretRef{Namespace: "kube-system", Name: "values"}},
	}}
}

// settle reconciles templates and classes until nothing changes any more.
func (l *lab) settle() {
	l.t.Helper()
	for range 60 {
		l.reconciled()
		if l.class().StatusConditions().Get("Ready").IsTrue() {
			return
		}
		time.Sleep(10 * time.Second) // virtual
	}
}

// reconciled reconciles them once.
func (l *lab) reconciled() {
	l.t.Helper()
	for _, r := range []reconcile.Reconciler{
		&templates{client: l.client, regions: l.regions, set: l.set, events: l.events}, &unmanaged{client: l.client, regions: l.regions, events: l.events}, &classes{client: l.client, provider: l.CloudProvider},
	} {
		if _, err := r.Reconcile(l.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "default"}}); err != nil {
			l.t.Fatal(err)
		}
	}
}

func (l *lab) class() *api.ProxmoxNodeClass {
	l.t.Helper()
	var c api.ProxmoxNodeClass
	if err := l.client.Get(l.t.Context(), types.NamespacedName{Name: "default"}, &c); err != nil {
		l.t.Fatal(err)
	}
	return &c
}

// claim is a NodeClaim that Karpenter would make.
func (l *lab) claim(name string, requirements ...v1.NodeSelectorRequirementWithMinValues) *v1.NodeClaim {
	l.t.Helper()
	c := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.Now()}, Spec: v1.NodeClaimSpec{
		NodeClassRef: &v1.NodeClassReference{Group: api.Group, Kind: api.KindNodeClass, Name: "default"}, Requirements: requirements,
		Resources: v1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("2Gi")}},
	}}
	if err := l.client.Create(l.t.Context(), c); err != nil {
		l.t.Fatal(err)
	}
	return c
}

func (l *lab) create(c *v1.NodeClaim) *v1.NodeClaim {
	l.t.Helper()
	made, err := l.Create(l.t.Context(), c)
	if err != nil {
		l.t.Fatal(err)
	}
	region, _, err := ParseProviderID(made.Status.ProviderID)
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := l.regions.all[region].Site.Await(l.t.Context(), l.ownerOf(c), site.Running); err != nil {
		l.t.Fatal(err)
	}
	l.launched(c, made)
	k := &keeper{client: l.client, provider: l.CloudProvider}
	if _, err := k.Reconcile(l.t.Context(), request(c.Name)); err != nil {
		l.t.Fatal(err)
	}
	return c
}

// launched does what Karpenter does with a machine that is launched.
func (l *lab) launched(c, made *v1.NodeClaim) {
	l.t.Helper()
	stored := c.DeepCopy()
	c.Labels, c.Annotations = made.Labels, made.Annotations
	if err := l.client.Patch(l.t.Context(), c, client.MergeFrom(stored)); err != nil {
		l.t.Fatal(err)
	}
	c.Status = made.Status
	c.StatusConditions().SetTrue(v1.ConditionTypeLaunched)
	if err := l.client.Status().Update(l.t.Context(), c); err != nil {
		l.t.Fatal(err)
	}
}

// config is that of a VM; nil: there is none.
func (l *lab) config(vmid int) (conf map[string]string) {
	l.sim.Do(func(s *pvesim.State) {
		if vm := s.VMs[vmid]; vm != nil {
			conf = map[string]string{}
			for k, v := range vm.Conf {
				conf[k] = v
			}
		}
	})
	return conf
}

func vmidOf(t *testing.T, c *v1.NodeClaim) int {
	t.Helper()
	_, id, err := ParseProviderID(c.Status.ProviderID)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// guests are the VMs that aren't templates.
func (l *lab) guests() (n int) {
	l.sim.Do(func(s *pvesim.State) {
		for _, vm := range s.VMs {
			if vm.Conf["template"] != "1" {
				n++
			}
		}
	})
	return n
}

// internet has an image at every URL but those with missing in them.
type internet struct{}

func (internet) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.Contains(r.URL.Path, "missing") {
		return pvesim.BootableImages{}.RoundTrip(r)
	}
	return &http.Response{StatusCode: http.StatusNotFound, Status: "404 Not Found", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

func zoneIs(node string) v1.NodeSelectorRequirementWithMinValues {
	return v1.NodeSelectorRequirementWithMinValues{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}
}

// initialized has a Node join, and waits until its machine is as it is to stay.
func (l *lab) initialized(c *v1.NodeClaim) {
	l.t.Helper()
	c.StatusConditions().SetTrue(v1.ConditionTypeRegistered)
	c.StatusConditions().SetTrue(v1.ConditionTypeInitialized)
	if err := l.client.Status().Update(l.t.Context(), c); err != nil {
		l.t.Fatal(err)
	}
	time.Sleep(join.Settle)
	l.keep(c)
}

// keep reconciles the machine of a NodeClaim.
func (l *lab) keep(c *v1.NodeClaim) {
	l.t.Helper()
	k := &keeper{client: l.client, provider: l.CloudProvider}
	if _, err := k.Reconcile(l.t.Context(), request(c.Name)); err != nil {
		l.t.Fatal(err)
	}
	if _, err := l.regions.all["lab"].Site.Await(l.t.Context(), l.ownerOf(c), site.Ready); err != nil {
		l.t.Fatal(err)
	}
}
