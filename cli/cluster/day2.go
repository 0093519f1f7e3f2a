package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/cluster"
)

func newScale(u *ui.UI) *cobra.Command {
	w := &working{}
	yes := false
	cmd := &cobra.Command{
		Use:   "scale POOL=COUNT --cluster NAME",
		Short: "Change the number of machines of a pool",
		Long: `Change the number of machines of a pool. The pools are cp (the control
plane), worker, and those that the file names. Surplus machines are drained,
leave etcd and are destroyed, the last first. What would cost etcd its quorum is
refused.`,
		Example: `  proxplane cluster scale worker=5 --cluster lab
  proxplane cluster scale cp=3 --cluster lab
  proxplane cluster scale worker=1 --cluster lab --yes`,
		Args: command.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			pool, text, _ := strings.Cut(args[0], "=")
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				return fmt.Errorf("%s: want POOL=COUNT, such as worker=3", args[0])
			}
			return w.onCluster(cmd.Context(), u, func(ctx context.Context, work *cluster.Work, c *cluster.Cluster) error {
				c, err := work.Scale(ctx, c, pool, n, func(goes int) error {
					return u.Agree(ctx, yes, machines(goes)+" of "+c.Name+" will be drained and destroyed")
				})
				if err == nil && w.output == "" {
					u.Say("\nCluster %s has %s.", c.Name, machines(len(c.Members)))
					u.Say("In its file, set %s.count to %d, too: init goes by the file.", c.Record.File.FieldOf(pool), n)
				}
				return err
			})
		},
	}
	w.clusterFlag(cmd)
	w.paceFlags(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask before machines are destroyed")
	return cmd
}

func newUpgrade(u *ui.UI) *cobra.Command {
	w := &working{}
	var version, checksum string
	cmd := &cobra.Command{
		Use:   "upgrade --cluster NAME --version VERSION",
		Short: "Install another release of Kubernetes, machine by machine",
		Long: `Install another release on all machines of a cluster: control planes one by one, then
workers one by one, each drained before. It stops at the first that fails; run it again
to go on. Kubernetes is upgraded one minor version at a time, and never downgraded.`,
		Example: `  proxplane cluster upgrade --cluster lab --version 1.31
  proxplane cluster upgrade --cluster lab --version v1.31.4+rke2r1`,
		Args: command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version == "" {
				return missing("--version", "Name the version with it, such as 1.31.")
			}
			return w.onCluster(cmd.Context(), u, func(ctx context.Context, work *cluster.Work, c *cluster.Cluster) error {
				c, err := work.Upgrade(ctx, c, version, checksum)
				if err == nil && w.output == "" {
					u.Say("\nCluster %s runs %s.", c.Name, c.Record.Release.Version)
					u.Say("In its file, set kubernetes.version to %s, too: init goes by the file.", c.Record.Release.Version)
				}
				return err
			})
		},
	}
	w.clusterFlag(cmd)
	w.paceFlags(cmd)
	cmd.Flags().StringVar(&version, "version", "", "`VERSION` of Kubernetes: 1.31, or a release in full")
	cmd.Flags().StringVar(&checksum, "checksum", "", "`SHA-256` of the release, where its source has no list of checksums")
	return cmd
}

func newRotate(u *ui.UI) *cobra.Command {
	w := &working{}
	cmd := &cobra.Command{
		Use:   "rotate --cluster NAME",
		Short: "Renew the certificates of a cluster, machine by machine",
		Long: `Renew the certificates of all machines of a cluster: control planes one by one, then
workers one by one. The service of each is stopped meanwhile; pods keep running. All
machines must run and all control planes be ready, unless the certificates of the
control planes have expired: they are renewed together then. Existing kubeconfigs work
until their own certificate expires; get a new one with "kubeconfig".`,
		Example: `  proxplane cluster rotate --cluster lab`,
		Args:    command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return w.onCluster(cmd.Context(), u, func(ctx context.Context, work *cluster.Work, c *cluster.Cluster) error {
				err := work.RotateCertificates(ctx, c)
				if err == nil && w.output == "" {
					u.Say("\nThe certificates of %s are renewed on %s.", c.Name, machines(len(c.Members)))
				}
				return err
			})
		},
	}
	w.clusterFlag(cmd)
	w.paceFlags(cmd)
	return cmd
}

func newReplace(u *ui.UI) *cobra.Command {
	w := &working{}
	yes := false
	cmd := &cobra.Command{
		Use:   "replace MACHINE --cluster NAME",
		Short: "Recreate a machine of a cluster",
		Long: `Recreate a machine: it is drained if it answers, leaves the cluster and etcd, is
destroyed, and joins as a new one of the same name. A lost machine is removed from the
cluster and recreated. What would cost etcd its quorum is refused.`,
		Example: `  proxplane cluster replace lab-cp-1 --cluster lab --yes`,
		Args:    command.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return w.onCluster(cmd.Context(), u, func(ctx context.Context, work *cluster.Work, c *cluster.Cluster) error {
				_, there, err := c.Wanted(args[0])
				if err != nil {
					return err
				}
				if there { // one that is gone is only made
					if err := u.Agree(ctx, yes, args[0]+" will be destroyed and made anew"); err != nil {
						return err
					}
				}
				_, err = work.Replace(ctx, c, args[0])
				return err
			})
		},
	}
	w.clusterFlag(cmd)
	w.paceFlags(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask before the machine is destroyed")
	return cmd
}

func newBackup(u *ui.UI) *cobra.Command {
	w := &working{}
	var file, name string
	cmd := &cobra.Command{
		Use:   "backup --cluster NAME -o FILE",
		Short: "Take a snapshot of etcd, and download it",
		Long: `Take a snapshot of etcd in a control plane, and write it to a file with everything that
is needed to restore the cluster: its description and its secret. Whoever has the file
has the whole cluster: keep it as you keep keys.`,
		Example: `  proxplane cluster backup --cluster lab -o lab.backup`,
		Args:    command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return missing("--output", "Name the file to write with it.")
			}
			if !cluster.IsSnapshotName(name) {
				return fmt.Errorf("--name: want letters, digits, dots, hyphens and underscores, have %q", name)
			}
			if err := ui.CheckWritable(file); err != nil { // before a snapshot is taken
				return fmt.Errorf("--output: %w", err)
			}
			return w.onCluster(cmd.Context(), u, func(ctx context.Context, work *cluster.Work, c *cluster.Cluster) error {
				b, at, err := work.Backup(ctx, c, name)
				if err != nil {
					return err
				}
				var text bytes.Buffer
				if err := b.Write(&text, time.Now()); err != nil {
					return err
				}
				if err := ui.WriteWhole(file, text.Bytes(), 0o600); err != nil { // an earlier one stays until then
					return err
				}
				u.Say("\nWrote %s. The snapshot is also in %s.", file, at)
				return nil
			})
		},
	}
	w.clusterFlag(cmd)
	cmd.Flags().StringVarP(&file, "output", "o", "", "`FILE` to write")
	cmd.Flags().StringVar(&name, "name", "proxplane", "`NAME` of the snapshot in the control plane")
	return cmd
}

func newRestore(u *ui.UI) *cobra.Command {
	w := &working{}
	yes := false
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore a cluster from a backup",
		Long: `Restore a cluster from a backup. If the cluster exists, its control planes start from
the snapshot, and later changes are lost; machines keep the release that they run. If it
is gone, it is created again as it was, with the same name and the same secrets.`,
		Example: `  proxplane cluster restore lab.backup --yes`,
		Args:    command.Takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer in.Close()
			b, err := cluster.ReadBackup(in)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if err := u.Agree(cmd.Context(), yes, fmt.Sprintf("Cluster %s will be as it was on %s, and what has happened since is lost", b.Record.File.Name, b.Taken.Local().Format("2006-01-02 15:04"))); err != nil {
				return err
			}
			return w.work(cmd.Context(), u, func(ctx context.Context, _ *target.Site, work *cluster.Work) error {
				c, err := work.Restore(ctx, b)
				if err == nil && w.output == "" {
					u.Say("\nCluster %s is back: %s.", c.Name, machines(len(c.Members)))
				}
				return err
			})
		},
	}
	w.LoginFlags(cmd)
	w.paceFlags(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask before anything is lost")
	return cmd
}

func newDestroy(u *ui.UI) *cobra.Command {
	w := &working{}
	var force, cleanup bool
	cmd := &cobra.Command{
		Use:   "destroy --cluster NAME",
		Short: "Destroy a cluster with all its machines",
		Long: `Destroy all machines of a cluster, with their disks and first-boot data. The image that
they were made from stays for the next cluster of that name, unless --cleanup says
otherwise.`,
		Example: `  proxplane cluster destroy --cluster lab
  proxplane cluster destroy --cluster lab --force --cleanup`,
		Args: command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return w.work(cmd.Context(), u, func(ctx context.Context, _ *target.Site, work *cluster.Work) error {
				agree := func(count int) error {
					what := "Cluster " + w.cluster + " with " + machines(count) + " will be destroyed"
					if !force && !u.Asks() {
						return ui.Advise(errors.New(what+", and there is no terminal to confirm on"), "If that is what you want, add --force.")
					}
					return u.Agree(ctx, force, what)
				}
				n, err := work.Destroy(ctx, w.cluster, cleanup, agree)
				if err == nil && w.output == "" {
					u.Say("Cluster %s is gone: %s destroyed.", w.cluster, machines(n))
				}
				return err
			})
		},
	}
	w.clusterFlag(cmd)
	w.paceFlags(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "don't ask")
	cmd.Flags().BoolVar(&cleanup, "cleanup", false, "remove the image that the machines were made from, too")
	return cmd
}
