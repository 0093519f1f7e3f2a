package chart

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/proxplane/proxplane/operator"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/controlplane"
	"github.com/proxplane/proxplane/test/kit/sim"
)

const machines = `
apiVersion: infra.virtrigaud.io/v1beta1
kind: Provider
metadata: {name: lab}
spec: {type: proxmox, endpoint: "%s", credentialSecretRef: {name: pve-credentials}}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 2, memory: 4Gi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: ubuntu-22}
spec: {source: ubuntu-22-template}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: web-1}
spec:
  providerRef: {name: lab}
  classRef: {name: small}
  imageRef: {name: ubuntu-22}
  networks: [{name: lan}]
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: Provider
metadata: {name: unknown}
spec: {type: proxmox, endpoint: "%s", credentialSecretRef: {name: no-ca}}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: Provider
metadata: {name: refused}
spec: {type: proxmox, endpoint: "%s", credentialSecretRef: {name: wrong-password}}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: nowhere}
spec:
  providerRef: {name: lab}
  classRef: {name: small}
  imageRef: {name: ubuntu-22}
  networks: [{name: lan}]
  disks: [{name: root, size: 40Gi, storage: no-such-storage}]
`

// others are objects of all other kinds, and those that several machines are made of.
const others = `
apiVersion: v1
kind: ConfigMap
metadata: {name: user-data}
data: {user-data: "#cloud-config\\nlocale: C.UTF-8"}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: fetched}
spec: {url: "https://images.example/debian.qcow2", checksum: %sum}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMPlacementPolicy
metadata: {name: anywhere}
spec: {constraints: {maxVMsPerNode: 50}}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: several}
spec:
  count: 2
  providerRef: {name: lab}
  classRef: {name: small}
  imageRef: {name: fetched}
  placementRef: {name: anywhere}
  powerState: Off
  userData: {cloudInit: {configMapRef: {name: user-data}}}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClone
metadata: {name: copy}
spec: {sourceVMRef: {name: web-1}, providerRef: {name: lab}, powerState: Off}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMSnapshot
metadata: {name: before}
spec: {vmRef: {name: web-1}}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: far-away}
spec: {providerRef: {name: refused}, source: some-template}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: far-away}
spec: {providerRef: {name: refused}, classRef: {name: small}, imageRef: {name: far-away}}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClone
metadata: {name: far-away}
spec: {sourceVMRef: {name: far-away}, providerRef: {name: refused}}
`

// The chart is installed; the operator runs with the rights of its service account
// and nothing else, makes a machine and deletes it again. What dashboard and alerts
// ask for is then there.
func TestTheChartGivesTheOperatorWhatItNeeds(t *testing.T) {
	// API servers before 1.34 have clients list before they watch.
	t.Setenv("KUBE_FEATURE_WatchListClient", "false")
	helm, promql := program(t, "helm"), program(t, "promql")
	plane := start(t)
	output(t, helmCommand(t.Context(), helm, plane, "install", "pp", chart, "-n", "proxplane", "--create-namespace"))
	token := output(t, plane.Kubectl(t.Context(), "-n", "proxplane", "create", "token", "pp-proxplane"))

	server := simulate(t)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, sim.CA(), 0o600); err != nil {
		t.Fatal(err)
	}
	for secret, args := range map[string][]string{
		"pve-credentials": {"--from-literal=password=proxplane", "--from-file=ca.crt=" + ca},
		"no-ca":           {"--from-literal=password=proxplane"},
		"wrong-password":  {"--from-literal=password=wrong", "--from-file=ca.crt=" + ca},
	} {
		output(t, plane.Kubectl(t.Context(), append([]string{"create", "secret", "generic", secret, "--from-literal=username=root@pam"}, args...)...))
	}

	operate(t, plane, strings.TrimSpace(token))
	apply := func(text string) {
		t.Helper()
		cmd := plane.Kubectl(t.Context(), "apply", "-f", "-")
		cmd.Stdin = strings.NewReader(text)
		output(t, cmd)
	}
	apply(strings.ReplaceAll(machines, "%s", server.Endpoint))
	output(t, plane.Kubectl(t.Context(), "wait", "--for=condition=Ready", "vm/web-1", "--timeout", patience.String()))
	apply(strings.ReplaceAll(others, "%sum", sim.ImageSum()))
	output(t, plane.Kubectl(t.Context(), "wait", "--for=condition=Ready", "vm/several", "vmclone/copy", "vmsnapshot/before", "--timeout", patience.String()))

	troubleIsTold(t, plane)
	exported, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, expr := range expressions(t) {
		for _, missing := range unanswered(t, promql, expr, exported) {
			t.Errorf("%s: %s", expr, missing)
		}
	}
	// Nothing was ever made of these, and nobody can be asked: they are let go all the same.
	for _, kind := range []string{"vmclone", "vm", "vmimage"} {
		condition := `--for=jsonpath={.status.conditions[?(@.type=="Ready")].status}=False`
		output(t, plane.Kubectl(t.Context(), "wait", condition, kind+"/far-away", "--timeout", patience.String()))
		output(t, plane.Kubectl(t.Context(), "delete", kind, "far-away", "--timeout", patience.String()))
	}
	output(t, plane.Kubectl(t.Context(), "delete", "vmsnapshot,vmclone,vm,vmimage", "--all", "--timeout", patience.String()))
	output(t, plane.Kubectl(t.Context(), "delete", "provider", "--all", "--timeout", patience.String()))
	rightsAreUsed(t, plane)
}

// operate runs the operator with a token's rights, until the test ends.
func operate(t *testing.T, plane *controlplane.Plane, token string) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		done <- operator.Run(t.Context(), operator.Config{
			Kubernetes: &rest.Config{Host: plane.URL, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1},
			Election:   &operator.Election{Namespace: "proxplane", Lease: 2 * patience, Renew: patience}, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		})
	}()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Errorf("the operator has ended: %v", err)
		}
	})
}

// troubleIsTold looks at objects whose specs are invalid: they say why, as the page on the
// operator has it.
func troubleIsTold(t *testing.T, plane *controlplane.Plane) {
	t.Helper()
	for _, trouble := range []struct{ object, reason, text string }{
		{"provider/unknown", "ProxmoxAway", "pve-root-ca.pem as ca.crt in the Secret"},
		{"provider/refused", "LoginRefused", "authentication failure"},
		{"vm/nowhere", "NotFound", "there is no storage no-such-storage"},
	} {
		condition := fmt.Sprintf(`--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=%s`, trouble.reason)
		if out, err := plane.Kubectl(t.Context(), "wait", condition, trouble.object, "--timeout", patience.String()).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", trouble.object, err, out)
		}
		told := output(t, plane.Kubectl(t.Context(), "get", trouble.object, "-o", "jsonpath={.status.conditions[0].message}"))
		t.Logf("%s: %s", trouble.object, told)
		if !strings.Contains(told, trouble.text) {
			t.Errorf("%s says %q", trouble.object, told)
		}
	}
}

// patience is how long something may take that should happen.
const patience = 5 * time.Minute

// simulate starts a simulated Proxmox.
func simulate(t *testing.T, change ...func(*pvesim.World)) *sim.Server {
	t.Helper()
	world := pvesim.DefaultWorld()
	sim.Quick(world)
	sim.Uneven(world)
	for _, c := range change {
		c(world)
	}
	return serveWorld(t, world)
}

// serveWorld serves a simulated Proxmox until the test ends.
func serveWorld(t *testing.T, w *pvesim.World) *sim.Server {
	t.Helper()
	server, err := sim.Start(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}
