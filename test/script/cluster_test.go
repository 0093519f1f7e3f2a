package script_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// releases serves what the pages of RKE2 and k3s tell of their releases: which there are, and their
// checksums. Nodes of a simulated Proxmox fetch the same from everywhere.
func releases() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/channels":
			fmt.Fprint(w, `{"data": [{"id": "stable", "latest": "v1.30.14+rke2r1"}, {"id": "v1.30", "latest": "v1.30.14+rke2r1"}, {"id": "v1.31", "latest": "v1.31.2+rke2r1"}]}`)
		case strings.HasSuffix(r.URL.Path, "/sha256sum-amd64.txt") && !strings.Contains(r.URL.Path, "v1.99"):
			fmt.Fprintf(w, "%s  rke2-images.linux-amd64.txt\n%[2]s  rke2.linux-amd64.tar.gz\n%[2]s  k3s\n", strings.Repeat("0", 64), sim.ImageSum())
		default:
			http.NotFound(w, r)
		}
	}))
}

// inGuest VM PROGRAM ARG… runs a program in a machine, as its agent does, and prints what it does.
func inGuest(ts *testscript.TestScript, neg bool, args []string) {
	s := at(ts)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var vm pve.VM
	s.Do(func(st *pvesim.State) {
		if found := sim.VM(st, args[0]); found != nil {
			vm = s.Root.VM(found.Node, found.ID)
		}
	})
	pid, err := vm.Agent().Exec(ctx, pve.ExecOptions{Command: args[1:]})
	ts.Check(err)
	done, err := vm.Agent().ExecStatus(ctx, pid)
	ts.Check(err)
	fmt.Fprint(ts.Stdout(), done.Out)
	fmt.Fprint(ts.Stderr(), done.Err)
	if (done.ExitCode != 0) != neg {
		ts.Fatalf("it ended with %d", done.ExitCode)
	}
}

// simAwaitVM NAME waits until there is a machine of that name.
func simAwaitVM(ts *testscript.TestScript, neg bool, args []string) {
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		found := false
		at(ts).Do(func(st *pvesim.State) { found = sim.VM(st, args[0]) != nil })
		if found {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	ts.Fatalf("there is no machine %s", args[0])
}
