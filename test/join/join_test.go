package join_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	certv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/proxplane/proxplane/firstboot"
	"github.com/proxplane/proxplane/kube/join"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/kubelet"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// proxmox is a simulated one with machines that join as the door's.
func proxmox(t *testing.T, name string) (door, *kubelet.Fleet) {
	t.Helper()
	w := pvesim.DefaultWorld()
	sim.Quick(w)
	s, err := sim.Start(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	fleet, err := kubelet.Start(plane.Kubeconfig, kubelet.Options{}, s.Sim)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fleet.Stop)
	return door{name: name, pve: s}, fleet
}

// boot makes a machine with user-data, as doors do it, and starts it.
func (d door) boot(t *testing.T, id int, name, user string) {
	t.Helper()
	ctx := t.Context()
	disc, err := firstboot.ISO(map[string][]byte{"user-data": []byte(user), "meta-data": []byte("instance-id: " + name + "\nlocal-hostname: " + name + "\n")})
	if err != nil {
		t.Fatal(err)
	}
	upid, err := d.pve.Root.Storage("pve1", "local").Upload(ctx, pve.Upload{Content: "iso", Filename: name + ".iso", Body: bytes.NewReader(disc)})
	if err == nil {
		_, err = d.pve.Root.Task(upid).Wait(ctx)
	}
	if err == nil {
		err = d.pve.Call(ctx, "POST", "/nodes/pve1/qemu/9000/clone", pve.Params{"newid": id, "name": name})
	}
	if err == nil {
		err = d.pve.Call(ctx, "PUT", fmt.Sprintf("/nodes/pve1/qemu/%d/config", id), pve.Params{"ide2": "local:iso/" + name + ".iso,media=cdrom", "cores": 2, "memory": 2048})
	}
	if err == nil {
		err = d.pve.Touch(ctx, name, "POST", "/status/start", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// users are the ways to say to a machine that it is a node.
func users(cluster join.Cluster, token join.Token, name string) map[string]string {
	hashes, _ := cluster.CAHashes()
	kubeconfig, _ := cluster.Kubeconfig(token)
	return map[string]string{
		"kubeadm": fmt.Sprintf(`#cloud-config
hostname: %s
write_files:
  - path: /etc/kubernetes/join.yaml
    content: |
      apiVersion: kubeadm.k8s.io/v1beta4
      kind: JoinConfiguration
      discovery:
        bootstrapToken: {token: %s, apiServerEndpoint: %q, caCertHashes: [%q]}
      nodeRegistration:
        kubeletExtraArgs: [{name: provider-id, value: "proxmox://lab/%[1]s"}]
        taints: []
`, name, token.Reveal(), strings.TrimPrefix(cluster.Server, "https://"), hashes[0]),
		"kubelet": fmt.Sprintf(`#cloud-config
hostname: %s
write_files:
  - {path: /etc/kubernetes/bootstrap-kubelet.conf, encoding: b64, content: %s}
  - {path: /etc/systemd/system/kubelet.service, content: "kubelet --provider-id=proxmox://lab/%[1]s"}
`, name, base64.StdEncoding.EncodeToString(kubeconfig)),
		"talos": fmt.Sprintf(`machine: {network: {hostname: %s}, kubelet: {extraConfig: {providerID: "proxmox://lab/%[1]s"}}}
cluster: {controlPlane: {endpoint: %q}, token: %s, ca: {crt: %s}}
`, name, cluster.Server, token.Reveal(), base64.StdEncoding.EncodeToString(cluster.CA)),
	}
}

func ready(ctx context.Context, name string) (node corev1.Node, is bool) {
	if c.Get(ctx, types.NamespacedName{Name: name}, &node) != nil {
		return node, false
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return node, condition.Status == corev1.ConditionTrue
		}
	}
	return node, false
}

// Machines become nodes by each kind of user-data, get their certificates, lose their tokens, run pods, and are missed
// when they stop.
func TestMachinesBecomeNodes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d, fleet := proxmox(t, "joined")
	d.approve(t)
	cluster, err := join.Find(ctx, c, config, "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, how := range []string{"kubeadm", "kubelet", "talos"} {
		name := "joined-" + how
		token, err := d.tokens().For(ctx, d.machine(name))
		if err != nil {
			t.Fatal(err)
		}
		d.boot(t, 300+i, name, users(cluster, token, name)[how])
		names = append(names, name)
	}
	for _, name := range names {
		await(t, func() string {
			node, is := ready(ctx, name)
			if !is {
				return fmt.Sprintf("%s isn't ready: %v", name, fleet.Problems())
			}
			if node.Spec.ProviderID != "proxmox://lab/"+name || node.Status.Capacity.Cpu().Value() != 2 || node.Status.Capacity.Memory().Value() != 2<<30 {
				t.Fatalf("the node is %+v with %v", node.Spec, node.Status.Capacity)
			}
			if fleet.Serving(name) == nil {
				return fmt.Sprintf("%s has no serving certificate: %v", name, fleet.Problems())
			}
			return ""
		})
		block, _ := pem.Decode(fleet.Serving(name))
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil || cert.VerifyHostname(name) != nil || len(cert.IPAddresses) == 0 {
			t.Errorf("the serving certificate of %s is for %v and %v (%v)", name, cert.DNSNames, cert.IPAddresses, err)
		}
	}
	await(t, func() string { return left(ctx, t, d) })
	d.runsPods(t)

	// A machine that stops is missed; when it starts again it is the same node, without a token.
	const lost = "joined-kubelet"
	if err := d.pve.Touch(ctx, lost, "POST", "/status/stop", nil); err != nil {
		t.Fatal(err)
	}
	await(t, func() string {
		if _, is := ready(ctx, lost); is {
			return lost + " stays ready"
		}
		return ""
	})
	if err := d.pve.Touch(ctx, lost, "POST", "/status/start", nil); err != nil {
		t.Fatal(err)
	}
	await(t, func() string {
		if _, is := ready(ctx, lost); !is {
			return fmt.Sprintf("%s isn't ready again: %v", lost, fleet.Problems())
		}
		return ""
	})
}

// left says which tokens of a door are left.
func left(ctx context.Context, t *testing.T, d door) string {
	t.Helper()
	var list corev1.SecretList
	if err := c.List(ctx, &list, client.InNamespace("kube-system"), client.MatchingLabels{"proxplane.io/join-door": d.name}); err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, s := range list.Items {
		names += s.Name + " is left\n"
	}
	return names
}

// runsPods has the scheduler put pods onto the nodes, and the nodes run and end them.
func (d door) runsPods(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	labels := map[string]string{"app": d.name}
	web := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: d.name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](30), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}}},
		},
	}
	if err := c.Create(ctx, web); err != nil {
		t.Fatal(err)
	}
	await(t, func() string {
		if err := c.Get(ctx, client.ObjectKeyFromObject(web), web); err != nil {
			t.Fatal(err)
		}
		if web.Status.ReadyReplicas != 30 {
			return fmt.Sprintf("%d pods are ready", web.Status.ReadyReplicas)
		}
		return ""
	})
	if err := c.Delete(ctx, web, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	await(t, func() string {
		var pods corev1.PodList
		if err := c.List(ctx, &pods, client.InNamespace("default"), client.MatchingLabels(labels)); err != nil {
			t.Fatal(err)
		}
		if len(pods.Items) > 0 {
			return fmt.Sprintf("%d pods are left", len(pods.Items))
		}
		return ""
	})
}

// Somebody who has got at the token of a machine gets no certificate but that of this machine, and a node none for
// others' addresses; requests that aren't from machines of ours are left to others.
func TestStolenTokensAreWorthLittle(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d, _ := proxmox(t, "stolen")
	d.approve(t)
	const name = "stolen-1"
	d.boot(t, 300, name, "#cloud-config\n{}\n")
	token, err := d.tokens().For(ctx, d.machine(name))
	if err != nil {
		t.Fatal(err)
	}
	foreign := door{name: "another", pve: d.pve}
	other, err := foreign.tokens().For(ctx, d.machine("somebody"))
	if err != nil {
		t.Fatal(err)
	}
	own := d.pve.Addresses(300)[0].Addr().AsSlice()
	thief, stranger := rest.Config{BearerToken: token.Reveal()}, rest.Config{BearerToken: other.Reveal()}
	node := rest.Config{BearerToken: config.BearerToken, Impersonate: rest.ImpersonationConfig{UserName: "system:node:" + name, Groups: []string{"system:nodes", "system:authenticated"}}}
	client, serving := certv1.KubeAPIServerClientKubeletSignerName, certv1.KubeletServingSignerName
	requests := []struct {
		reason, signer, cn, org string
		as                      rest.Config
		addresses               []net.IP
		want                    certv1.RequestConditionType
	}{
		{"its own client certificate", client, "system:node:" + name, "system:nodes", thief, nil, certv1.CertificateApproved},
		{"that of another node", client, "system:node:control-plane", "system:nodes", thief, nil, certv1.CertificateDenied},
		{"with the token of another door", client, "system:node:" + name, "system:nodes", stranger, nil, ""},
		{"its own serving certificate", serving, "system:node:" + name, "system:nodes", node, []net.IP{own}, certv1.CertificateApproved},
		{"one for the address of the API server", serving, "system:node:" + name, "system:nodes", node, []net.IP{net.IPv4(127, 0, 0, 1)}, ""},
	}
	made := make([]string, len(requests))
	for i, r := range requests {
		made[i] = request(t, r.as, r.signer, r.cn, r.org, r.addresses)
	}
	await(t, func() string {
		for i, r := range requests {
			if got := decision(t, made[i]); got != "" && got != r.want {
				t.Fatalf("%s: the decision is %q and not %q", r.reason, got, r.want)
			} else if got != r.want {
				return fmt.Sprintf("%s: nothing is decided", r.reason)
			}
		}
		return ""
	})
}

func decision(t *testing.T, name string) certv1.RequestConditionType {
	t.Helper()
	var csr certv1.CertificateSigningRequest
	if err := c.Get(t.Context(), types.NamespacedName{Name: name}, &csr); err != nil {
		t.Fatal(err)
	}
	for _, condition := range csr.Status.Conditions {
		return condition.Type
	}
	return ""
}

// request asks for a certificate as somebody.
func request(t *testing.T, as rest.Config, signer, cn, org string, addresses []net.IP) (name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: cn, Organization: []string{org}}, IPAddresses: addresses}, key)
	if err != nil {
		t.Fatal(err)
	}
	as.Host, as.TLSClientConfig = config.Host, config.TLSClientConfig
	somebody, err := kubernetes.NewForConfig(&as)
	if err != nil {
		t.Fatal(err)
	}
	usage := certv1.UsageClientAuth
	if signer == certv1.KubeletServingSignerName {
		usage = certv1.UsageServerAuth
	}
	csr, err := somebody.CertificatesV1().CertificateSigningRequests().Create(t.Context(), &certv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "story-"},
		Spec: certv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: signer,
			Usages: []certv1.KeyUsage{certv1.UsageDigitalSignature, usage},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return csr.Name
}
