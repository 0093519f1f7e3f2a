package inspect

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/status"
)

// show writes the tables; live ones into the place of the last.
func (t *topping) show(u *ui.UI, all loads, live bool) error {
	if t.output == "json" {
		if all.silent != "" {
			u.Note("%s", all.silent)
		}
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
	if live && all.silent != "" {
		b.WriteString("\n" + status.Wrap("note: "+all.silent, layout.Width, "      ") + "\n")
	} else if all.silent != "" {
		u.Note("%s", all.silent)
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
		cpu, memory, cpus, most := percent(l.CPU), status.Size(l.Memory), fmt.Sprint(l.CPUs), status.Size(l.MemoryOf)
		if l.Unmeasured || l.State != string(model.StatusRunning) {
			cpu, memory = "", ""
		}
		if l.CPUs == 0 { // the list doesn't know the machine's figures yet
			cpus, most = "", ""
		}
		t.Rows = append(t.Rows, append([]string{
			l.Name, fmt.Sprint(l.VMID), l.Node, l.State, cpus, cpu, memory, most, up(l.Uptime),
		}, rateCells(l.Rates)...))
	}
	return t
}
