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

	"github.com/proxplane/proxplane/pvesim"
)

// fleet are machines of for_each, which are all made at once.
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

// A provider that is killed in the middle of its work leaves machines that the next apply finds.
func TestAKilledProviderMakesNothingTwice(t *testing.T) {
	b := begin(t)
	before := b.census()
	b.config(fleet(20))
	for _, after := range []int{1, 6, 14} {
		cmd := b.command("apply", "-auto-approve", "-parallelism=20")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		b.awaitClones(after)
		b.kill()
		if err := cmd.Wait(); err == nil {
			t.Fatalf("apply succeeded though its provider was killed:\n%s", &out)
		}
	}
	b.apply()
	b.settled()
	if got := len(strings.Fields(b.machines())); got != 20 {
		t.Errorf("there are %d machines: %s", got, b.machines())
	}
	if out, code := b.run("destroy", "-auto-approve"); code != 0 {
		t.Fatal(out)
	}
	b.nothingLeft(before)
}

// awaitClones waits until so many machines were begun.
func (b *bench) awaitClones(n int) {
	for seen := 0; ; {
		begun := 0
		b.server.Do(func(st *pvesim.State) {
			for _, vm := range st.VMs {
				if !vm.Template() {
					begun++
				}
			}
		})
		if begun >= n || b.Context().Err() != nil {
			return
		}
		seen = b.server.AwaitRequests(b.Context(), seen+1)
	}
}

// kill kills the provider of this folder.
func (b *bench) kill() {
	b.Helper()
	killed := false
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err != nil || !bytes.HasPrefix(line, []byte(filepath.Join(b.dir, plugin))) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed = true
		}
	}
	if !killed {
		b.Fatal("no provider runs")
	}
}
