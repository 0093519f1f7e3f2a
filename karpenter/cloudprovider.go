package karpenter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/kube/join"
	"github.com/proxplane/proxplane/model"
)

func init() {
	v1.WellKnownLabels = v1.WellKnownLabels.Insert(api.LabelInstanceFamily, api.LabelInstanceCPU, api.LabelInstanceMemory, api.LabelInstanceCPUType, api.LabelInstanceImage)
}

// CloudProvider implements Karpenter's interface to clouds.
type CloudProvider struct {
	client  client.Client
	secrets client.Reader // past the cache, NodeClaims as well
	regions *Regions
	set     string
	sizes   []Size
	factor  float64 // virtual CPUs a CPU
	// static has machines pinned to CPUs, and settings are what people say about Proxmox nodes.
	static   bool
	settings NodeSettings
	boot     *bootData
	backoff  *backoff
	metrics  *metrics
	events   teller

	choosing sync.Mutex // held by who chooses a zone
	mu       sync.Mutex
	reserved map[model.Owner]reservation
	tried    map[model.Owner]try // where this process has begun machines, and when
}

// try is that a machine was begun in a region.
type try struct {
	region string
	at     time.Time
	gone   bool // its NodeClaim is
	alone  bool // it has been noted that the machine didn't become a node

	removed bool      // it was asked that the machine be removed
	asked   time.Time // when that was
}

// reservation is what a machine takes that is being made, or was and isn't listed yet.
type reservation struct {
	place
	vmid  int       // 0: it is being made
	until time.Time // it counts until then at the latest, if it was made
}

// place is where a machine is being made, and what it takes there.
type place struct {
	zone zone
	size Size
	pin  *pin // CPUs of the Proxmox node; nil: any
}

var _ cloudprovider.CloudProvider = (*CloudProvider)(nil)

// defaultFactor is how many virtual CPUs a CPU stands for where nobody says it.
const defaultFactor = 4

func newCloudProvider(c client.Client, secrets client.Reader, regions *Regions, set string, sizes []Size, factor float64, tokens *join.Tokens) *CloudProvider {
	if len(sizes) == 0 {
		sizes = Grid()
	}
	if factor <= 0 {
		factor = defaultFactor
	}
	return &CloudProvider{
		client: c, secrets: secrets, regions: regions, set: set, sizes: sizes, factor: factor, backoff: newBackoff(time.Now), metrics: newMetrics(),
		boot: &bootData{secrets: secrets, tokens: tokens}, reserved: map[model.Owner]reservation{},
		tried: map[model.Owner]try{},
	}
}

// Name returns the provider's name in Karpenter's metrics.
func (p *CloudProvider) Name() string { return "proxmox" }

// GetSupportedNodeClasses returns the kinds that NodePools may refer to.
func (p *CloudProvider) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&api.ProxmoxNodeClass{}}
}

// unhealthyFor is how long a Node may be not ready before Karpenter replaces it.
const unhealthyFor = 10 * time.Minute

// RepairPolicies returns the conditions after which Nodes are replaced.
func (p *CloudProvider) RepairPolicies() []cloudprovider.RepairPolicy {
	return []cloudprovider.RepairPolicy{
		{ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionFalse, TolerationDuration: unhealthyFor},
		{ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionUnknown, TolerationDuration: unhealthyFor},
	}
}

// class reads the ProxmoxNodeClass that a reference names; nil: there is none.
func (p *CloudProvider) class(ctx context.Context, ref *v1.NodeClassReference) (*api.ProxmoxNodeClass, error) {
	if ref == nil || ref.Kind != api.KindNodeClass || ref.Group != api.Group {
		return nil, nil
	}
	var class api.ProxmoxNodeClass
	if err := p.client.Get(ctx, types.NamespacedName{Name: ref.Name}, &class); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return &class, nil
}

// GetInstanceTypes returns the sizes of machines, with the zones that have room for
// them now.
func (p *CloudProvider) GetInstanceTypes(ctx context.Context, pool *v1.NodePool) ([]*cloudprovider.InstanceType, error) {
	class, err := p.class(ctx, pool.Spec.Template.Spec.NodeClassRef)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the ProxmoxNodeClass of NodePool %s: %w", pool.Name, err)
	case class == nil:
		return nil, cloudprovider.NewNodeClassNotReadyError(fmt.Errorf("NodePool %s: there is no ProxmoxNodeClass %s", pool.Name, pool.Spec.Template.Spec.NodeClassRef.Name))
	}
	return p.instanceTypes(ctx, class)
}

// template reads what a class is made from; nil: there is none.
func (p *CloudProvider) template(ctx context.Context, class *api.ProxmoxNodeClass) (source, error) {
	return readTemplate(ctx, p.client, class.Spec.InstanceTemplateRef)
}

// readTemplate reads a template; nil: there is none.
func readTemplate(ctx context.Context, c client.Reader, ref api.InstanceTemplateRef) (source, error) {
	var t source = &api.ProxmoxTemplate{}
	if ref.Kind == api.KindUnmanagedTemplate {
		t = &api.ProxmoxUnmanagedTemplate{}
	}
	err := c.Get(ctx, types.NamespacedName{Name: ref.Name}, t)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s %s: %w", ref.Kind, ref.Name, err)
	}
	return t, nil
}

// source is a ProxmoxTemplate or a ProxmoxUnmanagedTemplate.
type source interface {
	status.Object
}

// statusOf is the status of a template.
func statusOf(t source) *api.TemplateStatus {
	switch t := t.(type) {
	case *api.ProxmoxTemplate:
		return &t.Status
	case *api.ProxmoxUnmanagedTemplate:
		return &t.Status
	}
	return nil
}

// errGone says that a machine isn't there.
var errGone = errors.New("the machine isn't there")
