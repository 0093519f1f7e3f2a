package machines

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	"k8c.io/machine-controller/sdk/bootstrap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/act"
	"github.com/proxplane/proxplane/kube/drain"
	"github.com/proxplane/proxplane/kube/join"
	"github.com/proxplane/proxplane/machines/userdata"
	"github.com/proxplane/proxplane/site"
)

// What the Secret of a Machine with its user-data has.
const (
	bootKey      = "userdata"
	bootIgnition = "machines.proxplane.io/ignition"
	bootRandom   = "machines.proxplane.io/own-token"
	bootLabel    = "machines.proxplane.io/machine"

	// bootAge is how old user-data may be when a guest is made from them: their token lives an hour.
	bootAge = join.Lifetime / 2

	machineName = "<MACHINE_NAME>" // which the operating-system-manager leaves to be replaced
)

func bootName(m *clusterv1alpha1.Machine) client.ObjectKey {
	return client.ObjectKey{Namespace: m.Namespace, Name: m.Name + "-user-data"}
}

// boots are the user-data of machines that were read or made, so that they aren't read at each look.
type boots struct {
	mu    sync.Mutex
	known map[types.UID]boot
}

type boot struct {
	made userdata.Made
	at   time.Time // when they were made
}

func (b *boots) get(of types.UID) (boot, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one, known := b.known[of]
	return one, known
}

func (b *boots) put(of types.UID, made userdata.Made, at time.Time) *userdata.Made {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = map[types.UID]boot{}
	}
	b.known[of] = boot{made, at}
	return &made
}

func (b *boots) drop(of types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.known, of)
}

// userData are those of the machine: made once, and kept beside it. Nil: it is said what is waited for.
func (t *turn) userData(ctx context.Context) (*userdata.Made, error) {
	good := func(at time.Time) bool { return t.record.VMID != 0 || t.now().Sub(at) < bootAge }
	if b, known := t.boots.get(t.m.UID); known && good(b.at) {
		return &b.made, nil
	}
	if t.record.VMID != 0 { // else there are none, mostly: to look first would be a request more
		if made, err := t.keptUserData(ctx, good); made != nil || err != nil {
			return made, err
		}
	}
	made, err := t.makeUserData(ctx)
	if err != nil || made == nil {
		return nil, err
	}
	err = t.keepUserData(ctx, made)
	if apierrors.IsAlreadyExists(err) { // an earlier process has made them
		if have, err := t.keptUserData(ctx, good); have != nil || err != nil {
			return have, err
		}
		err = t.keepUserData(ctx, made)
	}
	if err != nil {
		return nil, fmt.Errorf("write the user-data: %w", err)
	}
	return t.boots.put(t.m.UID, *made, t.now()), nil
}

// keptUserData are those beside the machine; nil: there are none, or none that are good any more.
func (t *turn) keptUserData(ctx context.Context, good func(time.Time) bool) (*userdata.Made, error) {
	var s corev1.Secret
	err := t.direct.Get(ctx, bootName(t.m), &s)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the user-data: %w", err)
	case !metav1.IsControlledBy(&s, t.m):
		return nil, &wrongError{fmt.Sprintf("the Secret %s, which is for its user-data, belongs to something else; remove it", bootName(t.m)), loginAgain}
	case good(s.CreationTimestamp.Time):
		return t.boots.put(t.m.UID, userdata.Made{Text: string(s.Data[bootKey]), Ignition: s.Annotations[bootIgnition] == "true", Random: s.Annotations[bootRandom] == "true"}, s.CreationTimestamp.Time), nil
	}
	// Nothing was made from them yet, and their token ends.
	return nil, client.IgnoreNotFound(t.direct.Delete(ctx, &s, client.Preconditions{UID: &s.UID}))
}

// keepUserData puts them beside the machine.
func (t *turn) keepUserData(ctx context.Context, made *userdata.Made) error {
	return t.direct.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: t.m.Namespace, Name: bootName(t.m).Name, Labels: map[string]string{bootLabel: t.m.Name},
			Annotations:     map[string]string{bootIgnition: fmt.Sprint(made.Ignition), bootRandom: fmt.Sprint(made.Random)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(t.m, clusterv1alpha1.SchemeGroupVersion.WithKind(Kind))},
		},
		Data: map[string][]byte{bootKey: []byte(made.Text)},
	})
}

func (t *turn) dropUserData(ctx context.Context) error {
	t.boots.drop(t.m.UID)
	s := &corev1.Secret{}
	if err := t.direct.Get(ctx, bootName(t.m), s); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !metav1.IsControlledBy(s, t.m) {
		return nil
	}
	return client.IgnoreNotFound(t.direct.Delete(ctx, s, client.Preconditions{UID: &s.UID}))
}

// dropSeed takes the first-boot data out of the machine once it has been a ready node for a moment: they hold the token that it has joined with.
func (t *turn) dropSeed(ctx context.Context) {
	if t.record.SeedDropped || !t.record.Made || t.node == nil || !drain.Ready(t.node) {
		return
	}
	if left := join.Settle - t.now().Sub(drain.ReadySince(t.node)); left > 0 {
		t.again = left
		return
	}
	switch err := t.berth.site.DropSeed(ctx, t.owner); {
	case err == nil, errors.Is(err, site.ErrNotDropped): // by snippets or Ignition there is no image of its own
		t.record.SeedDropped = true
	case !errors.Is(err, site.ErrNotFound):
		t.said.note("its first-boot data, which hold a token, are still in its drive: %s", act.Judge(err).Text)
		t.again = loginAgain
	}
}

// makeUserData makes them: those that people give, those of the operating-system-manager, or our own.
func (t *turn) makeUserData(ctx context.Context) (*userdata.Made, error) {
	if own := t.value.OverwriteCloudConfig; own != nil {
		return t.given(*own), nil
	}
	if made, wait, err := t.managed(ctx); made != nil || wait || err != nil {
		return made, err
	}
	version, err := t.kubeletVersion(ctx)
	if err != nil {
		return nil, err
	}
	cluster, err := join.Find(ctx, t.brief, t.Kubernetes, t.APIServer)
	if err != nil {
		return nil, err
	}
	token, err := t.tokens.For(ctx, t.joins())
	if err != nil {
		return nil, err
	}
	kubeconfig, err := cluster.Kubeconfig(token)
	if err != nil {
		return nil, err
	}
	c := userdata.Config{
		OS: t.value.OperatingSystem, Name: t.m.Spec.Name, Kubelet: version, Kubeconfig: kubeconfig, CA: cluster.CA,
		ProviderID: fmt.Sprintf(providerIDFormat, t.m.UID), Taints: t.m.Spec.Taints, SSHKeys: t.value.SSHPublicKeys, SSHUserCA: t.value.CAPublicKey,
	}
	if c.ClusterDNS, err = t.nameServers(ctx); err != nil {
		return nil, err
	}
	s := t.value.OperatingSystemSpec
	c.DistUpgradeOnBoot, c.DisableAutoUpdate, c.DisableLocksmithD = s.DistUpgradeOnBoot, s.DisableAutoUpdate || s.DisableUpdateEngine, s.DisableLocksmithD
	if s.RHELSubscriptionManagerUser != "" || s.RHELActivationKey != "" {
		c.Subscription = &userdata.Subscription{
			User: s.RHELSubscriptionManagerUser, Password: s.RHELSubscriptionManagerPassword, Organization: s.RHELOrganizationName, ActivationKey: s.RHELActivationKey, Attach: s.AttachSubscription,
		}
	}
	made, err := userdata.Make(c)
	if err != nil {
		return nil, &wrongError{text: err.Error()}
	}
	made.Random = true // the token
	return &made, nil
}

// kubeletVersion is the version of the kubelet that the machine gets. One that isn't published is refused, as no machine with it would become a node.
func (t *turn) kubeletVersion(ctx context.Context) (string, error) {
	text := t.m.Spec.Versions.Kubelet
	if text == "" {
		var err error
		if text, err = t.serverVersion(); err != nil {
			return "", fmt.Errorf("find out the API server's version: %w", err)
		}
	}
	v, err := userdata.Version(text)
	if err != nil {
		return "", &wrongError{text: err.Error()}
	}
	if at := t.releases.missing(ctx, v); at != "" {
		return "", &wrongError{fmt.Sprintf("versions.kubelet: there is no kubelet %s: %s doesn't exist", v, at), releaseAge}
	}
	return text, nil
}

// given are user-data that others have made.
func (t *turn) given(text string) *userdata.Made {
	text = strings.ReplaceAll(text, machineName, t.m.Spec.Name)
	return &userdata.Made{Text: text, Ignition: strings.HasPrefix(strings.TrimSpace(text), "{")}
}

// managed are those of the operating-system-manager; wait: it hasn't made the right ones yet.
func (t *turn) managed(ctx context.Context) (made *userdata.Made, wait bool, err error) {
	name, revision, err := t.deployment(ctx)
	if err != nil || name == "" {
		return nil, false, err
	}
	key := client.ObjectKey{Namespace: bootstrap.CloudInitSettingsNamespace, Name: fmt.Sprintf(bootstrap.CloudConfigSecretNamePattern, name, t.m.Namespace, bootstrap.BootstrapCloudConfig)}
	var s corev1.Secret
	if err := t.brief.Get(ctx, key, &s); err != nil {
		if apierrors.IsForbidden(err) {
			return nil, false, nil
		}
		return nil, false, client.IgnoreNotFound(err)
	}
	if is := s.Annotations[bootstrap.MachineDeploymentRevision]; is != revision {
		t.again = 3 * time.Second
		t.said.waits("UserDataNotReady", fmt.Sprintf("the operating-system-manager's Secret %s is for revision %s, and the MachineSet is revision %s", key, is, revision))
		return nil, true, nil
	}
	return t.given(string(s.Data["cloud-config"])), false, nil
}

// nameServers are the cluster's.
func (t *turn) nameServers(ctx context.Context) ([]string, error) {
	if len(t.ClusterDNS) > 0 {
		return t.ClusterDNS, nil
	}
	var s corev1.Service
	if err := t.brief.Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "kube-dns"}, &s); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return s.Spec.ClusterIPs, nil
}

// serverVersion is the API server's.
func (r *reconciler) serverVersion() (string, error) {
	r.server.Lock()
	defer r.server.Unlock()
	if r.server.version != "" && r.now().Sub(r.server.at) < serverAge {
		return r.server.version, nil
	}
	d, err := discovery.NewDiscoveryClientForConfig(r.Kubernetes)
	if err != nil {
		return "", err
	}
	info, err := d.ServerVersion()
	if err != nil {
		return "", err
	}
	r.server.version, r.server.at = strings.TrimPrefix(info.GitVersion, "v"), r.now()
	return r.server.version, nil
}

// serverAge is how long the API server's version is believed to be the same.
const serverAge = time.Minute

// joins is the machine for those who let it join.
func (t *turn) joins() join.Machine { return joinsAs(t.m) }
