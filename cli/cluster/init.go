package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/cluster"
	"github.com/proxplane/proxplane/status"
)

// initializing is one call of init.
type initializing struct {
	working
	config   string
	generate bool
	dryRun   bool
	restart  bool
}

func newInit(u *ui.UI) *cobra.Command {
	i := &initializing{}
	cmd := &cobra.Command{
		Use:   "init --config FILE",
		Short: "Create a cluster, or bring it in line with its file",
		Long: `Create the cluster that a file describes: machines, Kubernetes in them, and the order
in which they join: the first control plane, the others one by one, all workers at
once. Errors in the file, and conflicts in Proxmox, are reported before
anything is created.

Run it again to go on after an interruption, or after the file was changed. It removes
nothing; to remove machines, use "scale".

A file with several documents has several clusters: all are checked, and then
made one after the other.`,
		Example: `  proxplane cluster init --generate-config > cluster.yaml
  proxplane cluster init --config cluster.yaml
  proxplane cluster init --config cluster.yaml --dry-run
  proxplane cluster init --config cluster.yaml --allow-restart`,
		Args: command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return i.run(cmd.Context(), u) },
	}
	cmd.Flags().StringVar(&i.config, "config", "", "`FILE` that describes the cluster, or - for the standard input")
	cmd.Flags().BoolVar(&i.generate, "generate-config", false, "write a file to begin with: to --config, or to the standard output")
	cmd.Flags().BoolVar(&i.dryRun, "dry-run", false, "check everything and show what would be done in Proxmox, with its effects")
	cmd.Flags().BoolVar(&i.restart, "allow-restart", false, "restart machines whose size has changed: one by one, drained before")
	i.paceFlags(cmd)
	i.LoginFlags(cmd)
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	return cmd
}

func (i *initializing) run(ctx context.Context, u *ui.UI) error {
	if i.generate {
		return i.sample(u)
	}
	if i.config == "" {
		return ui.Advise(errors.New("no file is given"), "Name it with --config; a file to begin with comes from: proxplane cluster init --generate-config")
	}
	all, err := readFile(u, i.config)
	if err != nil {
		return err
	}
	return i.work(ctx, u, func(ctx context.Context, _ *target.Site, w *cluster.Work) error {
		w.Restart = i.restart
		if len(all) > 1 && !i.dryRun { // nothing is made of the first one if the last one is wrong
			if err := each(all, func(f *cluster.File) error { return w.Foresee(ctx, f) }); err != nil {
				return err
			}
		}
		return each(all, func(f *cluster.File) error {
			if i.dryRun {
				return i.show(ctx, u, w, f)
			}
			c, err := w.Init(ctx, f)
			if err != nil {
				return err
			}
			if i.output != "json" {
				u.Say("\nCluster %s is ready: %s with %s, %s.", c.Name, machines(len(c.Members)), c.Record.Release.Version, c.APIServer())
				u.Say("Next: proxplane cluster kubeconfig --cluster %s --merge --set-context", c.Name)
			}
			return nil
		})
	})
}

// each does something with one cluster of a file after the other.
func each(all []*cluster.File, do func(*cluster.File) error) error {
	for _, f := range all {
		err := do(f)
		if err != nil && len(all) > 1 {
			err = fmt.Errorf("cluster %s: %w", f.Name, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readFile reads a file of clusters.
func readFile(u *ui.UI, name string) ([]*cluster.File, error) {
	if name == "-" {
		text, err := io.ReadAll(u.In)
		if err != nil {
			return nil, err
		}
		return cluster.ReadAll("the standard input", text)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	return cluster.ReadAll(name, text)
}

// readOne reads one cluster of a file, by its name; empty: the only one.
func readOne(u *ui.UI, file, name string) (*cluster.File, error) {
	all, err := readFile(u, file)
	if err != nil {
		return nil, err
	}
	return cluster.Choose(file, all, name)
}

// sample writes a file to begin with. One that is there stays.
func (i *initializing) sample(u *ui.UI) error {
	if i.config == "" || i.config == "-" {
		_, err := io.WriteString(u.Out, cluster.Sample)
		return err
	}
	f, err := os.OpenFile(i.config, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	if _, err := io.WriteString(f, cluster.Sample); err != nil {
		return errors.Join(err, f.Close())
	}
	u.Say("Wrote %s. Change node and vip, then: proxplane cluster init --config %s", i.config, i.config)
	return f.Close()
}

// show prints what would be done.
func (i *initializing) show(ctx context.Context, u *ui.UI, w *cluster.Work, f *cluster.File) error {
	p, release, err := w.Plan(ctx, f)
	if err != nil {
		return err
	}
	if i.output == "json" {
		return ui.WriteJSON(u.Out, status.Cluster.ViewOf(p))
	}
	u.Say("Cluster %s: %s %s", f.Name, f.Kubernetes.Distribution, release.Version)
	page := u.Page(u.Out)
	page.Words = status.Cluster
	_, err = io.WriteString(u.Out, page.Plan(p))
	return err
}
