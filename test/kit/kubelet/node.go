package kubelet

import (
	"context"
	"fmt"
	"net"
	"time"

	certv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// node is a machine that joins, and what is on its disk.
type node struct {
	*Settings
	fleet *Fleet

	cert, key []byte // of the client; none before it has joined
	serving   []byte // certificate

	capacity  corev1.ResourceList
	addresses []net.IP

	stop  context.CancelFunc // nil: it is off
	ended chan struct{}
	run   int // the process of the VM
	pods  *mailbox
}

// again is how long a kubelet waits before it tries again what failed.
const again = 500 * time.Millisecond

// insist does something until it succeeds.
func (n *node) insist(ctx context.Context, what string, do func(context.Context) error) bool {
	for {
		err := do(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		n.fleet.note(n.Name, fmt.Errorf("%s: %w", what, err))
		select {
		case <-ctx.Done():
			return false
		case <-time.After(again):
		}
	}
}

// live is what the machine does from its boot until it is off.
func (n *node) live(ctx context.Context) {
	defer close(n.ended)
	if n.cert == nil && !n.insist(ctx, "bootstrap", n.bootstrap) {
		return
	}
	config := &rest.Config{Host: n.Server, TLSClientConfig: rest.TLSClientConfig{CAData: n.CA, CertData: n.cert, KeyData: n.key}, QPS: -1}
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		n.fleet.note(n.Name, err)
		return
	}
	defer transport.CloseIdleConnections()
	c, err := kubernetes.NewForConfigAndClient(config, transport)
	if err != nil {
		n.fleet.note(n.Name, err)
		return
	}
	if !n.insist(ctx, "register", func(ctx context.Context) error { return n.register(ctx, c) }) {
		return
	}
	n.fleet.note(n.Name, nil)
	if n.serving == nil {
		go n.insist(ctx, "serving certificate", func(ctx context.Context) (err error) {
			ctx, cancel := context.WithTimeout(ctx, csrPatience)
			defer cancel()
			cert, _, err := ask(ctx, c, certv1.KubeletServingSignerName, n.Name, certv1.UsageServerAuth, []string{n.Name}, n.addresses)
			if err == nil {
				n.fleet.served(n, cert)
			}
			return err
		})
	}
	n.serve(ctx, c)
}

// serve renews the lease and looks after pods, until the end.
func (n *node) serve(ctx context.Context, c kubernetes.Interface) {
	beat := time.NewTicker(n.fleet.Renew)
	defer beat.Stop()
	n.insist(ctx, "lease", func(ctx context.Context) error { return n.renew(ctx, c) })
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			if err := n.renew(ctx, c); err != nil && ctx.Err() == nil {
				n.fleet.note(n.Name, fmt.Errorf("lease: %w", err))
			}
		case <-n.pods.more:
			for _, pod := range n.pods.take() {
				n.insist(ctx, "pod "+pod.Namespace+"/"+pod.Name, func(ctx context.Context) error { return n.look(ctx, c, pod) })
			}
		}
	}
}

// register makes the Node, or takes up the one that is there, and reports it Ready.
func (n *node) register(ctx context.Context, c kubernetes.Interface) error {
	labels := map[string]string{"kubernetes.io/hostname": n.Name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
	for k, v := range n.Labels {
		labels[k] = v
	}
	wanted := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: n.ProviderID, Taints: n.Taints},
	}
	have, err := c.CoreV1().Nodes().Create(ctx, wanted, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		have, err = c.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	}
	if err != nil {
		return err
	}
	have.Status.Capacity = n.capacity
	have.Status.Allocatable = n.allocatable(n.capacity)
	have.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: n.Name}}
	for _, ip := range n.addresses {
		have.Status.Addresses = append(have.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip.String()})
	}
	have.Status.NodeInfo = corev1.NodeSystemInfo{KubeletVersion: "v1.37.1", OperatingSystem: "linux", Architecture: "amd64", ContainerRuntimeVersion: "containerd://2.1.4", OSImage: "simulated"}
	now := metav1.Now()
	ready := []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status", LastHeartbeatTime: now, LastTransitionTime: now,
	}}
	for _, kind := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		ready = append(ready, corev1.NodeCondition{Type: kind, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficient", LastHeartbeatTime: now, LastTransitionTime: now})
	}
	for _, c := range have.Status.Conditions {
		if c.Type != corev1.NodeReady && c.Type != corev1.NodeMemoryPressure && c.Type != corev1.NodeDiskPressure && c.Type != corev1.NodePIDPressure {
			ready = append(ready, c)
		}
	}
	have.Status.Conditions = ready
	_, err = c.CoreV1().Nodes().UpdateStatus(ctx, have, metav1.UpdateOptions{})
	return err
}

// renew writes into the lease that the node is alive.
func (n *node) renew(ctx context.Context, c kubernetes.Interface) error {
	leases := c.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now := metav1.NowMicro()
	patch := fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, now.UTC().Format(metav1.RFC3339Micro))
	_, err := leases.Patch(ctx, n.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	_, err = leases.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &n.Name, LeaseDurationSeconds: ptr.To[int32](40), RenewTime: &now},
	}, metav1.CreateOptions{})
	return err
}

// look runs a pod as far as its status goes, and ends it when it is to go.
func (n *node) look(ctx context.Context, c kubernetes.Interface, pod *corev1.Pod) error {
	pods := c.CoreV1().Pods(pod.Namespace)
	if pod.DeletionTimestamp != nil {
		err := pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0), Preconditions: &metav1.Preconditions{UID: &pod.UID}})
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil
		}
		return err
	}
	if pod.Status.Phase != corev1.PodPending {
		return nil
	}
	now := metav1.Now()
	pod = pod.DeepCopy()
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &now
	conditions := []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now}}
	for _, kind := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady} {
		conditions = append(conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	pod.Status.Conditions = conditions
	pod.Status.ContainerStatuses = nil
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, Ready: true, Started: ptr.To(true), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	_, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // there is news of it
		return nil
	}
	return err
}
