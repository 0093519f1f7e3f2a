// Package loadtest is the command that puts a load onto a Proxmox.
package loadtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/inspect"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/loadtest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/status"
)

// loadSet is the set of machines that load tests make. Whatever is in it may go.
const loadSet = "loadtest"

// Most machines of a load test, and how long removing them may take.
const (
	mostLoad     = 1000
	cleaningTime = 10 * time.Minute
)

// loading is one call of loadtest.
type loading struct {
	target.Target
	machines loadtest.Machines
	parallel int
	timeout  time.Duration
	output   string
	html     string
	real     bool
}

// New returns the command `proxplane loadtest`.
func New(u *ui.UI) *cobra.Command {
	l := &loading{}
	cmd := &cobra.Command{
		Use:   "loadtest",
		Short: "Put a load on a Proxmox and measure it",
		Long: `Make machines from a template, start them, describe them, plug in a CPU, take
snapshots with memory, make linked clones and shut down; then remove all of it. For
each operation, print how long it takes, how many are done in a minute, and how many
requests it needs.

The machines belong to a set of their own. They are removed at the end, also after
Ctrl-C, and if it is killed, by the next run.

It is meant for the simulator (proxplane sim) and for clusters that nobody needs:
anything but a simulator has to be allowed by --i-know-this-is-a-real-proxmox.`,
		Example: `  proxplane loadtest
  proxplane loadtest --count 50 --parallel 10 --html report.html
  proxplane loadtest --image ubuntu-22-template --node pve1 -o json
  proxplane loadtest --i-know-this-is-a-real-proxmox --count 5 --timeout 15m`,
		Args: command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return l.run(cmd, u) },
	}
	l.Target.Flags(cmd, false)
	fs := cmd.Flags()
	fs.Lookup("set").DefValue = loadSet
	l.Set = loadSet
	fs.IntVar(&l.machines.Count, "count", 10, fmt.Sprintf("how many `MACHINES`, at most %d", mostLoad))
	fs.IntVar(&l.parallel, "parallel", 5, "how many `OPERATIONS` at once")
	fs.DurationVar(&l.timeout, "timeout", 10*time.Minute, "end after this `TIME`, however many operations are done by then; the removal takes longer")
	fs.StringVar(&l.machines.Image, "image", "", "`TEMPLATE` that machines are made from, a name or a VMID (default: the only one there is)")
	fs.StringSliceVar(&l.machines.Nodes, "node", nil, "`NODE` to use; can be repeated (default: all)")
	fs.StringVar(&l.machines.ISOStorage, "iso-storage", "local", "`STORAGE` for first-boot data")
	fs.StringVar(&l.machines.Memory, "memory", "512Mi", "`SIZE` of each machine's memory")
	fs.StringVarP(&l.output, "output", "o", "", "`FORMAT`: json, for programs")
	fs.StringVar(&l.html, "html", "", "write a page with charts to this `FILE`")
	fs.BoolVar(&l.real, "i-know-this-is-a-real-proxmox", false, "run it on a Proxmox that is no simulator")
	_ = cmd.MarkFlagFilename("html", "html")
	return cmd
}

func (l *loading) check() error {
	switch {
	case l.machines.Count < 1 || l.machines.Count > mostLoad:
		return fmt.Errorf("--count %d: want 1 to %d", l.machines.Count, mostLoad)
	case l.parallel < 1:
		return fmt.Errorf("--parallel %d: want at least 1", l.parallel)
	case l.timeout <= 0:
		return fmt.Errorf("--timeout %s: want more than that", l.timeout)
	case l.Set == target.DefaultSet:
		return fmt.Errorf("--set %s: all of the set is removed, so it must be one that nobody else uses", l.Set)
	}
	return command.CheckOutput(l.output, "json")
}

func (l *loading) run(cmd *cobra.Command, u *ui.UI) error {
	if err := l.check(); err != nil {
		return err
	}
	ctx := cmd.Context()
	w, err := l.One(u)
	if err != nil {
		return err
	}
	meter := &loadtest.Meter{}
	var cfg site.Config
	sites := new(site.Sites)
	c, err := target.ConnectWith(u, w, sites, func(set *site.Config) {
		set.Proxmox.Observe = meter.Observe
		cfg = *set
	})
	if err != nil {
		return err
	}
	report := &loadtest.Report{
		Endpoint: c.Client.Endpoint(), Machines: l.machines.Count, Parallel: min(l.parallel, l.machines.Count),
		Command: commandLine(cmd), Started: time.Now(),
	}
	if report.Simulator, err = simulated(ctx, c); err != nil {
		return err
	}
	if !report.Simulator && !l.real {
		return ui.Advise(fmt.Errorf("%s is no simulator", report.Endpoint),
			"A load test makes and destroys machines and keeps Proxmox busy. Start a simulator for it: proxplane sim.",
			"If nobody needs this cluster: --i-know-this-is-a-real-proxmox.")
	}
	load, err := l.load(ctx, u, c, report)
	if err != nil {
		return err
	}
	load.Meter, load.Sites, load.Config = meter, sites, cfg
	// Before all the work, so that nothing is measured that can't be reported.
	page, err := l.newPage()
	if err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	if err := l.measure(ctx, u, c, load, report); err != nil {
		return errors.Join(err, page.discard())
	}
	result := l.tell(ctx, u, report)
	if err := page.write(report); err != nil {
		return err
	}
	return result
}

// load finds out what the load is made of.
func (l *loading) load(ctx context.Context, u *ui.UI, c *target.Site, report *loadtest.Report) (*loadtest.Load, error) {
	have, err := c.Look(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range have.Nodes {
		if n.Online {
			report.Nodes++
		}
	}
	version, err := c.Client.Version(ctx)
	if err != nil {
		return nil, c.Fail(err)
	}
	report.Version = version.Version
	if l.machines.Image == "" {
		if l.machines.Image, err = onlyTemplate(have); err != nil {
			return nil, err
		}
	}
	l.machines.Set = l.Set
	return &loadtest.Load{
		Machines: l.machines, Parallel: l.parallel,
		Describe: func(ctx context.Context, vmid int) error {
			_, err := inspect.DescribeGuest(ctx, c, u, status.About{Now: time.Now()}, vmid)
			return err
		},
		Progress: func(f loadtest.Figures) {
			u.Note("%s: %d done, %d failed in %s", f.Operation, f.Done, f.Failed, loadtest.Short(f.Wall))
		},
	}, nil
}

// onlyTemplate is the template to take when nobody names one.
func onlyTemplate(have *model.Observed) (string, error) {
	var names []string
	for _, g := range have.Guests {
		if g.Template && !g.Container && !slices.Contains(names, g.Name) {
			names = append(names, g.Name)
		}
	}
	model.SortNames(names)
	switch len(names) {
	case 1:
		return names[0], nil
	case 0:
		return "", ui.Advise(errors.New("there is no template to make machines from"), "Make one, and name it with --image.")
	}
	return "", ui.Advise(errors.New("there are several templates"), "Choose one with --image: "+strings.Join(names, ", ")+".")
}

// measure puts the load on, and takes it away again, whatever happens.
func (l *loading) measure(ctx context.Context, u *ui.UI, c *target.Site, load *loadtest.Load, report *loadtest.Report) error {
	var err error
	if report.Earlier, err = load.Clean(ctx); err != nil {
		return c.Fail(fmt.Errorf("remove what an earlier run has left: %w", err))
	}
	if report.Earlier > 0 {
		u.Note("removed %s that an earlier run had left", status.Count(report.Earlier, "machine"))
	}
	limited, cancel := ui.WithTimeout(ctx, l.timeout)
	defer cancel()
	report.Figures, err = load.Run(limited)
	switch {
	case ctx.Err() != nil:
		report.Ended = "it was interrupted"
		u.Note("interrupted; removing what was made (once more ends it at once)")
	case err != nil:
		report.Ended = err.Error()
	}
	cleaning, stop := context.WithTimeout(context.WithoutCancel(ctx), cleaningTime)
	defer stop()
	if report.Removed, err = load.Clean(cleaning); err != nil {
		report.Left = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return nil
}

// tell shows what came of it.
func (l *loading) tell(ctx context.Context, u *ui.UI, report *loadtest.Report) error {
	if l.output == "json" {
		b, err := json.MarshalIndent(report, "", "  ")
		if err != nil {
			return err
		}
		u.Say("%s", b)
	} else if _, err := io.WriteString(u.Out, report.Text()); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return &ui.ExitError{Code: ui.ExitInterrupted}
	case !report.OK():
		return &ui.ExitError{Code: ui.ExitFailed}
	}
	return nil
}

// commandLine is the command with the flags that were given. Secrets are never
// among them.
func commandLine(cmd *cobra.Command) string {
	words := []string{cmd.CommandPath()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Annotations[command.ConnectionFlags] != nil {
			return // its place is reported separately
		}
		words = append(words, "--"+f.Name)
		if f.Value.Type() != "bool" {
			words = append(words, f.Value.String())
		}
	})
	return strings.Join(words, " ")
}

// simulated reports whether all endpoints are those of a simulator.
func simulated(ctx context.Context, c *target.Site) (bool, error) {
	cfg, err := c.Connection.TLS.Config()
	if err != nil {
		return false, err
	}
	tr := &http.Transport{TLSClientConfig: cfg}
	defer tr.CloseIdleConnections()
	for _, endpoint := range c.Client.Endpoints() {
		if !loadtest.Simulated(ctx, &http.Client{Transport: tr}, endpoint) {
			return false, ctx.Err()
		}
	}
	return true, nil
}
