package simulator

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/examples"
	"github.com/proxplane/proxplane/pvesim"
)

// NewDemo returns the command `proxplane demo`, which shows other commands at work. root makes the program that runs them.
func NewDemo(root func(*ui.UI) *cobra.Command) *cobra.Command {
	speed := 5.0
	cmd := &cobra.Command{
		Use:   "demo [cluster]",
		Short: "See proxplane at work on a simulated Proxmox",
		Long: `Start a simulated Proxmox VE cluster in this process and apply examples/quickstart to
it: an image that is fetched, three machines, a snapshot. Then change something,
and remove everything again. It takes less than half a minute and leaves nothing
behind.

"demo cluster" makes a Kubernetes cluster from examples/cluster instead, scales it and
removes it again, on simulated machines: no container runs in them.`,
		Example: `  proxplane demo
  proxplane demo --speed 2
  proxplane demo cluster`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return command.TakesOneOf("cluster")(cmd, args)
		},
		ValidArgs: []string{"cluster"},
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := startDemo(cmd, root, speed)
			if err != nil {
				return err
			}
			play := d.play
			if len(args) > 0 {
				play = d.playCluster
			}
			return errors.Join(play(cmd.Context()), d.close())
		},
	}
	cmd.Flags().Float64Var(&speed, "speed", speed, "how many `TIMES` as fast as real time the simulated cluster is")
	return cmd
}

// demo is a simulated cluster, and somebody who types commands.
type demo struct {
	cmd    *cobra.Command
	root   func(*ui.UI) *cobra.Command
	sim    *pvesim.Sim
	folder string // that the manifests are in
	serves string // where images and releases are
	env    map[string]string
	pin    string // fingerprint of the cluster's certificate
	began  time.Time
	stop   []func() error
}

func startDemo(cmd *cobra.Command, root func(*ui.UI) *cobra.Command, speed float64) (d *demo, err error) {
	if speed <= 0 {
		return nil, fmt.Errorf("--speed %v: must be more than 0", speed)
	}
	d = &demo{cmd: cmd, root: root, began: time.Now()}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	d.sim, err = pvesim.New(nil, pvesim.WithClock(pvesim.NewFastClock(speed)))
	if err != nil {
		return nil, err
	}
	d.stop = append(d.stop, d.sim.Close)
	cert, pin, err := Certificate("", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l, err := d.listen()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.stop = append(d.stop, func() error { cancel(); return nil })
	go func() {
		_ = d.sim.Serve(ctx, tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"http/1.1"}}), "")
	}()
	d.pin = pin
	d.env = map[string]string{"PVE_ENDPOINT": "https://" + l.Addr().String(), "PVE_USERNAME": "root@pam", "PVE_PASSWORD": "proxplane"}
	return d, d.unpack()
}

// listen takes a free port of this machine.
func (d *demo) listen() (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		d.stop = append(d.stop, func() error { l.Close(); return nil })
	}
	return l, err
}

// unpack writes the example to a folder, with an image that is served here.
func (d *demo) unpack() error {
	l, err := d.listen()
	if err != nil {
		return err
	}
	d.serves = "http://" + l.Addr().String()
	image := pvesim.BootableImage()
	go func() {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !serveReleases(w, r, image) {
				http.ServeContent(w, r, r.URL.Path, time.Time{}, bytes.NewReader(image))
			}
		}))
	}()
	parent, err := os.MkdirTemp("", "proxplane-demo-")
	if err != nil {
		return err
	}
	d.stop = append(d.stop, func() error { return os.RemoveAll(parent) })
	d.folder = filepath.Join(parent, "quickstart")
	if err := errors.Join(os.CopyFS(parent, examples.Quickstart), os.CopyFS(parent, examples.Cluster)); err != nil {
		return err
	}
	return errors.Join(
		d.edit("image.yaml", "https://cloud.debian.org/images/cloud/bookworm/latest", d.serves),
		d.edit("image.yaml", "spec:\n", "spec:\n  os:\n    agent: true\n"), // so that the guests tell their addresses
	)
}

// edit changes a manifest, as somebody with an editor would.
func (d *demo) edit(file, before, after string) error {
	name := filepath.Join(d.folder, file)
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if !bytes.Contains(b, []byte(before)) {
		return fmt.Errorf("%s has no %q", file, before)
	}
	return os.WriteFile(name, bytes.Replace(b, []byte(before), []byte(after), 1), 0o600)
}

func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.cmd.OutOrStdout(), format+"\n", args...)
}

// play runs the demo.
func (d *demo) play(ctx context.Context) error {
	info := d.sim.Describe()
	d.say("A Proxmox VE %s cluster with the nodes %s, simulated in this process.", d.sim.Release(), strings.Join(info.Nodes, ", "))
	d.say("What is wanted is in examples/quickstart: an image, three machines, a snapshot.\n")
	for _, step := range []func(context.Context) error{
		d.types("apply", "-f", "quickstart"),
		d.types("get", "vms", "-f", "quickstart"),
		d.edits("The class gets more memory, and the database a larger disk.",
			edit{"classes.yaml", "memory: 1Gi", "memory: 2Gi"}, edit{"machines.yaml", "size: 20Gi", "size: 30Gi"}),
		d.types("apply", "-f", "quickstart"),
		d.types("snapshot", "list"),
		d.types("apply", "-f", "quickstart"),
		d.types("delete", "-f", "quickstart", "--yes"),
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if left := d.sim.Describe().Guests - info.Guests; left != 0 {
		return fmt.Errorf("%d guests were left behind", left)
	}
	d.say("That took %.0f s and %d requests. Nothing was left behind.", time.Since(d.began).Seconds(), d.sim.RequestCount())
	d.say("Your own cluster is next: proxplane doctor, then proxplane apply -f …")
	return nil
}

type edit struct{ file, before, after string }

// edits changes manifests.
func (d *demo) edits(why string, list ...edit) func(context.Context) error {
	return func(context.Context) error {
		d.say("%s", why)
		for _, e := range list {
			if err := d.edit(e.file, e.before, e.after); err != nil {
				return err
			}
			d.say("  quickstart/%s  %s → %s", e.file, e.before, e.after)
		}
		d.say("")
		return nil
	}
}

// types runs a command as if it was typed.
func (d *demo) types(args ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		d.say("$ proxplane %s", strings.Join(args, " "))
		args := slices.Clone(args)
		for i, a := range args {
			switch a {
			case "quickstart":
				args[i] = d.folder
			case clusterFile:
				args[i] = filepath.Join(filepath.Dir(d.folder), a)
			}
		}
		args = append(args, "--fingerprint", d.pin)
		u := ui.New(d.cmd.InOrStdin(), d.cmd.OutOrStdout(), d.cmd.ErrOrStderr())
		u.Getenv = func(name string) string {
			if v, ok := d.env[name]; ok || strings.HasPrefix(name, "PVE_") || strings.HasPrefix(name, "PROXMOX_VE_") {
				return v
			}
			return os.Getenv(name)
		}
		root := d.root(u)
		root.SetArgs(args)
		root.SetOut(u.Out)
		root.SetErr(u.Err)
		if err := root.ExecuteContext(ctx); err != nil {
			return err
		}
		d.say("")
		return nil
	}
}

// close ends what was started, the last first.
func (d *demo) close() error {
	var errs []error
	for _, stop := range slices.Backward(d.stop) {
		if err := stop(); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
