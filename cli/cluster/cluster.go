// Package cluster has the commands for Kubernetes clusters from one file: init, status, validate,
// kubeconfig, scale, upgrade, rotate, replace, backup, restore, export and destroy.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/cluster"
	"github.com/proxplane/proxplane/manifest"
)

// New returns the command `proxplane cluster`.
func New(u *ui.UI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster init|status|validate|kubeconfig|scale|upgrade|rotate|replace|backup|restore|export|destroy",
		Short: "Create and manage Kubernetes clusters from one file",
		Long: `Create Kubernetes clusters (RKE2 or k3s) from one file, and manage them: scale,
upgrade, replace machines, back up and restore, destroy.

Nothing is kept on this computer: a cluster's record is in the notes of its machines
in Proxmox, its secrets are inside its control planes. From any computer, the
cluster's name and a login to Proxmox are enough. Commands can be interrupted at any
moment, and run again.`,
		Example: `  proxplane cluster init --generate-config > cluster.yaml
  proxplane cluster init --config cluster.yaml
  proxplane cluster kubeconfig --cluster lab --merge --set-context
  proxplane cluster validate --cluster lab
  proxplane cluster scale worker=4 --cluster lab
  proxplane cluster destroy --cluster lab --force --cleanup`,
	}
	command.NeedsSubcommand(cmd)
	cmd.AddCommand(newInit(u), newStatus(u), newValidate(u), newKubeconfig(u), newScale(u), newUpgrade(u), newRotate(u), newReplace(u), newBackup(u), newRestore(u), newExport(u), newDestroy(u))
	return cmd
}

// working is what commands share that are about one cluster.
type working struct {
	target.Target
	cluster string // its name
	timeout time.Duration
	output  string
	about   bool // it is about one that is named
}

func (w *working) clusterFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&w.cluster, "cluster", "c", "", "`NAME` of the cluster")
	w.about = true
	w.LoginFlags(cmd)
}

func (w *working) paceFlags(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&w.timeout, "timeout", 0, "give up on a machine after this `TIME`, such as 20m (default: 30m)")
	cmd.Flags().StringVarP(&w.output, "output", "o", "", "`FORMAT` of the progress: json")
}

// open connects to Proxmox.
func (w *working) open(u *ui.UI) (*target.Site, error) {
	if w.about && w.cluster == "" {
		return nil, missing("--cluster", "Name the cluster with it.")
	}
	c, err := w.Site(u)
	switch {
	case errors.Is(err, manifest.ErrNoEndpoint):
		return nil, ui.Advise(errors.New("no Proxmox is named"), "Set PROXMOX_VE_ENDPOINT, such as https://proxmox.local:8006, give --endpoint, or set up a context with: proxplane init")
	case errors.Is(err, manifest.ErrNoCredentials):
		return nil, ui.Advise(errors.New("no credentials are given"), "Set PROXMOX_VE_API_TOKEN to user@realm!name=secret, or PROXMOX_VE_USERNAME and PROXMOX_VE_PASSWORD.")
	}
	return c, err
}

// work connects, and does something that changes a cluster.
func (w *working) work(ctx context.Context, u *ui.UI, do func(context.Context, *target.Site, *cluster.Work) error) error {
	if err := command.CheckOutput(w.output, "json"); err != nil {
		return err
	}
	c, err := w.open(u)
	if err != nil {
		return err
	}
	defer c.Site.Close()
	report := newReport(u, w.output == "json")
	err = do(ctx, c, &cluster.Work{Site: c.Site, In: cluster.Agents(c.Site), Report: report, Patience: w.timeout})
	if ctx.Err() != nil {
		return ui.Interrupted(u, report.standing()...)
	}
	return failed(c, err)
}

// failed adds what helps to an error of Proxmox; what is wrong with a file stands for itself.
func failed(c *target.Site, err error) error {
	var file cluster.Errors
	var one *cluster.Error
	var install *cluster.InstallError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &install):
		return ui.Advise(err, "Once its cause is gone, run the same command again: it tries the installation once more.")
	case errors.As(err, &file), errors.As(err, &one), errors.Is(err, cluster.ErrNoCluster), errors.Is(err, cluster.ErrQuorum):
		return err
	}
	return c.Fail(err)
}

// onCluster does something to a cluster that is there.
func (w *working) onCluster(ctx context.Context, u *ui.UI, do func(context.Context, *cluster.Work, *cluster.Cluster) error) error {
	return w.work(ctx, u, func(ctx context.Context, _ *target.Site, work *cluster.Work) error {
		c, err := cluster.Find(ctx, work.Site, work.In, w.cluster)
		if err != nil {
			return err
		}
		return do(ctx, work, c)
	})
}

// look finds a cluster that is only looked at.
func (w *working) look(ctx context.Context, u *ui.UI, do func(*cluster.Cluster) error) error {
	s, err := w.open(u)
	if err != nil {
		return err
	}
	defer s.Site.Close()
	c, err := cluster.Find(ctx, s.Site, cluster.Agents(s.Site), w.cluster)
	if err != nil {
		return failed(s, err)
	}
	return failed(s, do(c))
}

// machines is a number of them.
func machines(n int) string {
	if n == 1 {
		return "1 machine"
	}
	return fmt.Sprintf("%d machines", n)
}

// missing says that a flag isn't given.
func missing(flag, do string) error { return ui.Advise(errors.New(flag+" is missing"), do) }
