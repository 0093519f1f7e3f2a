package status

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// VM is a guest or a wanted guest, for tables and for programs. The names of its fields are
// stable.
type VM struct {
	Name      string   `json:"name"`
	State     string   `json:"state"` // running, stopped, paused, unknown or absent
	Node      string   `json:"node,omitempty"`
	VMID      int      `json:"vmid,omitempty"`
	CPUs      int      `json:"cpus,omitempty"`
	Memory    int64    `json:"memoryBytes,omitempty"`
	Disk      int64    `json:"diskBytes,omitempty"` // of all disks, if its config was read
	Addresses []string `json:"addresses,omitempty"`
	Tags      []string `json:"tags,omitempty"` // without our marks
	Pool      string   `json:"pool,omitempty"`
	Lock      string   `json:"lock,omitempty"`
	HA        string   `json:"ha,omitempty"`
	Ours      bool     `json:"ours"`             // made or adopted by proxplane
	Object    string   `json:"object,omitempty"` // the manifest's object, if the marker was read
	Set       string   `json:"set,omitempty"`
	ownerless bool     // it is being made or destroyed, and its config has no owner

	// Known only with manifests.
	Ready   *bool        `json:"ready,omitempty"`
	Reason  model.Reason `json:"reason,omitempty"`
	Message string       `json:"message,omitempty"`
}

// absent is the state of a guest that isn't there.
const absent = "absent"

// GuestState returns the state of an object's guest in a word: its status; absent if there is
// none; unknown if it was made and the reason hides it.
func GuestState(seen model.Status, reason model.Reason, made bool) string {
	switch {
	case seen != "":
		return string(seen)
	case made && reason.Facts().Hidden:
		return string(model.StatusUnknown)
	}
	return absent
}

// unseen returns the state of an object's guest that isn't among those that were seen.
func unseen(o plan.Object) string {
	reason := CLI.Of(o).Reason
	if o.Wait != nil && o.Wait.Do.Do.Doubts() {
		return string(model.StatusUnknown)
	}
	return GuestState("", reason, !reason.Facts().Unmade)
}

// VMOf returns the view of a guest.
func VMOf(g *model.Guest) VM {
	v := VM{
		Name: g.Name, State: string(cmp.Or(g.Status, model.StatusUnknown)), Node: g.Node, VMID: g.VMID,
		CPUs: g.CPUs, Memory: g.Memory, Disk: g.Disk, Addresses: Addresses(g.Addresses),
		Pool: g.Pool, Lock: g.Lock, HA: g.HAState,
	}
	for _, t := range g.Tags {
		if model.IsMark(t) {
			v.Ours = true
		} else {
			v.Tags = append(v.Tags, t)
		}
	}
	if c := g.Config; c != nil {
		v.Disk = cmp.Or(allDisks(c), v.Disk)
		v.Ours, v.ownerless = c.Marker != nil, c.Half
		if c.Marker != nil {
			v.Object, v.Set = Name(c.Marker.Owner.Key), c.Marker.Owner.Set
		}
	}
	return v
}

// allDisks returns how large the disks of a guest are together; 0: not all sizes are known.
func allDisks(c *model.Config) int64 {
	var sum int64
	for _, d := range c.Disks {
		switch {
		case d.CDROM || d.CloudInit:
		case d.Size == 0:
			return 0
		default:
			sum += d.Size
		}
	}
	return sum
}

// Wanted returns the view of a wanted guest with the state of its plan; g is nil if the
// guest doesn't exist.
func Wanted(g *model.Guest, o plan.Object) VM {
	v := VM{Name: o.Owner.Name, State: unseen(o), Node: o.Node, VMID: o.VMID}
	if g != nil {
		v = VMOf(g)
	}
	v.Object, v.Set = Name(o.Owner.Key), o.Owner.Set
	return v.With(CLI.Of(o))
}

// With adds the state of the plan. If not everything was read, ready is unknown.
func (v VM) With(out Verdict) VM {
	ready := out.State == model.StateReady || out.State == model.StateGone
	v.Ready, v.Reason, v.Message = &ready, out.Reason, out.Message
	if out.State == model.StateUnread {
		v.Ready = nil
	}
	return v
}

// Addresses returns a guest's addresses as text; those that others can reach come first.
func Addresses(list []netip.Prefix) []string {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b netip.Prefix) int { return cmp.Compare(distance(a.Addr()), distance(b.Addr())) })
	var out []string
	for _, p := range list {
		if text := p.Addr().String(); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// distance orders addresses: IPv4 first, then IPv6, then those of the link.
func distance(a netip.Addr) int {
	switch {
	case a.IsLoopback():
		return 3
	case a.IsLinkLocalUnicast():
		return 2
	case a.Is6():
		return 1
	}
	return 0
}

// address returns the first one, with how many more there are.
func (v VM) address() string {
	switch len(v.Addresses) {
	case 0:
		return ""
	case 1:
		return v.Addresses[0]
	}
	return fmt.Sprintf("%s +%d", v.Addresses[0], len(v.Addresses)-1)
}

func (v VM) state() string {
	if v.Lock != "" {
		return v.State + " (" + v.Lock + ")"
	}
	return v.State
}

// ours is empty if that isn't known.
func (v VM) ours() string {
	if v.ownerless {
		return ""
	}
	return yesNo(v.Ours)
}

func (v VM) id() string {
	if v.VMID == 0 {
		return ""
	}
	return fmt.Sprint(v.VMID)
}

func (v VM) cpus() string {
	if v.CPUs == 0 {
		return ""
	}
	return fmt.Sprint(v.CPUs)
}

func sizeOrNone(n int64) string {
	if n == 0 {
		return ""
	}
	return Size(n)
}

// VMTable lists guests.
func VMTable(list []VM) Table {
	t := Table{Columns: []Column{
		{Name: "NAME", Flex: true, Ends: true}, {Name: "STATE"}, {Name: "NODE"}, {Name: "VMID", Right: true}, {Name: "CPUS", Right: true},
		{Name: "MEMORY", Right: true}, {Name: "DISK", Right: true}, {Name: "OURS"},
		{Name: "IP", Wide: true}, {Name: "TAGS", Wide: true}, {Name: "POOL", Wide: true}, {Name: "HA", Wide: true},
	}}
	for _, v := range list {
		t.Rows = append(t.Rows, []string{
			v.Name, v.state(), v.Node, v.id(), v.cpus(), sizeOrNone(v.Memory), sizeOrNone(v.Disk), v.ours(),
			v.address(), strings.Join(v.Tags, ","), v.Pool, v.HA,
		})
	}
	return t
}

// readiness returns whether a machine is ready, for those that are still to be something.
func (v VM) readiness() string {
	if v.Reason == model.ReasonGone {
		return "-"
	}
	return yesNo(v.Ready != nil && *v.Ready)
}

// SummaryTable lists wanted guests and whether they are ready, for the end of an apply.
func SummaryTable(list []VM) Table {
	t := Table{Columns: []Column{
		{Name: "NAME", Flex: true, Ends: true}, {Name: "STATE"}, {Name: "NODE"}, {Name: "VMID", Right: true}, {Name: "IP"}, {Name: "READY"},
		{Name: "MESSAGE", Flex: true},
		{Name: "CPUS", Right: true, Wide: true}, {Name: "MEMORY", Right: true, Wide: true}, {Name: "DISK", Right: true, Wide: true},
		{Name: "TAGS", Wide: true}, {Name: "OBJECT", Wide: true}, {Name: "SET", Wide: true},
	}}
	for _, v := range list {
		t.Rows = append(t.Rows, []string{
			v.Name, v.state(), v.Node, v.id(), v.address(), v.readiness(), v.Message,
			v.cpus(), sizeOrNone(v.Memory), sizeOrNone(v.Disk), strings.Join(v.Tags, ","), v.Object, v.Set,
		})
	}
	return t
}
