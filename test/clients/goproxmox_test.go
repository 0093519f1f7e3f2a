package clients

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestGoProxmoxManagesMachines(t *testing.T) {
	binary := filepath.Join(binaries, "goproxmox")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./goproxmox").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	version := strings.TrimPrefix(moduleVersion(t, "github.com/luthermonson/go-proxmox"), "v")
	for _, release := range releases {
		t.Run(release, func(t *testing.T) { runGoProxmox(t, release, binary, version) })
	}
}

func runGoProxmox(t *testing.T, release, binary, version string) {
	s := startSim(t, release)
	operations := "none"
	report(t, s, "go-proxmox "+version, &operations)
	before, err := s.raw.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-url", s.url, "-user", simUser)
	cmd.Env = append(os.Environ(), "PROXMOX_PASSWORD="+simPassword, "TMPDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	steps := 0
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		say("  go-proxmox: %s", lines.Text())
		if strings.HasPrefix(lines.Text(), "ok ") {
			steps++
			operations = fmt.Sprintf("%d steps", steps)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the program failed after %d steps: %v", steps, err)
	}
	s.expectUnchanged(t, before)
	s.expectNoSecrets(t, "not "+simPassword, "correct horse battery", "secret = & ;")
}
