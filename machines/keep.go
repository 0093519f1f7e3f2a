package machines

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8c.io/machine-controller/sdk/apis/cluster/common"
	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/machines/providerspec"
	"github.com/proxplane/proxplane/machines/userdata"
)

// keep has the guest made, and kept as it is.
func (t *turn) keep(ctx context.Context) error {
	if why := elsewhere(t.before, t.berth); why != "" && t.berth.site.Identity() != "" {
		t.said.failed(common.InvalidConfigurationMachineError, "OtherProxmox", why)
		t.again = loginAgain
		return nil
	}
	boot, err := t.userData(ctx)
	var wrong *wrongError
	switch {
	case errors.As(err, &wrong):
		t.said.failed(common.InvalidConfigurationMachineError, "Invalid", err.Error())
		t.again = wrong.again
		return nil
	case err != nil:
		return err
	case boot == nil:
		return nil // it is said what is waited for
	}
	vm, image, err := t.value.Machine(providerspec.Want{
		Owner: t.owner, Name: t.m.Spec.Name, Labels: t.m.Labels, VMID: t.record.VMID, Had: t.record.Addresses, UserData: boot.Text, Ignition: boot.Ignition, Random: boot.Random,
	})
	if err != nil {
		t.said.failed(common.InvalidConfigurationMachineError, "Invalid", oneLine(err))
		return nil
	}
	if why := t.wrongDisk(ctx); why != "" {
		t.said.failed(common.InvalidConfigurationMachineError, "Invalid", why)
		return nil
	}
	if err := t.begin(ctx); err != nil {
		return err
	}
	t.said.put = true
	return t.fleet.put(t.berth, vm, image)
}

// begin writes down that there may be something in Proxmox, before there is. What it is made from is written with the VMID.
func (t *turn) begin(ctx context.Context) error {
	t.fleet.madeFromSpec(t.owner, digest(t.m))
	finalize(t.m)
	if t.record.VMID != 0 || t.record.Copied {
		id := providerIDOf(t.m)
		t.m.Spec.ProviderID, t.record.Spec = &id, digest(t.m)
	}
	if len(t.before.Finalizers) == len(t.m.Finalizers) && recordOf(t.before).Spec == t.record.Spec {
		return nil
	}
	if t.said.reason == "" && len(t.before.Status.Conditions) == 0 {
		t.unread() // which the end of this turn doesn't have to write then
		t.tell()
	}
	return t.store(ctx)
}

// finalize gives a Machine our finalizers.
func finalize(m *clusterv1alpha1.Machine) {
	for _, f := range []string{finalizerInstance, finalizerNode} {
		if !slices.Contains(m.Finalizers, f) {
			m.Finalizers = append(slices.Clip(m.Finalizers), f)
		}
	}
}

// providerIDOf is the provider ID that a Machine has, or gets.
func providerIDOf(m *clusterv1alpha1.Machine) string {
	if m.Spec.ProviderID != nil {
		return *m.Spec.ProviderID
	}
	return fmt.Sprintf(providerIDFormat, m.UID)
}

// wrongError is something that is wrong with what is wanted.
type wrongError struct {
	text  string
	again time.Duration // when it may be otherwise; 0: when the Machine is another one
}

func (e *wrongError) Error() string { return e.text }

// checkVersion says what is wrong with the kubelet's version.
func (t *turn) checkVersion() error {
	if t.m.Spec.Versions.Kubelet == "" {
		return nil // the API server's
	}
	v, err := userdata.Version(t.m.Spec.Versions.Kubelet)
	if err != nil {
		return err
	}
	server, err := t.serverVersion()
	if err != nil {
		return nil //nolint:nilerr // it says so when the user-data are made
	}
	if is, err := userdata.Version(server); err == nil && (v.Major() > is.Major() || v.Major() == is.Major() && v.Minor() > is.Minor()) {
		return fmt.Errorf("versions.kubelet: %s is newer than the API server, which has %s; a kubelet may be as new at most", v, is)
	}
	return nil
}

// checkSource refuses what machine-controller refuses, too.
func (t *turn) checkSource() error {
	if t.m.Spec.ConfigSource == nil {
		return nil
	}
	return errors.New("configSource: kubelets have no dynamic configuration since 1.24; leave it out")
}

// deployment is the MachineDeployment of a Machine, with its revision; empty: it has none.
func (t *turn) deployment(ctx context.Context) (name, revision string, err error) {
	of := metav1.GetControllerOf(t.m)
	if of == nil || of.Kind != "MachineSet" {
		return "", "", nil
	}
	var set clusterv1alpha1.MachineSet
	if err := t.client.Get(ctx, client.ObjectKey{Namespace: t.m.Namespace, Name: of.Name}, &set); err != nil {
		return "", "", client.IgnoreNotFound(err)
	}
	up := metav1.GetControllerOf(&set)
	if up == nil || up.Kind != "MachineDeployment" {
		return "", "", nil
	}
	return up.Name, set.Annotations[common.RevisionAnnotation], nil
}

// inSet reports whether a MachineSet makes another Machine when this one is gone.
func (t *turn) inSet() bool {
	of := metav1.GetControllerOf(t.m)
	return of != nil && of.Kind == "MachineSet"
}

// replace has a Machine whose guest is gone replaced by another one, or made anew where nobody makes another.
func (t *turn) replace(ctx context.Context) error {
	text := fmt.Sprintf("VM %d is gone from Proxmox, and not by us", t.record.VMID)
	if t.inSet() {
		t.events.Eventf(t.m, nil, corev1.EventTypeWarning, "InstanceLost", "Replace", "%s; another machine takes its place", text)
		return client.IgnoreNotFound(t.client.Delete(ctx, t.m, client.Preconditions{UID: &t.m.UID}))
	}
	t.events.Eventf(t.m, nil, corev1.EventTypeWarning, "InstanceLost", "Renew", "%s; it is made anew", text)
	if err := t.dropUserData(ctx); err != nil {
		return err
	}
	t.record.Made, t.record.SeedDropped = false, false
	t.fleet.found(t.owner)
	t.again = 1
	return nil
}

// oneLine is an error of several lines as one sentence.
func oneLine(err error) string { return strings.Join(strings.Split(err.Error(), "\n"), "; ") }
