package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/cluster"
	"github.com/proxplane/proxplane/status"
)

// looking is one call of status or validate.
type looking struct {
	working
	watch bool
	every time.Duration
	quick bool
	image string
	file  *cluster.File // that the cluster is compared with
}

func (l *looking) flags(cmd *cobra.Command) {
	l.clusterFlag(cmd)
	cmd.Flags().BoolVarP(&l.watch, "watch", "w", false, "keep running, and refresh the output")
	cmd.Flags().DurationVar(&l.every, "interval", 5*time.Second, "how often --watch looks; a `TIME`")
	cmd.Flags().StringVarP(&l.output, "output", "o", "", "`FORMAT`: json")
}

func newStatus(u *ui.UI) *cobra.Command {
	l := &looking{}
	cmd := &cobra.Command{
		Use:   "status --cluster NAME",
		Short: "Show the machines of a cluster and their state",
		Long: `Show the machines of a cluster: in Proxmox, and as nodes of Kubernetes. The exit status
is 0 only if all machines that are wanted are there and ready.`,
		Example: `  proxplane cluster status --cluster lab
  proxplane cluster status --cluster lab --watch
  proxplane cluster status --cluster lab -o json`,
		Args: command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return l.again(cmd.Context(), u, l.status)
		},
	}
	l.flags(cmd)
	return cmd
}

// again looks once, or until somebody interrupts.
func (l *looking) again(ctx context.Context, u *ui.UI, show func(context.Context, *ui.UI, *cluster.Cluster) error) error {
	if err := command.CheckOutput(l.output, "json"); err != nil {
		return err
	}
	if l.every <= 0 {
		return errors.New("--interval must be more than 0")
	}
	for shown := false; ; {
		err := l.look(ctx, u, func(c *cluster.Cluster) error { shown = true; return show(ctx, u, c) })
		if !l.watch || err != nil && !shown && ctx.Err() == nil { // a cluster that was never seen is a mistake
			return err
		}
		var wrong *ui.ExitError // it was shown
		if err != nil && ctx.Err() == nil && !errors.As(err, &wrong) {
			u.Complain(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(l.every):
			u.Say("")
		}
	}
}

func (l *looking) status(ctx context.Context, u *ui.UI, c *cluster.Cluster) error {
	s := c.Status(ctx)
	if l.output == "json" {
		if err := ui.WriteJSON(u.Out, s); err != nil {
			return err
		}
	} else {
		u.Say("Cluster %s: %s %s, %s", s.Name, s.Distribution, s.Version, s.APIServer)
		if s.Problem != "" {
			u.Say("%s", status.Wrap(s.Problem, u.Page(u.Out).Width, "    "))
		}
		u.Say("")
		t := status.Table{Columns: []status.Column{{Name: "NAME", Flex: true, Ends: true}, {Name: "ROLE"}, {Name: "MACHINE"}, {Name: "ON"}, {Name: "VMID", Right: true}, {Name: "IP"}, {Name: "NODE"}, {Name: "VERSION"}}}
		for _, m := range s.Machines {
			vmid := "-"
			if m.VMID != 0 {
				vmid = fmt.Sprint(m.VMID)
			}
			t.Rows = append(t.Rows, []string{m.Name, m.Role, m.State, dash(m.On), vmid, dash(strings.Join(m.Addresses, ", ")), m.Node, dash(m.Version)})
		}
		if _, err := io.WriteString(u.Out, t.Text(u.Layout(false))); err != nil {
			return err
		}
		u.Say("\netcd: %s", s.Etcd)
	}
	if !s.Ready {
		return &ui.ExitError{Code: ui.ExitFailed}
	}
	return nil
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func newValidate(u *ui.UI) *cobra.Command {
	l, config := &looking{}, ""
	cmd := &cobra.Command{
		Use:   "validate --cluster NAME|--config FILE",
		Short: "Check a cluster, from its machines to its pods",
		Long: `Check a cluster: machines, API server through the VIP, nodes and their version, system
pods, etcd and its quorum, who holds the VIP, pressure, certificates, clocks, and drift:
machines that aren't as the file says that was applied last, in Proxmox or inside; with
--config also what of a file isn't applied. Then with test pods on each node:
scheduling, DNS, and the network between pods. The exit status is 0 only if nothing is
wrong.`,
		Example: `  proxplane cluster validate --cluster lab
  proxplane cluster validate --cluster lab --quick
  proxplane cluster validate --config cluster.yaml
  proxplane cluster validate --cluster lab -o json`,
		Args: command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if config != "" {
				if l.file, err = readOne(u, config, l.cluster); err != nil {
					return err
				}
				l.cluster = l.file.Name
			}
			return l.again(cmd.Context(), u, l.validate)
		},
	}
	l.flags(cmd)
	cmd.Flags().StringVar(&config, "config", "", "`FILE` of the cluster, to tell which of its fields aren't applied")
	cmd.Flags().BoolVar(&l.quick, "quick", false, "leave out what needs test pods")
	cmd.Flags().StringVar(&l.image, "image", cluster.DefaultTestImage, "container `IMAGE` of the test pods: a shell with nslookup, wget and httpd")
	return cmd
}

func (l *looking) validate(ctx context.Context, u *ui.UI, c *cluster.Cluster) error {
	v := cluster.Verification{Image: l.image, Quick: l.quick, File: l.file}
	if l.output == "" {
		v.Report = func(f cluster.Finding) { tellFinding(u, f) }
	}
	found := c.Verify(ctx, v)
	if l.output == "json" {
		if err := ui.WriteJSON(u.Out, struct {
			Cluster string            `json:"cluster"`
			Healthy bool              `json:"healthy"`
			Checks  []cluster.Finding `json:"checks"`
		}{c.Name, cluster.Healthy(found), found}); err != nil {
			return err
		}
	}
	if !cluster.Healthy(found) {
		return &ui.ExitError{Code: ui.ExitFailed}
	}
	return nil
}

// tellFinding prints one line, and what helps below it.
func tellFinding(u *ui.UI, f cluster.Finding) {
	mark := "✗"
	switch {
	case f.OK:
		mark = "✓"
	case f.Skipped:
		mark = "-"
	}
	u.Say("%s %-13s %s", mark, f.Check, strings.ReplaceAll(f.Text, "\n", "\n                "))
	if !f.OK && f.Do != "" {
		for _, line := range ui.HintLines([]string{f.Do}, u.Page(u.Out).Width) {
			u.Say("%s", line)
		}
	}
}
