package chart

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/child"
	"github.com/proxplane/proxplane/test/kit/controlplane"
	"github.com/proxplane/proxplane/test/kit/itself"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// steps are the commands for the shell in a section of a page, block by block.
func steps(t *testing.T, page, title string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## "+title+"\n")
	if !ok {
		t.Fatalf("%s has no section %q", page, title)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var list []string
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1) {
		list = append(list, m[1])
	}
	return list
}

// Who types what the page says has a machine in the end. What is otherwise here than
// there is the address of Proxmox, the token, and that nothing runs pods.
func TestThePageLeadsToAMachine(t *testing.T) {
	plane := start(t)
	server := simulate(t, func(w *pvesim.World) {
		w.ACL = []pvesim.WorldACL{{Path: "/", Role: "PVEAdmin", User: sim.User}} // as on the page
	})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pve-root-ca.pem"), sim.CA(), 0o600); err != nil {
		t.Fatal(err)
	}
	blocks := steps(t, "../../docs/operator.md", "From nothing to a machine")
	if len(blocks) != 3 {
		t.Fatalf("there are %d blocks of commands", len(blocks))
	}
	here := strings.NewReplacer(downloads, released(t, "0.1.0")+"/", "https://pve.example.com:8006", server.Endpoint, "proxplane@pve!kubernetes", sim.TokenID)
	shell := func(block string) string {
		t.Helper()
		kubectl := plane.Kubectl(t.Context())
		cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", here.Replace(block))
		cmd.Dir = dir
		cmd.Env = append(kubectl.Env, "SECRET="+sim.TokenSecret, "PATH="+filepath.Dir(kubectl.Path)+":"+os.Getenv("PATH"))
		return output(t, cmd)
	}
	shell(blocks[0])
	running(t, plane)
	shell(blocks[1])
	serve(t, plane, "proxplane", "proxplane")
	shown := shell(blocks[2])
	if !regexp.MustCompile(`web-1 +running +pve\d +\d+ +[\d.]+ +True +\S+ +small +ubuntu-22`).MatchString(shown) {
		t.Errorf("in the end there is\n%s", shown)
	}
}

// downloads is where the newest release is.
const downloads = "https://github.com/proxplane/proxplane/releases/latest/download/"

// Who has no Proxmox tries it on the simulator. What is otherwise here than there is the
// simulator's port, and that there is no kubectl of the reader's own.
func TestThePageLeadsToAMachineOnTheSimulator(t *testing.T) {
	plane, server := start(t), simulate(t)
	const page, title = "../../docs/operator.md", "Try it without a Proxmox"
	blocks := steps(t, page, title)
	if len(blocks) != 3 {
		t.Fatalf("there are %d blocks of commands", len(blocks))
	}
	here := strings.NewReplacer(downloads, released(t, "0.1.0")+"/", "https://127.0.0.1:8006", server.Endpoint)
	shell := func(block string) string {
		t.Helper()
		kubectl := plane.Kubectl(t.Context())
		cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", here.Replace(block))
		cmd.Env = append(kubectl.Env, "PATH="+filepath.Dir(kubectl.Path)+":"+os.Getenv("PATH"))
		return output(t, cmd)
	}
	shell(blocks[0])
	operator, err := itself.Command(context.Background(), "operator", "--alone", "--metrics-address=", "--health-address=") // other tests have these ports
	if err != nil {
		t.Fatal(err)
	}
	operator.Env = append(operator.Env, "KUBECONFIG="+plane.Kubeconfig)
	operator.Stdout, operator.Stderr = t.Output(), t.Output()
	if err := child.Start(operator); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = operator.Process.Kill()
		_ = operator.Wait()
	})
	if shown := shell(blocks[1]); !regexp.MustCompile(`first +running +pve\d +\d+ +[\d.]+ +True +\S+ +tiny +template`).MatchString(shown) {
		t.Errorf("in the end there is\n%s", shown)
	}
	shell(strings.ReplaceAll(blocks[2], "kubectl delete namespace try --wait=false", "kubectl -n try delete vm first --wait=false")) // nobody removes namespaces here
}

// running says of the Deployment what its controller would.
func running(t *testing.T, plane *controlplane.Plane) {
	t.Helper()
	const up = `{"status":{"observedGeneration":1,"replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2}}`
	output(t, plane.Kubectl(t.Context(), "-n", "proxplane", "patch", "deployment", "proxplane", "--subresource=status", "--type=merge", "-p", up))
}

// serve runs the operator as its pod would: with its service account and its
// arguments.
func serve(t *testing.T, plane *controlplane.Plane, namespace, account string) {
	t.Helper()
	token := strings.TrimSpace(output(t, plane.Kubectl(t.Context(), "-n", namespace, "create", "token", account)))
	args := strings.Fields(output(t, plane.Kubectl(t.Context(), "-n", namespace, "get", "deployment", "proxplane", "-o", "jsonpath={.spec.template.spec.containers[0].args[*]}")))
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{name: x, cluster: {server: %q, certificate-authority: %q}}]\n"+
		"users: [{name: x, user: {token: %q}}]\ncontexts: [{name: x, context: {cluster: x, user: x}}]\n", plane.URL, filepath.Join(filepath.Dir(plane.Kubeconfig), "apiserver.crt"), token)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, err := itself.Command(t.Context(), append(args, "--kubeconfig", kubeconfig, "--metrics-address", "", "--health-address", "", "--lease-duration", (2*patience).String(), "--renew-deadline", patience.String())...)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := child.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}
