package status

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// About has everything to describe about a guest.
type About struct {
	Guest *model.Guest // nil: there is none
	Want  *plan.Object // nil: no manifests were given
	Tasks []Task
	// Templates are the templates of an image; a single one is the guest.
	Templates []Image
	Now       time.Time
}

// Describe formats the details of a guest, section by section.
func (p Page) Describe(a About) string {
	d := &description{page: p}
	if a.Guest != nil {
		d.guest(a.Guest)
	} else if a.Want != nil {
		d.line("Name", a.Want.Owner.Name)
		d.line("State", unseen(*a.Want))
	}
	d.conditions(a)
	if len(a.Templates) > 1 {
		d.table("Templates", ImageTable(a.Templates, a.Now), []string{"NODE", "VMID", "SIZE", "AGE", "OURS", "USED BY", "READY", "MESSAGE"})
	}
	if a.Want != nil && (len(a.Want.Steps) > 0 || len(a.Want.Refused) > 0) {
		d.section("Plan")
		for line := range strings.Lines(p.Object(*a.Want)) {
			d.b.WriteString("  " + line)
		}
	}
	if a.Guest != nil && len(a.Guest.Snapshots) > 0 {
		if list := Snapshots(a.Guest); len(list) > 0 {
			d.table("Snapshots", SnapshotTable(list, a.Now), []string{"SNAPSHOT", "AGE", "MEMORY", "PARENT", "DESCRIPTION"})
		}
	}
	if len(a.Tasks) > 0 {
		d.table("Last tasks", TaskTable(a.Tasks, a.Now), []string{"AGE", "TYPE", "USER", "TOOK", "STATUS"})
	}
	return d.b.String()
}

// description is a text that is being written.
type description struct {
	page Page
	b    strings.Builder
}

const labelWidth = 13

// line is "Memory:      4 GiB"; nothing for what is empty.
func (d *description) line(label, value string) {
	if value = strings.TrimSpace(value); value != "" {
		fmt.Fprintf(&d.b, "%-*s%s\n", labelWidth, label+":", oneLine(value))
	}
}

func (d *description) section(title string) { d.b.WriteString(d.page.Bold(title+":") + "\n") }

// table writes some columns of a table, indented.
func (d *description) table(title string, t Table, columns []string) {
	part := Table{}
	var at []int
	for i, c := range t.Columns {
		if slices.Contains(columns, c.Name) {
			part.Columns, at = append(part.Columns, c), append(at, i)
		}
	}
	for _, row := range t.Rows {
		var cells []string
		for _, i := range at {
			cells = append(cells, row[i])
		}
		part.Rows = append(part.Rows, cells)
	}
	d.rows(title, part, true)
}

func (d *description) rows(title string, t Table, heading bool) {
	d.section(title)
	width := 0
	if d.page.Width > 0 {
		width = d.page.Width - 2
	}
	for line := range strings.Lines(t.Text(Layout{Width: width, Heading: heading})) {
		d.b.WriteString("  " + line)
	}
}

func (d *description) guest(g *model.Guest) {
	v := VMOf(g)
	d.line("Name", v.Name)
	d.line("VMID", v.id())
	d.line("Node", nodeText(g))
	state := v.State
	if g.Template {
		state = "template"
	}
	d.line("State", state)
	if v.Lock != "" {
		d.line("Lock", v.Lock)
	}
	d.line("Owner", ownerText(g))
	d.line("Addresses", strings.Join(v.Addresses, ", "))
	d.line("CPUs", v.cpus())
	d.line("Memory", sizeOrNone(v.Memory))
	d.line("Tags", strings.Join(v.Tags, ", "))
	d.line("Pool", v.Pool)
	d.line("HA", v.HA)
	if c := g.Config; c != nil {
		d.line("Description", c.Text)
		d.config(c)
	}
}

// nodeText returns the node of a guest, and the one that it comes back to.
func nodeText(g *model.Guest) string {
	if g.Config == nil || g.Config.Marker == nil || g.Config.Marker.Home == "" || g.Config.Marker.Home == g.Node {
		return g.Node
	}
	return fmt.Sprintf("%s (%s was drained; undrain brings it back there)", g.Node, g.Config.Marker.Home)
}

func ownerText(g *model.Guest) string {
	switch {
	case g.Config == nil:
		return ""
	case g.Config.Marker == nil:
		return "not proxplane's"
	}
	o := g.Config.Marker.Owner
	return fmt.Sprintf("%s of set %s", Name(o.Key), o.Set)
}

func (d *description) config(c *model.Config) {
	disks := Table{Columns: []Column{{Name: "SLOT"}, {Name: "SIZE", Right: true}, {Name: "VOLUME", Flex: true, Ends: true}, {Name: "OPTIONS", Flex: true}}}
	for _, disk := range c.Disks {
		disks.Rows = append(disks.Rows, []string{disk.Slot, sizeOrNone(disk.Size), disk.Volume, pairs(disk.Options)})
	}
	if len(disks.Rows) > 0 {
		d.rows("Disks", disks, true)
	}
	nics := Table{Columns: []Column{{Name: "SLOT"}, {Name: "MODEL"}, {Name: "MAC"}, {Name: "BRIDGE"}, {Name: "VLAN"}, {Name: "OPTIONS", Flex: true}}}
	for _, n := range c.NICs {
		vlan := ""
		if n.VLAN != 0 {
			vlan = fmt.Sprint(n.VLAN)
		}
		nics.Rows = append(nics.Rows, []string{n.Slot, n.Model, n.MAC, n.Bridge, vlan, nicOptions(n)})
	}
	if len(nics.Rows) > 0 {
		d.rows("Networks", nics, true)
	}
	options := Table{Columns: []Column{{Name: "OPTION"}, {Name: "VALUE", Flex: true}}}
	for _, k := range model.NamesOf(c.Options) {
		if k != "name" {
			options.Rows = append(options.Rows, []string{k, optionText(k, c.Options[k])})
		}
	}
	if len(options.Rows) > 0 {
		d.rows("Options", options, false)
	}
}

// nicOptions returns the options of an interface that have no column of their own, as its config has them.
func nicOptions(n model.NIC) string {
	all := maps.Clone(n.Options)
	if all == nil {
		all = map[string]string{}
	}
	if n.Firewall {
		all["firewall"] = "1"
	}
	if n.MTU != 0 {
		all["mtu"] = strconv.Itoa(n.MTU)
	}
	return pairs(all)
}

// optionText leaves out what is long or nobody's business.
func optionText(key, value string) string {
	switch key {
	case "cipassword":
		return "(set)"
	case "sshkeys":
		return Count(len(strings.Split(strings.TrimSpace(value), "\n")), "key")
	}
	return value
}

func pairs(m map[string]string) string {
	var list []string
	for _, k := range model.NamesOf(m) {
		list = append(list, k+"="+m[k])
	}
	return strings.Join(list, ",")
}

// conditions are what is seen of the guest, and with the manifests whether it
// is up to date.
func (d *description) conditions(a About) {
	list := observedConditions(a.Guest)
	if a.Want != nil {
		list = append(d.page.Words.Of(*a.Want).Conditions(), list...)
	}
	if len(list) == 0 {
		return
	}
	t := Table{Columns: []Column{{Name: "CONDITION"}, {Name: "STATUS"}, {Name: "REASON"}}}
	for _, c := range list {
		t.Rows = append(t.Rows, []string{c.Type, c.Status, string(c.Reason)})
	}
	d.section("Conditions")
	lines := strings.Split(t.Text(Layout{Heading: true}), "\n")
	d.hang(lines, 0, "MESSAGE")
	for i, c := range list {
		message := c.Message
		if i > 0 && message == list[i-1].Message {
			message = `"` // the same again
		}
		d.hang(lines, i+1, message)
	}
	if a.Want == nil {
		d.b.WriteString("  " + d.page.Grey("(with the manifests, -f, also whether it is up to date)") + "\n")
	}
}

// hang writes one of some lines with a text beside it, which is broken where
// the screen ends.
func (d *description) hang(lines []string, i int, text string) {
	left := 0
	for _, l := range lines {
		left = max(left, utf8.RuneCountInString(l))
	}
	prefix := fmt.Sprintf("  %-*s  ", left, lines[i])
	width := 0
	if d.page.Width > 0 {
		width = max(least, d.page.Width-left-4)
	}
	indent := "\n" + strings.Repeat(" ", left+4)
	d.b.WriteString(prefix + strings.ReplaceAll(Wrap(text, width, ""), "\n", indent) + "\n")
}

// observedConditions returns the conditions of a guest without its manifest.
func observedConditions(g *model.Guest) []Condition {
	if g == nil || g.Template {
		return nil
	}
	truth := func(b bool) string {
		if b {
			return "True"
		}
		return "False"
	}
	running := g.Status == model.StatusRunning
	list := []Condition{{"Running", truth(running), model.Reason(title(string(g.Status))), fmt.Sprintf("VM %d is %s on %s", g.VMID, g.Status, g.Node)}}
	switch {
	case !running:
	case len(g.Addresses) > 0:
		list = append(list, Condition{"AgentUp", "True", "Answers", "its guest agent has reported " + Count(len(g.Addresses), "address", "addresses")})
	case g.Agent == model.AgentUp:
		list = append(list, Condition{"AgentUp", "True", "Answers", "its guest agent answers, with no address yet"})
	default:
		list = append(list, Condition{"AgentUp", "False", model.WaitAgent, "its guest agent doesn't answer, or isn't turned on"})
	}
	switch {
	case g.Lock == "":
	case g.Hibernated():
		list = append(list, Condition{"Locked", "True", model.WaitLock, "it is suspended to disk: starting it resumes it"})
	default:
		list = append(list, Condition{"Locked", "True", model.WaitLock, "an operation is under way: " + g.Lock})
	}
	if g.Config != nil && len(g.Config.Pending) > 0 {
		keys := model.NamesOf(g.Config.Pending)
		list = append(list, Condition{"PendingChanges", "True", model.WaitRestart, strings.Join(keys, ", ") + " will apply at the next restart"})
	}
	return list
}

func title(s string) string {
	if s == "" {
		return "Unknown"
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
