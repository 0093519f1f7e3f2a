package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/cli/simulator"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// lab is a simulated cluster that the command line talks to over HTTPS.
type lab struct {
	testing.TB
	sim    *pvesim.Sim
	folder string
	env    map[string]string
	shared bool // the environment is that of the process
}

// newLab starts one that is much faster than real, and lets the environment of
// the process point at it.
func newLab(t *testing.T) *lab {
	t.Helper()
	return sharedLab(t, startLab(t))
}

// newClockLab starts one whose clock is right, as the doctor wants it, and so no faster
// than real.
func newClockLab(t *testing.T) *lab {
	t.Helper()
	return sharedLab(t, startLabWith(t, pvesim.NewFastClock(1)))
}

// sharedLab lets the environment of the process point at a lab.
func sharedLab(t *testing.T, l *lab) *lab {
	t.Helper()
	l.shared = true
	clearEnvironment(t)
	for name, value := range l.env {
		t.Setenv(name, value)
	}
	return l
}

// ownLab starts one for a test that runs beside others, in an environment of
// its own.
func ownLab(t *testing.T) *lab {
	t.Helper()
	t.Parallel()
	return startLab(t)
}

func startLab(t testing.TB) *lab {
	t.Helper()
	// Not faster: what Proxmox waits for before it gives up must leave time to a
	// machine that is busy with other tests.
	return startLabWith(t, pvesim.NewFastClock(15))
}

func startLabWith(t testing.TB, clock pvesim.Clock) *lab {
	t.Helper()
	w := pvesim.DefaultWorld()
	sim.Uneven(w)
	w.Timing.Template = pvesim.Duration(3 * time.Second) // as real as the rest: the clock is what is fast
	return startLabIn(t, clock, w)
}

func startLabIn(t testing.TB, clock pvesim.Clock, w *pvesim.World) *lab {
	t.Helper()
	cluster, err := pvesim.New(w, pvesim.WithClock(clock), pvesim.WithInternet(pvesim.BootableImages{}))
	if err != nil {
		t.Fatal(err)
	}
	cert, _, err := simulator.Certificate("", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cluster.Serve(ctx, tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"http/1.1"}}), "")
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return &lab{TB: t, sim: cluster, folder: t.TempDir(), env: map[string]string{
		"PVE_ENDPOINT": "https://" + listener.Addr().String(), "PVE_USERNAME": "root@pam", "PVE_PASSWORD": "proxplane", "TERM": "xterm",
		"PVE_CA_BUNDLE": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})),
	}}
}

// ui is somebody in the lab.
func (l *lab) ui(in io.Reader, out, err io.Writer) *ui.UI {
	u := ui.New(in, out, err)
	if !l.shared {
		u.Getenv = func(name string) string { return l.env[name] }
	}
	return u
}

// clearEnvironment keeps the machine's own settings out of tests.
func clearEnvironment(t *testing.T) {
	t.Helper()
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "PVE_") || strings.HasPrefix(name, "PROXMOX_VE_") || name == "NO_COLOR" {
			t.Setenv(name, "")
		}
	}
}

// write makes a file and returns its name.
func (l *lab) write(name, text string) string {
	l.Helper()
	file := filepath.Join(l.folder, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		l.Fatal(err)
	}
	return file
}

// run runs a command with no terminal anywhere.
func (l *lab) run(args ...string) (code int, stdout, stderr string) {
	l.Helper()
	var out, err bytes.Buffer
	code = Execute(l.Context(), l.ui(strings.NewReader(""), &out, &err), args)
	return code, out.String(), err.String()
}

func run(ctx context.Context, stdin string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = Main(ctx, args, strings.NewReader(stdin), &out, &err)
	return code, out.String(), err.String()
}

// must runs a command that succeeds.
func (l *lab) must(args ...string) string {
	l.Helper()
	code, out, err := l.run(args...)
	if code != ui.ExitOK {
		l.Fatalf("proxplane %s: exit %d\n%s%s", strings.Join(args, " "), code, out, err)
	}
	return out
}

// wantText checks that a text matches patterns, in any order.
func wantText(t *testing.T, text string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(`(?m)` + p).MatchString(text) {
			t.Errorf("nothing matches %q in:\n%s", p, text)
		}
	}
}
