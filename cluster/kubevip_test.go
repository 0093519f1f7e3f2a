package cluster

import (
	"flag"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/test/kit/tool"
)

var buildKubeVIP = flag.Bool("kube-vip", false, "build kube-vip if need be, and compare the static pod with what it writes (make test-clients)")

func TestTheStaticPodIsWhatKubeVIPsGeneratorWrites(t *testing.T) {
	set, err := tool.Open(t.Context(), "../test/clients/kubevip")
	if err != nil {
		t.Fatal(err)
	}
	if *buildKubeVIP {
		if err := set.Build(t.Context(), os.Stderr); err != nil {
			t.Fatal(err)
		}
	}
	if !set.Built() {
		t.Skip("kube-vip isn't built yet; make test-clients does that")
	}
	for _, c := range []struct {
		reason, vip, distribution, nic string
	}{
		{"the default", "192.168.1.200", "rke2", ""},
		{"k3s has its kubeconfig elsewhere", "192.168.1.200", "k3s", ""},
		{"an interface is named", "10.0.0.9", "rke2", "ens18"},
		{"IPv6 has other prefixes", "fd00::200", "rke2", ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			f := &File{Provider: Provider{VIP: c.vip}, Kubernetes: Kubernetes{Distribution: c.distribution, KubeVIP: KubeVIP{Interface: c.nic}}}
			f.Fill()
			text, err := kubeVIP(f)
			if err != nil {
				t.Fatal(err)
			}
			args := []string{"manifest", "pod", "--controlplane", "--arp", "--leaderElection", "--address", c.vip}
			if c.nic != "" {
				args = append(args, "--interface", c.nic)
			}
			out, err := exec.CommandContext(t.Context(), set.Path("kube-vip"), args...).Output()
			if err != nil {
				t.Fatal(err)
			}
			var have, want corev1.Pod
			if err := yaml.UnmarshalStrict([]byte(text), &have); err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict(out, &want); err != nil {
				t.Fatal(err)
			}
			// The distributions have their kubeconfig elsewhere than kubeadm, and write it later.
			file := corev1.HostPathFile
			want.Spec.Volumes[0].HostPath.Path, want.Spec.Volumes[0].HostPath.Type = distributions[c.distribution].kubeconfig(), &file
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("it differs from kube-vip's own (-kube-vip +ours):\n%s", diff)
			}
		})
	}
}
