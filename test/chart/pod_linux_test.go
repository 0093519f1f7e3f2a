package chart

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/proxplane/proxplane/test/kit/child"
	"github.com/proxplane/proxplane/test/kit/controlplane"
	"github.com/proxplane/proxplane/test/kit/need"
)

// pod is the operator's container as the chart describes it, without a container
// runtime: a root with what is in the image and nothing else, the volumes of the chart,
// its user, and no capabilities.
type pod struct {
	root   string // the files of the image and what a kubelet adds
	spec   corev1.PodSpec
	jailer jailer
}

// jailer says how a command gets into the pod.
type jailer struct {
	name  string
	enter func(p *pod, cmd *exec.Cmd)
}

// jailers are the ways, the better one first.
func jailers() []jailer {
	ways := []jailer{{"with namespaces of its own, its root read-only", byNamespace}}
	if os.Geteuid() == 0 {
		ways = append(ways, jailer{"with chroot, its root owned by another user", byChroot})
	}
	return ways
}

// newPod makes a pod of the Deployment that was installed, in the best way that this
// machine allows.
func newPod(t *testing.T, plane *controlplane.Plane) *pod {
	t.Helper()
	p := &pod{root: image(t), spec: installed(t, plane)}
	p.kubelet(t, plane)
	var refused error
	for _, j := range jailers() {
		p.jailer = j
		out, err := p.command(t, "--version").CombinedOutput()
		if err == nil {
			t.Logf("the operator runs %s", j.name)
			return p
		}
		t.Logf("the operator can't run %s: %v\n%s", j.name, err, out)
		refused = errors.Join(refused, fmt.Errorf("%s: %w: %s", j.name, err, out))
	}
	need.None(t, refused)
	return nil
}

// installed is the pod of the Deployment in Kubernetes.
func installed(t *testing.T, plane *controlplane.Plane) corev1.PodSpec {
	t.Helper()
	var list appsv1.DeploymentList
	if err := json.Unmarshal([]byte(output(t, plane.Kubectl(t.Context(), "-n", "proxplane", "get", "deployment", "-o", "json"))), &list); err != nil || len(list.Items) != 1 {
		t.Fatalf("%d Deployments, %v", len(list.Items), err)
	}
	return list.Items[0].Spec.Template.Spec
}

// image makes the files of the image, as the Dockerfile says.
func image(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, last, ok := strings.Cut(string(text), "\nFROM scratch\n")
	if !ok {
		t.Fatal("the image isn't made from scratch")
	}
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^COPY --from=build (\S+) (\S+)$`).FindAllStringSubmatch(last, -1) {
		from, to := m[1], m[2]
		if strings.HasSuffix(to, "/") {
			to += filepath.Base(from)
		}
		if from == "/proxplane" {
			program, err := imageProgram()
			if err == nil {
				err = errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(root, to)), 0o755), os.Link(program, filepath.Join(root, to)))
			}
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		content, err := os.ReadFile(from)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // not every machine has certificates
			t.Fatal(err)
		}
		place(t, filepath.Join(root, to), content)
	}
	return root
}

// imageProgram is the program as the image has it (but for the names of folders in it), built once for all tests.
var imageProgram = sync.OnceValues(func() (string, error) {
	program := filepath.Join(sharedDir, "proxplane")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program, "../../cmd/proxplane")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program of the image: %w\n%s", err, out)
	}
	return program, nil
})

func place(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// kubelet adds what a kubelet puts into every pod: its service account's token, and
// folders to mount volumes on.
func (p *pod) kubelet(t *testing.T, plane *controlplane.Plane) {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(filepath.Dir(plane.Kubeconfig), "apiserver.crt"))
	if err != nil {
		t.Fatal(err)
	}
	token := output(t, plane.Kubectl(t.Context(), "-n", "proxplane", "create", "token", p.spec.ServiceAccountName))
	for name, content := range map[string][]byte{"token": []byte(strings.TrimSpace(token)), "ca.crt": ca, "namespace": []byte("proxplane")} {
		place(t, filepath.Join(p.root, "var/run/secrets/kubernetes.io/serviceaccount", name), content)
	}
	for path := range p.memoryVolumes(t) {
		if err := os.MkdirAll(filepath.Join(p.root, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// memoryVolumes are the volumes in memory that the operator has, with their sizes.
func (p *pod) memoryVolumes(t *testing.T) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for _, m := range p.spec.Containers[0].VolumeMounts {
		for _, v := range p.spec.Volumes {
			if v.Name != m.Name {
				continue
			}
			if v.EmptyDir == nil || v.EmptyDir.Medium != corev1.StorageMediumMemory || v.EmptyDir.SizeLimit == nil {
				t.Fatalf("the test doesn't know how to mount %+v", v)
			}
			all[m.MountPath] = v.EmptyDir.SizeLimit.Value()
		}
	}
	return all
}

// memory is what the operator may take, in bytes.
func (p *pod) memory() int64 { return p.spec.Containers[0].Resources.Limits.Memory().Value() }

// environment is what the chart says, and where Kubernetes is.
func (p *pod) environment(t *testing.T) []string {
	t.Helper()
	var env []string
	for _, e := range p.spec.Containers[0].Env {
		value := e.Value
		if from := e.ValueFrom; from != nil {
			if from.ResourceFieldRef == nil || from.ResourceFieldRef.Resource != "limits.memory" {
				t.Fatalf("the test doesn't know what %s is", e.Name)
			}
			value = strconv.FormatInt(p.memory(), 10)
		}
		env = append(env, e.Name+"="+value)
	}
	return env
}

// command is proxplane in the pod.
func (p *pod) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proxplane", args...)
	cmd.Env = p.environment(t)
	p.jailer.enter(p, cmd)
	return cmd
}

// operate runs the operator in the pod with the chart's arguments, until the test ends.
// Ports and times are other ones: it shares its network with other tests.
func (p *pod) operate(t *testing.T, plane *controlplane.Plane, more ...string) *exec.Cmd {
	t.Helper()
	at, err := url.Parse(plane.URL)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--metrics-address=", "--health-address=", "--lease-duration", (2 * patience).String(), "--renew-deadline", patience.String()}
	cmd := p.command(t, slices.Concat(p.spec.Containers[0].Args, args, more)...)
	cmd.Env = append(cmd.Env, "KUBERNETES_SERVICE_HOST="+at.Hostname(), "KUBERNETES_SERVICE_PORT="+at.Port())
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := child.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the operator has ended: %v", err)
		}
	})
	return cmd
}

// byNamespace has the command begin in namespaces of its own, where [enterPod] is.
func byNamespace(p *pod, cmd *exec.Cmd) {
	user, group := p.ids()
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	volumes, err := json.Marshal(p.spec)
	if err != nil {
		panic(err)
	}
	cmd.Path = self
	cmd.Env = append(cmd.Env, asPod+"="+p.root, asPod+"_SPEC="+string(volumes))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: group, HostID: os.Getgid(), Size: 1}},
		AmbientCaps: needed,
	}
}

// byChroot has the command begin with another root, whose files belong to another user:
// volumes are folders in it.
func byChroot(p *pod, cmd *exec.Cmd) {
	user, group := p.ids()
	for _, m := range p.spec.Containers[0].VolumeMounts {
		if err := os.Chown(filepath.Join(p.root, m.MountPath), user, group); err != nil {
			panic(err)
		}
	}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: p.root, Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(group)}}
}

// ids are the user and the group of the pod.
func (p *pod) ids() (user, group int) {
	s := p.spec.SecurityContext
	return int(*s.RunAsUser), int(cmp.Or(*s.RunAsGroup, *s.RunAsUser))
}
