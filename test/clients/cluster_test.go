package clients

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// clusterFile is a cluster as people write it.
const clusterFile = `name: lab
provider:
  type: proxmox
  nodes: ["*"]
  vip: 192.168.77.20
  template: ubuntu-22-template
kubernetes:
  version: v1.30.14+rke2r1
  source: %s
nodes:
  workers: {count: 1}
`

// What `proxplane cluster export --tofu` writes is applied as its first lines say: OpenTofu takes the
// machines over without touching them, and has nothing to do afterwards.
func TestAClusterIsHandedToOpenTofu(t *testing.T) {
	tofuPath, _ := build(t, "tofu", "tofu")
	bpgPath, bpgVersion := build(t, "bpg", "terraform-provider-proxmox")
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			s, w := startSim(t, release), emptyWorkspace(t, tofuPath, bpgPath, bpgVersion)
			w.env = append(w.env, "PROXMOX_VE_ENDPOINT="+s.url, "PROXMOX_VE_USERNAME="+simUser, "PROXMOX_VE_PASSWORD="+simPassword,
				"PROXMOX_VE_INSECURE=true", "PVE_INSECURE_SKIP_VERIFY=true", "XDG_CONFIG_HOME="+t.TempDir())
			file := filepath.Join(t.TempDir(), "lab.yaml")
			if err := os.WriteFile(file, fmt.Appendf(nil, clusterFile, serveRelease(t)), 0o600); err != nil {
				t.Fatal(err)
			}
			w.proxplane(t, "cluster", "init", "--config", file)
			text := w.proxplane(t, "cluster", "export", "--cluster", "lab", "--tofu")
			w.write(t, "main.tf", strings.Replace(text, `"bpg/proxmox"`, `"mirror.test/bpg/proxmox"`, 1))
			w.proxplane(t, "release", "lab-cp-0", "lab-worker-0", "--yes")
			before, err := s.raw.Inventory(t.Context())
			if err != nil {
				t.Fatal(err)
			}

			w.must(t, "init")
			if out := w.must(t, "apply", "-auto-approve"); !strings.Contains(out, "2 imported, 0 added, 2 changed, 0 destroyed") {
				t.Errorf("the first apply does more than to import:\n%s", out)
			}
			w.expectSettled(t)
			s.expectUnchanged(t, before)
			log, err := os.ReadFile(s.log)
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range []string{"/status/reboot", "/status/shutdown", "/status/stop"} {
				if bytes.Contains(log, []byte(call)) {
					t.Errorf("a machine was restarted: %s", call)
				}
			}
		})
	}
}

// proxplane runs a command of ours with the login of the workspace.
func (w *workspace) proxplane(t *testing.T, args ...string) string {
	t.Helper()
	binary, err := buildProxplane()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("proxplane %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), problems.String())
	}
	return out.String()
}

// serveRelease serves a release of RKE2, as far as a simulated machine looks at it.
func serveRelease(t *testing.T) string {
	const archive = "rke2.linux-amd64.tar.gz"
	content := []byte("a release")
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/sha256sum-amd64.txt") {
			fmt.Fprintf(rw, "%x  %s\n", sha256.Sum256(content), archive)
			return
		}
		rw.Write(content)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
