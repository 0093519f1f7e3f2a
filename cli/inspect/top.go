package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// topping is one call of top.
type topping struct {
	target.Target
	once   bool
	every  time.Duration
	sort   string
	output string

	last map[string]counters
}

// topSorts are what rows can be sorted by.
var topSorts = []string{"cpu", "memory", "disk", "network", "name"}

// NewTop returns the command `proxplane top`.
func NewTop(u *ui.UI) *cobra.Command {
	t := &topping{last: map[string]counters{}}
	cmd := &cobra.Command{
		Use:   "top [nodes|vms] [NAME…]",
		Short: "Show the load of nodes and machines, live",
		Long: `Show how much CPU, memory, disk and network nodes and machines use, again and again
until Ctrl-C. Where the output isn't a terminal, or with --once, show it once.

Names and states are those of right now. The figures are those of Proxmox' status
round, which is every ten seconds: a machine that was just started has none yet. Rates
of disk and network are between two rounds, so that they aren't there at first.`,
		Example: `  proxplane top
  proxplane top vms --sort memory
  proxplane top nodes --once
  proxplane top vms web-1 web-2 -o json`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return []string{"nodes", "vms"}, cobra.ShellCompDirectiveNoFileComp
			}
			return t.Complete(u, "", target.NamesIn(args[0]))(cmd, args[1:], word)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return t.run(cmd.Context(), u, args) },
	}
	t.Flags(cmd, false)
	fs := cmd.Flags()
	fs.BoolVar(&t.once, "once", false, "show it once and end")
	fs.DurationVar(&t.every, "interval", 5*time.Second, "how often to look; a `TIME`")
	fs.StringVar(&t.sort, "sort", "cpu", "sort machines by `WHAT`: "+strings.Join(topSorts, ", "))
	fs.StringVarP(&t.output, "output", "o", "", "`FORMAT`: json, once")
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(topSorts, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// load is how much a node or a machine uses. Its field names stay.
type load struct {
	Name     string  `json:"name"`
	Node     string  `json:"node,omitempty"`
	VMID     int     `json:"vmid,omitempty"`
	State    string  `json:"state"`
	CPU      float64 `json:"cpu"` // 0 to 1 of all its CPUs
	CPUs     int     `json:"cpus"`
	Memory   int64   `json:"memoryBytes"`
	MemoryOf int64   `json:"memoryOfBytes"`
	Disk     int64   `json:"diskBytes,omitempty"` // of a node's root file system
	DiskOf   int64   `json:"diskOfBytes,omitempty"`
	Uptime   int64   `json:"uptimeSeconds"`
	Rates    *rates  `json:"rates,omitempty"`
	// Unmeasured means that no status round has measured it since it was started, stopped or moved: the figures are 0.
	Unmeasured bool `json:"unmeasured,omitempty"`
}

// loads are those of the whole cluster.
type loads struct {
	Nodes []load `json:"nodes,omitempty"`
	VMs   []load `json:"vms,omitempty"`

	silent string // of which nodes only the list's states are known
}

func (t *topping) run(ctx context.Context, u *ui.UI, args []string) error {
	kind := ""
	if len(args) > 0 {
		switch target.Kind(args[0]) {
		case "vm":
			kind = "vms"
		case "node":
			kind = "nodes"
		default:
			return fmt.Errorf("%q has no load; there are nodes and vms", args[0])
		}
		args = args[1:]
	}
	if err := command.CheckOutput(t.output, "json"); err != nil {
		return err
	}
	switch {
	case !slices.Contains(topSorts, t.sort):
		return fmt.Errorf("--sort %s: there are %s", t.sort, strings.Join(topSorts, ", "))
	case t.every <= 0:
		return errors.New("--interval must be more than 0")
	}
	c, err := t.Site(u)
	if err != nil {
		return err
	}
	_, screen := ui.Terminal(u.Out)
	live := screen && !t.once && t.output == ""
	away := outage{u: u}
	for first := true; ; {
		all, err := t.look(ctx, c, kind, args)
		switch {
		case err == nil:
			away.over()
			if err := t.show(u, all, live); err != nil || !live {
				return err
			}
			first = false
		case first || ctx.Err() != nil || !away.bears(err):
			return err
		}
		select {
		case <-ctx.Done():
			return nil // that is how it ends
		case <-time.After(t.every):
		}
	}
}

// look reads the load of everything with one request, and from each node which machines it has and whether they run.
func (t *topping) look(ctx context.Context, c *target.Site, kind string, names []string) (loads, error) {
	list, err := c.Client.Cluster().Resources(ctx, "")
	if err != nil {
		return loads{}, c.Fail(fmt.Errorf("read the load of the cluster: %w", err))
	}
	have, err := c.LookNow(ctx)
	if err != nil {
		return loads{}, err
	}
	all := loads{silent: target.Silent(have)}
	var thereNodes []string
	sums, measured := map[string]*rates{}, map[int]pve.Resource{}
	for _, r := range list {
		l := load{
			Name: r.Name, Node: r.Node, VMID: r.VMID, State: r.Status, CPU: r.CPU, CPUs: int(r.MaxCPU), Memory: r.Memory, MemoryOf: r.MaxMemory, Uptime: r.Uptime,
		}
		switch r.Type {
		case "node":
			l.Name, l.Node, l.Disk, l.DiskOf = r.Node, "", r.Disk, r.MaxDisk
			thereNodes = append(thereNodes, l.Name)
			all.Nodes = append(all.Nodes, l)
		case "qemu":
			measured[r.VMID] = r
		}
	}
	for id, g := range have.Guests {
		if g.Template || g.Container {
			continue
		}
		l := load{Name: g.Name, Node: g.Node, VMID: id, State: string(g.Status), CPUs: g.CPUs, MemoryOf: g.Memory}
		if r, ok := measured[id]; ok && (r.Status == "running") == runs(g) && r.Node == l.Node {
			l.CPU, l.Memory, l.Uptime, l.Rates = r.CPU, r.Memory, r.Uptime, t.rates(r)
		} else {
			l.Unmeasured = true
			delete(t.last, fmt.Sprintf("qemu/%d", id))
		}
		add(sums, g.Node, l.Rates)
		all.VMs = append(all.VMs, l)
	}
	for i, n := range all.Nodes {
		all.Nodes[i].Rates = sums[n.Name] // of its machines
	}
	t.order(&all)
	switch kind {
	case "nodes":
		all.VMs = nil
		all.Nodes = slices.DeleteFunc(all.Nodes, func(l load) bool { return !named(names, l.Name) })
		return all, missing("node", names, thereNodes)
	case "vms":
		all.Nodes = nil
		if len(names) > 0 {
			guests, err := c.FindAll(ctx, have, names)
			if err != nil {
				return loads{}, err
			}
			all.VMs = slices.DeleteFunc(all.VMs, func(l load) bool {
				return !slices.ContainsFunc(guests, func(g *model.Guest) bool { return g.VMID == l.VMID })
			})
		}
		return all, nil
	}
	return all, nil
}

// runs reports whether a guest has a process; Proxmox' list calls one that is paused running.
func runs(g *model.Guest) bool {
	return g.Status == model.StatusRunning || g.Status == model.StatusPaused
}

// order sorts machines by what was asked for, the most first, and nodes by name.
func (t *topping) order(all *loads) {
	slices.SortFunc(all.Nodes, func(a, b load) int { return model.CompareNames(a.Name, b.Name) })
	by := map[string]func(load) float64{
		"cpu":     func(l load) float64 { return l.CPU * float64(l.CPUs) },
		"memory":  func(l load) float64 { return float64(l.Memory) },
		"disk":    func(l load) float64 { return float64(l.Rates.disk()) },
		"network": func(l load) float64 { return float64(l.Rates.net()) },
		"name":    func(load) float64 { return 0 },
	}[t.sort]
	slices.SortFunc(all.VMs, func(a, b load) int {
		return cmp.Or(cmp.Compare(by(b), by(a)), model.CompareNames(a.Name, b.Name), a.VMID-b.VMID)
	})
}
