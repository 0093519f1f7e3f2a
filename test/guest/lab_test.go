package guest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/cli"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/pvesim/qemu"
)

// patience is how long anything in a guest may take: many times what it takes
// on a machine that has nothing else to do.
var patience = flag.Duration("patience", 15*time.Minute, "how long anything in a guest may take")

// lab is a simulated Proxmox whose guests really run.
type lab struct {
	t        *testing.T
	dir      string
	backend  *qemu.Backend
	sim      *pvesim.Sim
	client   *pve.Client
	endpoint string
	print    string // fingerprint of the certificate
}

const password = "a-secret-of-the-lab"

// newLab starts one. The world says what is there beside the templates of
// the guests.
func newLab(t *testing.T, world *pvesim.World) *lab {
	t.Helper()
	return openLab(t, world, labFolder(t))
}

// labFolder is a new folder for a lab.
func labFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(labs, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// openLab starts one in a folder: anew, or as it was when another one in that folder has ended, with all guests off.
func openLab(t *testing.T, world *pvesim.World, dir string) *lab {
	t.Helper()
	backend, err := qemu.New(filepath.Join(dir, "qemu"))
	if err != nil {
		t.Fatal(err)
	}
	sim, err := pvesim.New(world, pvesim.WithMachines(backend), pvesim.WithData(filepath.Join(dir, "proxmox")))
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, dir: dir, backend: backend, sim: sim}
	t.Cleanup(func() {
		if t.Failed() {
			l.showWhatHappened()
		}
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	l.serve()
	return l
}

// serve lets clients in.
func (l *lab) serve() {
	l.t.Helper()
	// For its certificate.
	s := httptest.NewTLSServer(http.NotFoundHandler())
	cert, raw := s.TLS.Certificates[0], s.Certificate().Raw
	s.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- l.sim.Serve(ctx, tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"http/1.1"}}), "")
	}()
	l.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			l.t.Error(err)
		}
	})
	sum := sha256.Sum256(raw)
	l.endpoint, l.print = "https://"+listener.Addr().String(), hex.EncodeToString(sum[:])
	l.client, err = pve.New(pve.Config{
		Endpoints: []string{l.endpoint}, Credentials: pve.Password("root@pam", password), TLS: pve.TLS{Fingerprints: []string{l.print}},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(l.client.Close)
}

// showWhatHappened logs which tasks failed and the end of what guests printed.
func (l *lab) showWhatHappened() {
	l.sim.Do(func(st *pvesim.State) {
		for _, tasks := range st.Tasks {
			for _, task := range tasks {
				if task.Exit != "OK" {
					l.t.Logf("%s:\n%s", task.UPID, strings.Join(task.Log, "\n"))
				}
			}
		}
	})
	logs, _ := filepath.Glob(filepath.Join(l.dir, "qemu", "guests", "*", "serial*.log"))
	for _, path := range logs {
		text, _ := os.ReadFile(path)
		l.t.Logf("%s:\n%s", strings.TrimPrefix(path, l.dir), text[max(0, len(text)-4000):])
	}
}

// run runs proxplane as from a shell, and returns what it prints.
func (l *lab) run(args ...string) (string, error) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 2**patience)
	defer cancel()
	var out bytes.Buffer
	code := cli.Main(ctx, args, strings.NewReader(""), &out, &out)
	text := strings.ReplaceAll(out.String(), password, "…")
	if code != 0 {
		return text, fmt.Errorf("proxplane %s: exit status %d\n%s", strings.Join(args, " "), code, text)
	}
	return text, nil
}

// apply makes things as the manifests say. %s in them isn't replaced; what
// all need is put before them.
func (l *lab) apply(manifests string, flags ...string) string {
	l.t.Helper()
	out, err := l.tryApply(manifests, flags...)
	if err != nil {
		l.t.Fatal(err)
	}
	return out
}

// tryApply does so and says what went wrong.
func (l *lab) tryApply(manifests string, flags ...string) (string, error) {
	l.t.Helper()
	return l.tryApplyWith(provider, manifests, flags...)
}

// tryApplyWith does so with something else before them.
func (l *lab) tryApplyWith(common, manifests string, flags ...string) (string, error) {
	l.t.Helper()
	file := filepath.Join(l.dir, "manifests.yaml")
	if err := os.WriteFile(file, []byte(fmt.Sprintf(common, l.endpoint, l.print)+manifests), 0o600); err != nil {
		l.t.Fatal(err)
	}
	return l.run(append([]string{"apply", "-f", file, "--yes", "--timeout", patience.String()}, flags...)...)
}

// provider is how manifests find the lab, and what they have in common.
const provider = `apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {username: root@pam, password: ` + password + `}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: Provider
metadata: {name: lab}
spec: {type: proxmox, endpoint: %q, fingerprint: %q, credentialSecretRef: {name: login}}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 1, memory: 256Mi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: tiny}
spec: {source: tiny}
---
`

// providerWith is the same, where the Provider says more.
func providerWith(spec string) string {
	const login = "credentialSecretRef: {name: login}"
	return strings.Replace(provider, login, login+", "+spec, 1)
}

// vm finds a guest by its name.
func (l *lab) vm(name string) pve.VM {
	l.t.Helper()
	found := 0
	node := ""
	l.sim.Do(func(st *pvesim.State) {
		for id, vm := range st.VMs {
			if vm.Name() == name {
				found, node = id, vm.Node
			}
		}
	})
	if found == 0 {
		l.t.Fatalf("there is no VM %s", name)
	}
	return l.client.VM(node, found)
}

// eventually calls fn until it is content, and fails when it never is.
func (l *lab) eventually(what string, fn func(ctx context.Context) error) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), *patience)
	defer cancel()
	for {
		err := fn(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			l.t.Fatalf("%s: %v", what, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// power presses the buttons of a guest. Those that it has to hear may take it longer than
// Proxmox waits.
func (l *lab) power(action, name string) {
	l.t.Helper()
	command := l.as("power", action, name)
	if action == "shutdown" || action == "reboot" {
		command = append(command, "--timeout", patience.String())
	}
	if _, err := l.run(command...); err != nil {
		l.t.Fatal(err)
	}
}

// tells waits until the address of a guest is told to people. They hear none from an agent
// that takes long.
func (l *lab) tells(name, address string) {
	l.t.Helper()
	l.eventually(address, func(context.Context) error {
		out, err := l.run(l.as("describe", "vm/"+name)...)
		if err == nil && !strings.Contains(out, address) {
			err = fmt.Errorf("it isn't told:\n%s", out)
		}
		return err
	})
}
