package machines

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8c.io/machine-controller/sdk/apis/cluster/common"
	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/proxplane/proxplane/kube/drain"
	"github.com/proxplane/proxplane/kube/join"
	"github.com/proxplane/proxplane/machines/providerspec"
	"github.com/proxplane/proxplane/model"
)

// What of the original others go by.
const (
	finalizerInstance = "machine-delete-finalizer"
	finalizerNode     = "machine-node-delete-finalizer"

	ownerLabel        = "machine-controller/owned-by"
	machineAnnotation = "cluster.k8s.io/machine" // cluster-autoscaler goes by it
	controllerLabel   = "machine.k8s.io/controller"
	initializers      = "machine-controller.kubermatic.io/initializers"
	providerIDFormat  = "kubermatic://proxmox/%s"
)

// ControllerName is the value of the label machine.k8s.io/controller by which machine-controller leaves
// Machines to us.
const ControllerName = "proxplane"

// ForceDelete is the annotation that, with the value "true", removes a Machine that is being deleted
// without changing anything in Proxmox.
const ForceDelete = "machines.proxplane.io/force-delete"

// reconciler controls Machines.
type reconciler struct {
	Options
	client  client.Client // reads from the cache
	direct  client.Client
	brief   client.Reader // reads from the API server, what many Machines need only once in a while
	log     *slog.Logger
	events  events.EventRecorder
	fleet   *fleet
	drainer *drain.Drainer
	tokens  *join.Tokens
	metrics *metrics
	secrets *contents
	boots   *boots

	releases *releases
	rival    *rival // nil: MachineDeployments are never ours
	now      func() time.Time
	getenv   func(string) string

	server struct {
		sync.Mutex
		version string
		at      time.Time
	}
}

// ours reports whether a Machine is looked after here. One that was made here stays ours, whatever its provider is changed to.
func ours(m *clusterv1alpha1.Machine) bool {
	by := m.Labels[controllerLabel]
	return (provider(m) == providerspec.CloudProvider || recordOf(m).Spec != "") && (by == "" || by == ControllerName) && m.Annotations[initializers] == ""
}

func provider(m *clusterv1alpha1.Machine) string {
	if v := m.Spec.ProviderSpec.Value; v != nil {
		return providerspec.Provider(v.Raw)
	}
	return ""
}

func (r *reconciler) owner(m *clusterv1alpha1.Machine) model.Owner {
	return model.Owner{Door: Door, Set: r.Set, Key: model.Key{Kind: Kind, Namespace: m.Namespace, Name: m.Name}, UID: string(m.UID)}
}

// turn is one look at a Machine.
type turn struct {
	*reconciler
	m      *clusterv1alpha1.Machine
	before *clusterv1alpha1.Machine
	owner  model.Owner
	record record
	value  *providerspec.Value
	berth  *berth
	node   *corev1.Node // nil: it has none yet
	again  time.Duration
	said   said
}

// Reconcile reconciles one Machine.
func (r *reconciler) Reconcile(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
	m := &clusterv1alpha1.Machine{}
	if err := r.client.Get(ctx, q.NamespacedName, m); err != nil {
		if apierrors.IsNotFound(err) {
			r.fleet.vanished(ctx, q.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !ours(m) {
		r.fleet.vanished(ctx, q.NamespacedName)
		r.foreign(m)
		return reconcile.Result{}, nil
	}
	if r.fleet.stale(r.owner(m), m.ResourceVersion, r.now()) {
		return reconcile.Result{RequeueAfter: cacheLate}, nil // or as soon as the cache has what was written
	}
	t := &turn{reconciler: r, m: m.DeepCopy(), owner: r.owner(m), record: recordOf(m)}
	t.before = t.m.DeepCopy()
	err := t.run(ctx)
	if err == nil {
		err = t.write(ctx)
	}
	if ctx.Err() != nil {
		return reconcile.Result{}, err
	}
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: conflictPause}, nil // somebody else has written it
	}
	if err != nil {
		r.metrics.errors.Inc()
		r.log.Warn("reconcile", "machine", q.NamespacedName, "error", err)
		t.interrupted(ctx, err)
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: t.again}, nil
}

// conflictPause is how soon a Machine is looked at again that somebody else has written.
const conflictPause = 100 * time.Millisecond

// foreign says of a Machine of another provider that nobody makes it, where nobody else does.
func (r *reconciler) foreign(m *clusterv1alpha1.Machine) {
	by := m.Labels[controllerLabel]
	if r.Beside || r.rival != nil && r.rival.runs.Load() || by != "" && by != ControllerName || m.Annotations[initializers] != "" {
		return
	}
	if m.DeletionTimestamp != nil {
		if slices.ContainsFunc(m.Finalizers, mine) {
			r.events.Eventf(m, nil, corev1.EventTypeWarning, "NotOurs", "Ignore",
				"cloudProvider is %q: what this Machine has there is removed by machine-controller, which doesn't run; to let the Machine go, remove its finalizers", provider(m))
		}
		return
	}
	r.events.Eventf(m, nil, corev1.EventTypeWarning, "NotOurs", "Ignore",
		"cloudProvider is %q: only proxmox machines are made here; others need machine-controller, and --machines-beside here", provider(m))
}

// run does what can be done now.
func (t *turn) run(ctx context.Context) error {
	if t.m.DeletionTimestamp != nil {
		return t.delete(ctx)
	}
	if t.fleet.isLost(t.owner) {
		return t.replace(ctx)
	}
	ok, err := t.prepare(ctx)
	if err != nil || !ok {
		return err
	}
	if err := t.keep(ctx); err != nil {
		return err
	}
	if err := t.match(ctx); err != nil {
		return err
	}
	t.dropSeed(ctx)
	return t.judge(ctx)
}

// prepare reads what is wanted and how Proxmox is reached; false: it is said what is wrong.
func (t *turn) prepare(ctx context.Context) (bool, error) {
	if t.m.Spec.Name == "" {
		t.m.Spec.Name = t.m.Name
	}
	now := digest(t.m)
	if t.record.Spec != "" && t.record.Spec != now {
		t.said.failed(common.UnsupportedChangeMachineError, "SpecChanged",
			"providerSpec or versions were changed: a Machine stays as it was made; undo it, or change the MachineDeployment, which replaces its machines")
		return false, t.match(ctx)
	}
	var err error
	if t.value, err = providerspec.Decode(raw(t.m)); err == nil {
		err = errors.Join(t.checkVersion(), t.checkSource())
	}
	if err != nil {
		t.said.failed(common.InvalidConfigurationMachineError, "Invalid", oneLine(err))
		return false, nil
	}
	return t.login(ctx)
}

func raw(m *clusterv1alpha1.Machine) []byte {
	if v := m.Spec.ProviderSpec.Value; v != nil {
		return v.Raw
	}
	return nil
}

// loginAgain is how soon Secrets are read again that don't work, or aren't there.
const loginAgain = 15 * time.Second

// login finds the Proxmox cluster; false: it is said what is wrong.
func (t *turn) login(ctx context.Context) (bool, error) {
	login, err := t.value.CloudProviderSpec.Login(ctx, providerspec.Source{Read: t.secrets.read, Getenv: t.getenv})
	var notRead *providerspec.NotReadError
	switch {
	case errors.As(err, &notRead):
		t.again = loginAgain
		if t.berth = t.fleet.of(t.owner); t.berth != nil {
			return true, nil // it goes on as before
		}
		t.said.waits("SecretNotRead", err.Error())
		return false, nil
	case err != nil:
		t.again = loginAgain
		if t.berth = t.fleet.of(t.owner); t.berth != nil && t.record.VMID != 0 {
			t.said.note("%s", oneLine(err))
			return true, nil
		}
		t.said.failed(common.InvalidConfigurationMachineError, "Invalid", oneLine(err))
		return false, nil
	}
	t.berth, err = t.fleet.at(ctx, login)
	if t.berth == nil {
		t.said.failed(common.InvalidConfigurationMachineError, "Invalid", fmt.Sprintf("providerSpec.value.cloudProviderSpec.endpoint: %v", err))
		return false, nil
	}
	if err != nil {
		t.said.note("%v", err)
		t.again = loginAgain
	}
	return true, nil
}
