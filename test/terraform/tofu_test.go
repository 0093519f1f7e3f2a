// Package terraform_test tries the provider as people use it: with OpenTofu, on a simulated
// Proxmox.
package terraform_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/terraform"
	"github.com/proxplane/proxplane/test/kit/inspect"
	"github.com/proxplane/proxplane/test/kit/sim"
	"github.com/proxplane/proxplane/test/kit/tool"
)

var withTofu = flag.Bool("tofu", false, "build OpenTofu if need be, and try the provider with it (make test-terraform)")

// Programs that all tests use.
var tofu, provider string

func TestMain(m *testing.M) {
	if strings.HasPrefix(filepath.Base(os.Args[0]), "terraform-provider-") {
		otherProvider()
		return
	}
	flag.Parse()
	if !*withTofu {
		fmt.Println("skipped: make test-terraform runs these")
		return
	}
	folder, err := os.MkdirTemp("", "proxplane-terraform-")
	if err == nil {
		err = programs(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// programs finds or builds OpenTofu, and builds the provider and the command line.
func programs(folder string) error {
	ctx := context.Background()
	set, err := tool.Open(ctx, "../clients/tofu")
	if err == nil {
		err = set.Build(ctx, os.Stderr)
	}
	if err != nil {
		return err
	}
	tofu, provider = set.Path("tofu"), folder
	cmd := exec.CommandContext(ctx, "go", "build", "-o", folder, "../../cmd/terraform-provider-proxplane", "../../cmd/proxplane")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// bench is a folder with a configuration, and the Proxmox that it is about.
type bench struct {
	*testing.T
	server *sim.Server
	dir    string
	env    []string
}

// plugin is the provider's program.
const plugin = "terraform-provider-proxplane"

// head is what every configuration begins with.
const head = `
terraform {
  required_providers {
    proxplane = { source = "` + terraform.Address + `" }
  }
}
provider "proxplane" {
  set = "shop"
}
`

// begin starts a Proxmox.
func begin(t *testing.T) *bench { t.Helper(); return beginIn(t, pvesim.DefaultWorld()) }

// beginIn starts a Proxmox with a world of its own.
func beginIn(t *testing.T, w *pvesim.World) *bench {
	t.Helper()
	t.Parallel()
	sim.Quick(w)
	sim.Uneven(w)
	server, err := sim.Start(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return beside(t, server)
}

// beside is another folder for the same Proxmox.
func beside(t *testing.T, server *sim.Server) *bench {
	t.Helper()
	b := &bench{T: t, server: server, dir: t.TempDir()}
	b.write("ca.pem", string(sim.CA()))
	b.write("tofurc", fmt.Sprintf("provider_installation {\n  dev_overrides {\n    %q = %q\n  }\n  direct {}\n}\n", terraform.Address, b.dir))
	if err := os.Symlink(filepath.Join(provider, plugin), filepath.Join(b.dir, plugin)); err != nil {
		t.Fatal(err)
	}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TF_") && !strings.HasPrefix(v, "PVE_") && !strings.HasPrefix(v, "PROXMOX_") && !strings.HasPrefix(v, "PROXPLANE_") {
			b.env = append(b.env, v)
		}
	}
	b.env = append(b.env, "HOME="+b.dir, "TF_CLI_CONFIG_FILE="+filepath.Join(b.dir, "tofurc"), "TF_IN_AUTOMATION=1", "TF_INPUT=0", "TF_CLI_ARGS=-no-color",
		"PVE_ENDPOINT="+server.Endpoint, "PVE_CA_BUNDLE="+filepath.Join(b.dir, "ca.pem"), "PVE_TOKEN_ID="+sim.TokenID, "PVE_TOKEN_SECRET="+sim.TokenSecret)
	return b
}

func (b *bench) write(name, text string) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
}

// config is the configuration from now on.
func (b *bench) config(text string) { b.Helper(); b.write("main.tf", head+text) }

// command is a command of OpenTofu.
func (b *bench) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(b.Context(), tofu, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	cmd.Dir, cmd.Env = b.dir, b.env
	return cmd
}

// started starts a command, whose output is complete when it has ended.
func (b *bench) started(args ...string) (*exec.Cmd, *bytes.Buffer) {
	b.Helper()
	cmd, out := b.command(args...), &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return cmd, out
}

// run runs a command and gives what it says, and its exit status.
func (b *bench) run(args ...string) (string, int) {
	b.Helper()
	cmd := b.command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.Fatalf("tofu %s: %v\n%s", strings.Join(args, " "), err, &out)
	}
	return unfolded(out.String()), cmd.ProcessState.ExitCode()
}

// unfolded is a text without the line breaks that fit it to a terminal.
func unfolded(text string) string { return strings.Join(strings.Fields(text), " ") }

// do runs a command, which must succeed, and gives what it says.
func (b *bench) do(args ...string) string {
	b.Helper()
	out, code := b.run(args...)
	if code != 0 {
		b.Fatalf("tofu %s ended with %d:\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// apply applies the configuration, and says what was told.
func (b *bench) apply() string { b.Helper(); return b.do("apply", "-auto-approve") }

// destroy destroys all that the state has.
func (b *bench) destroy() { b.Helper(); b.do("destroy", "-auto-approve") }

// settled: a plan has nothing to do.
func (b *bench) settled() {
	b.Helper()
	if out, code := b.run("plan", "-detailed-exitcode"); code != 0 {
		b.Fatalf("the plan isn't empty (%d):\n%s", code, out)
	}
}

// planned is what a plan says that has something to do.
func (b *bench) planned() string {
	b.Helper()
	out, code := b.run("plan", "-detailed-exitcode")
	if code != 2 {
		b.Fatalf("the plan ended with %d:\n%s", code, out)
	}
	return out
}

// refused is what a plan says that can't be made.
func (b *bench) refused() string {
	b.Helper()
	out, code := b.run("plan")
	if code != 1 {
		b.Fatalf("the plan ended with %d:\n%s", code, out)
	}
	return out
}

// says: a text has all of some parts.
func (b *bench) says(text string, parts ...string) {
	b.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			b.Errorf("nothing says %q:\n%s", p, text)
		}
	}
}

// output is an output of the configuration.
func (b *bench) output(name string, into any) {
	b.Helper()
	out, err := b.command("output", "-json", name).Output()
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// machines are the names of all guests that aren't templates, in their order.
func (b *bench) machines() (names string) {
	b.server.Do(func(st *pvesim.State) { names = b.names(st) })
	return names
}

func (b *bench) names(st *pvesim.State) string {
	var names []string
	for _, vm := range st.VMs {
		if !vm.Template() {
			names = append(names, vm.Name())
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// touch changes a machine as somebody else does.
func (b *bench) touch(name, method, path string, params pve.Params) {
	b.Helper()
	if err := b.server.Touch(b.Context(), name, method, path, params); err != nil {
		b.Fatal(err)
	}
}

// census is what there is now.
func (b *bench) census() (c *inspect.Census) {
	b.server.Do(func(st *pvesim.State) { c = inspect.Take(st) })
	return c
}

// nothingLeft: all is as it was.
func (b *bench) nothingLeft(before *inspect.Census) {
	b.Helper()
	b.server.Do(func(st *pvesim.State) {
		for _, wrong := range append(before.Touched(st), before.Left(st)...) {
			b.Error(wrong)
		}
	})
}
