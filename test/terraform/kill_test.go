package terraform_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/await"
	"github.com/proxplane/proxplane/test/kit/inspect"
)

// fleet are machines of count, which are all made at once.
func fleet(n int) string {
	return fmt.Sprintf(`
resource "proxplane_virtual_machine" "node" {
  count = %d
  name  = "node-${count.index}"
  class = { cpus = 1, memory = "1Gi" }
  image = { source = "ubuntu-22-template" }
}
`, n)
}

// replicas are machines of replicas, which are all made at once, too.
func replicas(n int) string {
	return strings.NewReplacer("count =", "replicas =", "${count.index}", "x").Replace(fleet(n))
}

// A provider that is killed in the middle of its work leaves machines that the next apply finds.
func TestAKilledProviderMakesNothingTwice(t *testing.T) {
	b := begin(t)
	before := b.census()
	b.config(fleet(20))
	for _, more := range []int{1, 5, 8} {
		cmd, out := b.started("apply", "-auto-approve", "-parallelism=20")
		// Clones of a killed provider go on in Proxmox: what counts is what this one has begun.
		b.awaitProvider()
		b.awaitClones(min(20, b.begun()+more))
		b.kill()
		if err := cmd.Wait(); err == nil {
			t.Fatalf("apply succeeded though its provider was killed:\n%s", out)
		}
	}
	b.goesOn(20, before)
}

// A provider whose OpenTofu was killed would go on alone, and make machines anew that somebody destroys. It ends, too.
func TestAProviderEndsWithItsOpenTofu(t *testing.T) {
	b := begin(t)
	before := b.census()
	b.config(fleet(20))
	cmd, _ := b.started("apply", "-auto-approve")
	b.awaitProvider()
	b.awaitClones(5)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	await.Until(t, time.Minute, "its provider to end", func() bool { return len(b.providers()) == 0 })
	b.goesOn(20, before)
}

// goesOn: the next apply makes what is missing of n machines and nothing twice, and they can be destroyed.
func (b *bench) goesOn(n int, before *inspect.Census) {
	b.Helper()
	b.apply()
	b.settled()
	if got := len(strings.Fields(b.machines())); got != n {
		b.Errorf("there are %d machines: %s", got, b.machines())
	}
	b.destroy()
	b.nothingLeft(before)
}

// begun is how many machines there are, or are being made.
func (b *bench) begun() (n int) {
	b.server.Do(func(st *pvesim.State) {
		for _, vm := range st.VMs {
			if !vm.Template() {
				n++
			}
		}
	})
	return n
}

// awaitClones waits until so many machines were begun.
func (b *bench) awaitClones(n int) {
	for seen := 0; b.begun() < n && b.Context().Err() == nil; {
		seen = b.server.AwaitRequests(b.Context(), seen+1)
	}
}

// awaitProvider waits until a provider of this folder runs that has asked Proxmox for something.
func (b *bench) awaitProvider() {
	seen := b.server.RequestCount()
	for len(b.providers()) == 0 && b.Context().Err() == nil {
		seen = b.server.AwaitRequests(b.Context(), seen+1)
	}
}

// providers are the process ids of the providers of this folder.
func (b *bench) providers() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err != nil || !bytes.HasPrefix(line, []byte(filepath.Join(b.dir, plugin))) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// kill kills the provider of this folder.
func (b *bench) kill() {
	b.Helper()
	killed := false
	for _, pid := range b.providers() {
		killed = syscall.Kill(pid, syscall.SIGKILL) == nil || killed
	}
	if !killed {
		b.Fatal("no provider runs")
	}
}
