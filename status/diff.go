package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// settings are a guest's settings as text, by name: "memory" is "4096".
type settings map[string]string

// Diff returns the changes of a plan to an object's guest, as lines of a unified diff: old
// values begin with "-", new ones with "+". It has no secrets. g is nil if there is no
// guest yet. The result is empty if no setting changes.
func Diff(o plan.Object, g *model.Guest) []string {
	before := settingsOf(g)
	after := maps.Clone(before)
	for _, s := range o.Steps {
		after, _ = after.with(s.Action)
	}
	var lines []string
	names := model.NamesOf(merged(before, after))
	for _, name := range names {
		was, had := before[name]
		is, has := after[name]
		if had && (!has || was != is) {
			lines = append(lines, "-"+name+": "+was)
		}
		if has && (!had || was != is) {
			lines = append(lines, "+"+name+": "+is)
		}
	}
	return lines
}

// DiffComments returns what a diff of settings doesn't show: refusals, waits, and steps that
// change no setting; with every, all steps.
func DiffComments(o plan.Object, every bool) (lines []string) {
	for _, r := range o.Refused {
		if r.Allow == "" {
			lines = append(lines, fmt.Sprintf("can't be done: %s (%s)", r.What, Reason(r.Why, r.Diff)))
		} else {
			lines = append(lines, fmt.Sprintf("refused unless %s: %s (%s)", CLI.Consent(r.Allow), r.What, Reason(r.Why, r.Diff)))
		}
	}
	switch w := o.Wait; {
	case w == nil:
	case w.Reason.Blocks():
		lines = append(lines, "blocked: "+CLI.Wait(*w))
	default:
		lines = append(lines, "waits: "+CLI.Wait(*w))
	}
	for _, s := range o.Steps {
		if _, aboutSettings := (settings{}).with(s.Action); every && len(o.Refused) == 0 || !aboutSettings {
			lines = append(lines, s.What+": "+Reason(s.Why, s.Diff))
		}
	}
	return lines
}

func merged(a, b settings) settings {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// settingsOf returns the settings that a guest has.
func settingsOf(g *model.Guest) settings {
	s := settings{}
	if g == nil {
		return s
	}
	s["name"], s["node"], s["state"] = g.Name, g.Node, string(g.Status)
	if g.Pool != "" {
		s["pool"] = g.Pool
	}
	s.tags(g.Tags)
	c := g.Config
	if c == nil {
		return s
	}
	s.tags(c.Tags)
	s.set(c.Options)
	for _, d := range c.Disks {
		s.disk(d)
	}
	for _, n := range c.NICs {
		s[n.Slot] = nicText(n)
	}
	s.text(c.Text)
	return s
}

// text notes what people wrote into the description, without the marker.
func (s settings) text(description string) {
	text, _, _ := model.ParseDescription(description)
	if s["description"] = oneLine(text); text == "" {
		delete(s, "description")
	}
}

// with returns the settings after an action, and whether it is about settings.
func (s settings) with(action model.Action) (settings, bool) {
	if power := model.FactsOf(action).Power; power != "" {
		s["state"] = string(power)
		return s, true
	}
	switch a := action.(type) {
	case model.Clone:
		s = settings{"name": a.Name, "node": a.To.Node, "state": string(model.StatusStopped), "made from": a.From.String()}
	case model.Create:
		s = settings{"name": a.Name, "node": a.Node, "state": string(model.StatusStopped)}
		s.set(a.Options)
		s.devices(a.Disks, a.NICs)
		s.tags(a.Tags)
	case model.Configure:
		for _, name := range a.Delete {
			delete(s, name)
		}
		s.set(a.Set)
		s.devices(a.Disks, a.NICs)
		if a.Tags != nil {
			s.tags(*a.Tags)
		}
		if a.Description != nil {
			s.text(*a.Description)
		}
	case model.Release:
		s.tags(a.Tags)
		s.text(a.Description)
	case model.Detach:
		for _, name := range a.Options {
			delete(s, name)
		}
	case model.Migrate:
		s["node"] = a.To
	case model.MoveDisk:
		parts := strings.Split(s[a.Slot], ",")
		if i := slices.Index(parts, a.From); i >= 0 {
			parts[i] = "on " + a.Storage
		}
		s[a.Slot] = strings.Join(parts, ",")
	case model.Resize:
		first, rest, _ := strings.Cut(s[a.Slot], ",")
		if strings.HasSuffix(first, "iB") {
			s[a.Slot] = strings.TrimSuffix(Size(a.Size)+","+rest, ",")
		} else {
			s[a.Slot] = Size(a.Size) // of a disk that comes with its image
		}
	case model.SetPool:
		if s["pool"] = a.Pool; a.Pool == "" {
			delete(s, "pool")
		}
	case model.Destroy:
		s = settings{}
	default:
		return s, false
	}
	return s, true
}

func (s settings) set(options map[string]string) {
	for name, value := range options {
		s[name] = optionText(name, value)
	}
}

func (s settings) devices(disks []model.NewDisk, nics []model.NIC) {
	for _, d := range disks {
		s.disk(d.Disk)
	}
	for _, n := range nics {
		s[n.Slot] = nicText(n)
	}
}

// tags notes the tags without proxplane's own.
func (s settings) tags(list []string) {
	list = slices.DeleteFunc(slices.Clone(list), model.IsMark)
	slices.Sort(list)
	if s["tags"] = strings.Join(list, ","); len(list) == 0 {
		delete(s, "tags")
	}
}

func (s settings) disk(d model.Disk) {
	parts := []string{Size(d.Size)}
	if d.Size == 0 {
		parts = nil
	}
	switch {
	case d.CloudInit:
		parts = append(parts, "cloud-init drive")
	case d.Volume != "":
		parts = append(parts, d.Volume)
	case d.Storage != "":
		parts = append(parts, "on "+d.Storage)
	}
	if len(d.Options) > 0 {
		parts = append(parts, pairs(d.Options))
	}
	s[d.Slot] = strings.Join(parts, ",")
}

func nicText(n model.NIC) string {
	parts := []string{n.Model, "bridge=" + n.Bridge}
	if n.MAC != "" {
		parts[0] += "=" + n.MAC
	}
	if n.VLAN != 0 {
		parts = append(parts, fmt.Sprintf("tag=%d", n.VLAN))
	}
	if n.MTU != 0 {
		parts = append(parts, fmt.Sprintf("mtu=%d", n.MTU))
	}
	if n.Firewall {
		parts = append(parts, "firewall=1")
	}
	if len(n.Options) > 0 {
		parts = append(parts, pairs(n.Options))
	}
	return strings.Join(parts, ",")
}
