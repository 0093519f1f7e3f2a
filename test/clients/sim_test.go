package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/proxplane/proxplane/test/clients/rawapi"
)

const (
	simUser     = "root@pam"
	simPassword = "proxplane"
)

// sim is a running `proxplane sim` with its default world.
type sim struct {
	release string
	url     string
	raw     *rawapi.Client
	log     string
	sshPort string // of the node pve1
}

var buildProxplane = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binaries, "proxplane")
	say("building proxplane")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/proxplane")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	return path, cmd.Run()
})

var (
	simURL = regexp.MustCompile(`https://127\.0\.0\.1:[0-9]+`)
	simSSH = regexp.MustCompile(`^ +ssh +pve1 +127\.0\.0\.1:([0-9]+)$`)
)

// startSim starts a fresh simulator of a release on a free port and stops it
// with the test.
func startSim(t *testing.T, release string) *sim {
	t.Helper()
	binary, err := buildProxplane()
	if err != nil {
		t.Fatalf("build proxplane: %v", err)
	}
	s := &sim{release: release, log: filepath.Join(t.TempDir(), "requests.jsonl")}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, binary, "sim", "--listen", "127.0.0.1:0", "--pve", release, "--log", s.log, "--speed", "10", "--ssh", "127.0.0.1:0")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the simulator: %v", err)
	}
	drained := make(chan struct{})
	ready := make(chan string, 1)
	go func() {
		defer close(drained)
		at, lines := "", bufio.NewScanner(stdout)
		for lines.Scan() {
			if m := simSSH.FindStringSubmatch(lines.Text()); m != nil {
				s.sshPort = m[1]
			}
			if m := simURL.FindString(lines.Text()); m != "" {
				at = m
			}
			if at != "" && strings.HasPrefix(lines.Text(), "ready") {
				ready <- at
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-drained
		cmd.Wait() // says that it was interrupted
		if code := cmd.ProcessState.ExitCode(); code != 0 || stderr.Len() > 0 {
			t.Errorf("the simulator ended with exit status %d, its stderr:\n%s", code, stderr.String())
		}
	})
	select {
	case s.url = <-ready:
	case <-drained:
		t.Fatalf("the simulator ended before it was ready:\n%s", stderr.String())
	case <-time.After(time.Minute):
		t.Fatalf("the simulator was not ready within a minute")
	}
	if s.raw, err = rawapi.Login(t.Context(), s.url, simUser, simPassword); err != nil {
		t.Fatalf("log in to the simulator: %v", err)
	}
	return s
}

// requests counts what the simulator was asked.
func (s *sim) requests(t *testing.T) int {
	data, err := os.ReadFile(s.log)
	if err != nil {
		t.Errorf("read the request log: %v", err)
	}
	return bytes.Count(data, []byte("\n"))
}

// expectNoSecrets searches the request log for what must not be in it.
func (s *sim) expectNoSecrets(t *testing.T, secrets ...string) {
	t.Helper()
	log, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range secrets {
		quoted, err := json.Marshal(secret)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{secret, strings.Trim(string(quoted), `"`), url.QueryEscape(secret)} {
			if bytes.Contains(log, []byte(form)) {
				t.Errorf("the request log holds the secret %q", secret)
			}
		}
	}
}

// expectUnchanged compares what exists in the simulator with what was there
// before.
func (s *sim) expectUnchanged(t *testing.T, before []string) {
	t.Helper()
	after, err := s.raw.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := rawapi.Differences(before, after); len(diff) > 0 {
		t.Errorf("left behind or lost:\n%s", strings.Join(diff, "\n"))
	}
}
