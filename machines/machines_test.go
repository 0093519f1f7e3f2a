package machines

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8c.io/machine-controller/sdk/apis/cluster/common"
	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	"k8c.io/machine-controller/sdk/bootstrap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/pvesim/guestos"
)

// The image with the token goes out of the drive and is deleted once the machine is a ready node, and doesn't come back.
func TestTheSeedIsDroppedOnceTheNodeIsReady(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		l.add(machineOf("md-1"))
		m := l.until("md-1", "it runs", inPhase(phaseJoining))
		if len(l.volumes("iso/")) != 1 {
			t.Fatalf("there are the images %v", l.volumes("iso/"))
		}
		l.joinsAsNode(m)
		l.until("md-1", "it is a node", inPhase(phaseRunning))
		m = l.until("md-1", "the image is gone", func(*clusterv1alpha1.Machine) bool { return len(l.volumes("iso/")) == 0 })
		if !recordOf(m).SeedDropped {
			t.Errorf("it is tried again and again: %+v", recordOf(m))
		}
		for range 20 {
			l.look("md-1")
			time.Sleep(time.Minute)
		}
		for slot, value := range l.guest("md-1") {
			if strings.Contains(value, ".iso") {
				t.Errorf("%s is %s", slot, value)
			}
		}
		if m := l.look("md-1"); len(l.volumes("iso/")) > 0 || !inPhase(phaseRunning)(m) {
			t.Errorf("images %v, status %+v", l.volumes("iso/"), m.Status)
		}
	})
}

// User-data of the operating-system-manager are taken as they are, once they are those of the Machine's revision.
func TestUserDataOfTheOperatingSystemManager(t *testing.T) {
	deployment := metav1.OwnerReference{APIVersion: "cluster.k8s.io/v1alpha1", Kind: "MachineDeployment", Name: "md", UID: "md", Controller: new(true)}
	set := &clusterv1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "md-1", UID: "ms", OwnerReferences: []metav1.OwnerReference{deployment}, Annotations: map[string]string{common.RevisionAnnotation: "2"}}}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: bootstrap.CloudInitSettingsNamespace, Name: "md-kube-system-bootstrap-config", Annotations: map[string]string{bootstrap.MachineDeploymentRevision: "1"}},
		Data:       map[string][]byte{"cloud-config": []byte("#cloud-config\nhostname: <MACHINE_NAME>\n")},
	}
	inLab(t, labWorld(), []client.Object{set, secret}, func(t *testing.T, l *lab) {
		m := machineOf("md-1-a")
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "cluster.k8s.io/v1alpha1", Kind: "MachineSet", Name: "md-1", UID: "ms", Controller: new(true)}}
		l.add(m)
		l.until("md-1-a", "it waits for the right revision", func(m *clusterv1alpha1.Machine) bool {
			return strings.Contains(condition(m), "is for revision 1, and the MachineSet is revision 2")
		})
		if l.guest("md-1-a") != nil {
			t.Error("it was made all the same")
		}
		secret.Annotations[bootstrap.MachineDeploymentRevision], secret.ResourceVersion = "2", ""
		if err := l.direct.Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		l.until("md-1-a", "it runs", inPhase(phaseJoining))
		if text := l.seed("md-1-a")["user-data"]; text != "#cloud-config\nhostname: md-1-a\n" {
			t.Errorf("its user-data are %q", text)
		}
	})
}

// seed are the files of the image in a machine's drive.
func (l *lab) seed(name string) map[string]string {
	l.t.Helper()
	for _, value := range l.guest(name) {
		if volume, _, ok := strings.Cut(value, ",media=cdrom"); ok {
			data, err := l.sim.ReadVolume(l.guest(name)["node"], volume)
			if err != nil {
				l.t.Fatal(err)
			}
			if image, ok := guestos.OpenISO(data); ok {
				return image.Files()
			}
		}
	}
	return nil
}

// condition is what the Machine says about its guest.
func condition(m *clusterv1alpha1.Machine) string {
	if m == nil {
		return ""
	}
	for _, c := range m.Status.Conditions {
		if c.Type == conditionInstance {
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}

// What is wrong is in a condition, in the error of the status and in an event, and nothing is left.
func TestWhatIsWrongIsAConditionAndAnEvent(t *testing.T) {
	for name, c := range map[string]struct {
		field, want string
	}{
		"key":      {`"token":{"secretKeyRef":{"namespace":"kube-system","name":"proxmox","key":"tokne"}}`, `has no key "tokne"`},
		"disk":     {`"diskName":"floppy0"`, "floppy0"},
		"other":    {`"diskName":"virtio3"`, "virtio3"},
		"proxy":    {`"proxyURL":"://nowhere"`, "proxyURL"},
		"template": {`"vmTemplateID":9999`, "9999"},
		"delivery": {`"delivery":"snippets"`, "sshHostKeys"},
		"source":   {`"cpuCores":2`, "configSource: kubelets have no dynamic configuration"},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
				m := machineOf("md-1", c.field)
				if name == "source" {
					m.Spec.ConfigSource = &corev1.NodeConfigSource{}
				}
				l.add(m)
				m = l.until("md-1", "it says what is wrong", inPhase(phaseFailed))
				if !strings.Contains(condition(m), c.want) || m.Status.ErrorMessage == nil || !strings.Contains(*m.Status.ErrorMessage, c.want) || !l.warned(c.want) {
					t.Errorf("it says %+v", m.Status)
				}
				if l.guest("md-1") != nil || len(l.volumes("iso/")) > 0 {
					t.Error("something is left")
				}
				if err := l.direct.Delete(t.Context(), m); err != nil {
					t.Fatal(err)
				}
				l.until("md-1", "it goes", func(m *clusterv1alpha1.Machine) bool { return m == nil })
			})
		})
	}
}

// A template that is removed after its use is nothing that machines miss which are there.
func TestATemplateThatIsRemovedAfterItsUse(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		l.add(machineOf("md-1", `"fullClone":true`))
		m := l.until("md-1", "it runs", inPhase(phaseJoining))
		l.joinsAsNode(m)
		l.until("md-1", "it is a node", inPhase(phaseRunning))
		l.sim.Do(func(s *pvesim.State) { delete(s.VMs, 9000) })
		time.Sleep(10 * time.Minute)
		for range 5 {
			if m := l.look("md-1"); !inPhase(phaseRunning)(m) || l.guest("md-1") == nil {
				t.Fatalf("it says %+v", m.Status)
			}
			time.Sleep(time.Minute)
		}
		l.add(machineOf("md-2", `"fullClone":true`))
		if m := l.until("md-2", "a new one says so", inPhase(phaseFailed)); !strings.Contains(condition(m), "9000") {
			t.Errorf("it says %s", condition(m))
		}
		for _, name := range []string{"md-1", "md-2"} {
			if err := l.direct.Delete(t.Context(), l.look(name)); err != nil {
				t.Fatal(err)
			}
			l.until(name, "it can be removed", func(m *clusterv1alpha1.Machine) bool { return m == nil })
		}
		if l.guest("md-1") != nil {
			t.Error("the guest is left")
		}
	})
}

// A Proxmox node that is lost takes its machine with it: nothing is made twice, and the machine goes on when the node is back.
func TestAProxmoxNodeThatIsLostAndComesBack(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		l.add(machineOf("md-1", `"nodes":["pve2"]`))
		m := l.until("md-1", "it runs", inPhase(phaseJoining))
		l.joinsAsNode(m)
		l.until("md-1", "it is a node", inPhase(phaseRunning))
		l.sim.Do(func(s *pvesim.State) { s.Nodes["pve2"].State = pvesim.Offline })
		m = l.until("md-1", "it says that the node is away", func(m *clusterv1alpha1.Machine) bool {
			return strings.Contains(condition(m), "pve2") && !strings.HasPrefix(condition(m), "UpToDate")
		})
		if n := len(l.volumes("vm-")); n > 1 {
			t.Errorf("it was made again: %v", l.volumes("vm-"))
		}
		if m.DeletionTimestamp != nil {
			t.Error("it was deleted")
		}
		l.sim.Do(func(s *pvesim.State) { s.Nodes["pve2"].State = pvesim.Online })
		l.until("md-1", "it is as it was", func(m *clusterv1alpha1.Machine) bool { return strings.HasPrefix(condition(m), "UpToDate") })
	})
}

// An operator for some namespaces leaves the Nodes of others alone, though it sees all.
func TestNodesOfOtherNamespacesWakeNobody(t *testing.T) {
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		l.Namespaces = []string{"kube-system"}
		for namespace, want := range map[string]int{"kube-system": 1, "other": 0} {
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "md-1", Annotations: map[string]string{machineAnnotation: namespace + "/md-1"}}}
			if got := l.ofNode(t.Context(), n); len(got) != want {
				t.Errorf("%s: %v", namespace, got)
			}
		}
	})
}

// Dashboards and alerts of machine-controller go by these names.
func TestMetricsHaveTheOriginalsNames(t *testing.T) {
	names := func(t *testing.T, l *lab) map[string]bool {
		t.Helper()
		registry := prometheus.NewRegistry()
		newMetrics(registry, l.client)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		have := map[string]bool{}
		for _, f := range families {
			have[f.GetName()] = true
		}
		return have
	}
	always := []string{
		"machine_controller_workers", "machine_controller_errors_total", "machine_controller_machines_total",
		"machine_controller_provisioning_time_seconds", "machine_controller_deprovisioning_time_seconds",
	}
	deployment := &clusterv1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "md"}}
	inLab(t, labWorld(), nil, func(t *testing.T, l *lab) {
		have := names(t, l)
		for _, want := range always {
			if !have[want] {
				t.Errorf("without machines there is no %s: %v", want, have)
			}
		}
		l.add(deployment)
		l.add(machineOf("md-1"))
		m := l.until("md-1", "it runs", inPhase(phaseJoining))
		if err := l.direct.Delete(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		have = names(t, l)
		for _, want := range append(always, "machine_controller_machine_created", "machine_controller_machine_deleted",
			"machine_deployment_replicas", "machine_deployment_available_replicas", "machine_deployment_ready_replicas", "machine_deployment_updated_replicas") {
			if !have[want] {
				t.Errorf("there is no %s: %v", want, have)
			}
		}
	})
}
