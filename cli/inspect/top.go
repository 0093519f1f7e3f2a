package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/status"
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

// NewTop is `proxplane top`.
func NewTop(u *ui.UI) *cobra.Command {
	t := &topping{last: map[string]counters{}}
	cmd := &cobra.Command{
		Use:   "top [nodes|vms] [NAME…]",
		Short: "Show the load of nodes and machines, live",
		Long: `Show how much CPU, memory, disk and network nodes and machines use, again and again
until Ctrl-C. Where the output isn't a terminal, or with --once, show it once.

The figures are those of Proxmox' status round, which is every ten seconds. Rates of
disk and network are between two rounds, so that they aren't there at first.`,
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

// counters are what a guest has moved since its start, and how fast it did lately.
type counters struct {
	uptime               int64
	in, out, read, write int64
	rates                *rates
}

// rates are bytes a second.
type rates struct {
	NetIn     int64 `json:"netInBytesPerSecond"`
	NetOut    int64 `json:"netOutBytesPerSecond"`
	DiskRead  int64 `json:"diskReadBytesPerSecond"`
	DiskWrite int64 `json:"diskWriteBytesPerSecond"`
}

// since are the rates since an earlier look. A guest's uptime is the clock: it stands
// still between two status rounds.
func (c counters) since(old counters) *rates {
	seconds := c.uptime - old.uptime
	switch {
	case seconds == 0:
		return old.rates
	case seconds < 0 || old.uptime == 0 || c.in < old.in || c.out < old.out || c.read < old.read || c.write < old.write:
		return nil // it was started anew
	}
	return &rates{(c.in - old.in) / seconds, (c.out - old.out) / seconds, (c.read - old.read) / seconds, (c.write - old.write) / seconds}
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
}

// loads are those of the whole cluster.
type loads struct {
	Nodes []load `json:"nodes,omitempty"`
	VMs   []load `json:"vms,omitempty"`
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

// look reads the load of everything with one request.
func (t *topping) look(ctx context.Context, c *target.Site, kind string, names []string) (loads, error) {
	list, err := c.Client.Cluster().Resources(ctx, "")
	if err != nil {
		return loads{}, c.Fail(fmt.Errorf("read the load of the cluster: %w", err))
	}
	var all loads
	var thereNodes, thereVMs []string
	sums := map[string]*rates{}
	for _, r := range list {
		l := load{
			Name: r.Name, Node: r.Node, VMID: r.VMID, State: r.Status, CPU: r.CPU, CPUs: int(r.MaxCPU), Memory: r.Memory, MemoryOf: r.MaxMemory, Uptime: r.Uptime,
		}
		switch {
		case r.Type == "node":
			l.Name, l.Node, l.Disk, l.DiskOf = r.Node, "", r.Disk, r.MaxDisk
			thereNodes = append(thereNodes, l.Name)
			all.Nodes = append(all.Nodes, l)
		case r.Type == "qemu" && !r.Template:
			l.Rates = t.rates(r)
			add(sums, r.Node, l.Rates)
			thereVMs = append(thereVMs, r.Name)
			all.VMs = append(all.VMs, l)
		}
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
		byID := func(name string) bool {
			return slices.ContainsFunc(all.VMs, func(l load) bool { return fmt.Sprint(l.VMID) == target.Bare(name) })
		}
		err := missing("machine", slices.DeleteFunc(slices.Clone(names), byID), thereVMs)
		all.VMs = slices.DeleteFunc(all.VMs, func(l load) bool { return !named(names, l.Name) && !named(names, fmt.Sprint(l.VMID)) })
		return all, err
	}
	return all, nil
}

func (t *topping) rates(r pve.Resource) *rates {
	now := counters{uptime: r.Uptime, in: r.NetIn, out: r.NetOut, read: r.DiskRead, write: r.DiskWrite}
	if r.Status != string(model.StatusRunning) {
		delete(t.last, r.ID)
		return nil
	}
	now.rates = now.since(t.last[r.ID])
	t.last[r.ID] = now
	return now.rates
}

func add(sums map[string]*rates, node string, r *rates) {
	if r == nil {
		return
	}
	if sums[node] == nil {
		sums[node] = &rates{}
	}
	s := sums[node]
	s.NetIn, s.NetOut, s.DiskRead, s.DiskWrite = s.NetIn+r.NetIn, s.NetOut+r.NetOut, s.DiskRead+r.DiskRead, s.DiskWrite+r.DiskWrite
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

func (r *rates) net() int64 {
	if r == nil {
		return 0
	}
	return r.NetIn + r.NetOut
}

func (r *rates) disk() int64 {
	if r == nil {
		return 0
	}
	return r.DiskRead + r.DiskWrite
}

// show writes the tables; live ones into the place of the last.
func (t *topping) show(u *ui.UI, all loads, live bool) error {
	if t.output == "json" {
		return ui.WriteJSON(u.Out, all)
	}
	var b strings.Builder
	layout := u.Layout(false)
	if len(all.Nodes) > 0 {
		b.WriteString(nodeLoads(all.Nodes).Text(layout))
	}
	if len(all.VMs) > 0 {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(vmLoads(all.VMs).Text(layout))
	}
	text := b.String()
	if text == "" {
		text = "There is nothing to see.\n"
	}
	if live {
		_, err := io.WriteString(ui.Raw(u.Out), onScreen(status.Safe(text), ui.ScreenHeight(u.Out)))
		return err
	}
	_, err := io.WriteString(u.Out, text)
	return err
}

// onScreen puts a text where the last one was, and cuts it to the screen's height.
func onScreen(text string, height int) string {
	const home, clearLine, clearBelow = "\x1b[H", "\x1b[K", "\x1b[J"
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if height > 1 && len(lines) > height-1 {
		lines = append(lines[:height-2], fmt.Sprintf("… and %d more", len(lines)-(height-2)))
	}
	return home + strings.Join(lines, clearLine+"\r\n") + clearLine + "\r\n" + clearBelow
}

func percent(part float64) string { return fmt.Sprintf("%.0f%%", part*100) }

func rate(r *rates, of func(*rates) int64) string {
	if r == nil {
		return ""
	}
	return status.Size(of(r)) + "/s"
}

var rateColumns = []status.Column{
	{Name: "DISK READ", Right: true}, {Name: "DISK WRITE", Right: true}, {Name: "NET IN", Right: true}, {Name: "NET OUT", Right: true},
}

func rateCells(r *rates) []string {
	return []string{
		rate(r, func(r *rates) int64 { return r.DiskRead }), rate(r, func(r *rates) int64 { return r.DiskWrite }),
		rate(r, func(r *rates) int64 { return r.NetIn }), rate(r, func(r *rates) int64 { return r.NetOut }),
	}
}

func up(seconds int64) string {
	if seconds <= 0 {
		return ""
	}
	return status.Duration(time.Duration(seconds) * time.Second)
}

func nodeLoads(list []load) status.Table {
	t := status.Table{Columns: append([]status.Column{
		{Name: "NODE"}, {Name: "STATE"}, {Name: "CPUS", Right: true}, {Name: "CPU", Right: true}, {Name: "MEMORY", Right: true}, {Name: "OF", Right: true},
		{Name: "ROOT DISK", Right: true}, {Name: "UP", Right: true},
	}, rateColumns...)}
	for _, l := range list {
		t.Rows = append(t.Rows, append([]string{
			l.Name, l.State, fmt.Sprint(l.CPUs), percent(l.CPU), status.Size(l.Memory), status.Size(l.MemoryOf), status.Percent(l.Disk, l.DiskOf), up(l.Uptime),
		}, rateCells(l.Rates)...))
	}
	return t
}

func vmLoads(list []load) status.Table {
	t := status.Table{Columns: append([]status.Column{
		{Name: "NAME", Flex: true, Ends: true}, {Name: "VMID", Right: true}, {Name: "NODE"}, {Name: "STATE"}, {Name: "CPUS", Right: true}, {Name: "CPU", Right: true},
		{Name: "MEMORY", Right: true}, {Name: "OF", Right: true}, {Name: "UP", Right: true},
	}, rateColumns...)}
	for _, l := range list {
		cpu, memory := percent(l.CPU), status.Size(l.Memory)
		if l.State != string(model.StatusRunning) {
			cpu, memory = "", ""
		}
		t.Rows = append(t.Rows, append([]string{
			l.Name, fmt.Sprint(l.VMID), l.Node, l.State, fmt.Sprint(l.CPUs), cpu, memory, status.Size(l.MemoryOf), up(l.Uptime),
		}, rateCells(l.Rates)...))
	}
	return t
}
