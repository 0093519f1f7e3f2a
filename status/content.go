package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/model"
)

// Image is a source of guests, for tables and for programs.
type Image struct {
	Name   string `json:"name"`
	Type   string `json:"type"` // template, iso or import
	VMID   int    `json:"vmid,omitempty"`
	Volume string `json:"volume,omitempty"`
	Node   string `json:"node,omitempty"`
	Size   int64  `json:"sizeBytes,omitempty"`
	Ours   bool   `json:"ours"`
	// Created is when the template was made; zero: not known.
	Created time.Time `json:"created,omitzero"`
	// UsedBy are the machines that were made from it.
	UsedBy []string `json:"usedBy,omitempty"`

	// Known only with manifests.
	Object  string `json:"object,omitempty"`
	Ready   *bool  `json:"ready,omitempty"`
	Message string `json:"message,omitempty"`
}

// ImageTable lists images.
func ImageTable(list []Image, now time.Time) Table {
	t := Table{Columns: []Column{
		{Name: "NAME", Flex: true, Ends: true}, {Name: "TYPE"}, {Name: "NODE"}, {Name: "VMID", Right: true}, {Name: "SIZE", Right: true},
		{Name: "AGE", Right: true}, {Name: "OURS"}, {Name: "USED BY"}, {Name: "VOLUME", Wide: true},
	}}
	wanted := false
	for _, i := range list {
		wanted = wanted || i.Ready != nil
	}
	if wanted {
		t.Columns = append(t.Columns, Column{Name: "READY"}, Column{Name: "MESSAGE", Flex: true})
	}
	for _, i := range list {
		id := ""
		if i.VMID != 0 {
			id = fmt.Sprint(i.VMID)
		}
		t.Rows = append(t.Rows, []string{
			i.Name, i.Type, i.Node, id, sizeOrNone(i.Size), age(i.Created, now), yesNo(i.Ours), few(i.UsedBy), i.Volume, yesNo(i.Ready != nil && *i.Ready), i.Message,
		})
	}
	return t
}

// few names the first of a list.
func few(names []string) string {
	const most = 2
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Snapshot is a snapshot of a guest.
type Snapshot struct {
	VM          string    `json:"vm"`
	VMID        int       `json:"vmid"`
	Name        string    `json:"name"`
	Parent      string    `json:"parent,omitempty"`
	Created     time.Time `json:"created,omitzero"`
	Memory      bool      `json:"memory"`
	Description string    `json:"description,omitempty"`
	Ours        bool      `json:"ours"`
}

// SnapshotOf returns the view of a snapshot.
func SnapshotOf(g *model.Guest, s model.SnapshotInfo) Snapshot {
	text, _, ours := model.ParseDescription(s.Description)
	v := Snapshot{VM: g.Name, VMID: g.VMID, Name: s.Name, Parent: s.Parent, Memory: s.Memory, Description: strings.TrimSpace(text), Ours: ours}
	if s.Time > 0 {
		v.Created = time.Unix(s.Time, 0).UTC()
	}
	return v
}

// Snapshots returns the snapshots of a guest, parents before children. "current" isn't one:
// it stands for the present state.
func Snapshots(g *model.Guest) []Snapshot {
	children := map[string][]model.SnapshotInfo{}
	for _, s := range g.Snapshots {
		if s.Name != "current" {
			children[s.Parent] = append(children[s.Parent], s)
		}
	}
	for _, list := range children {
		slices.SortFunc(list, func(a, b model.SnapshotInfo) int {
			return cmp.Or(cmp.Compare(a.Time, b.Time), model.CompareNames(a.Name, b.Name))
		})
	}
	var out []Snapshot
	var walk func(parent string)
	walk = func(parent string) {
		list := children[parent]
		delete(children, parent)
		for _, s := range list {
			out = append(out, SnapshotOf(g, s))
			walk(s.Name)
		}
	}
	walk("")
	for _, parent := range model.NamesOf(children) {
		walk(parent) // of a parent that is gone
	}
	return out
}

// SnapshotTable lists snapshots; ages are as of now.
func SnapshotTable(list []Snapshot, now time.Time) Table {
	t := Table{Columns: []Column{
		{Name: "VM"}, {Name: "VMID", Right: true}, {Name: "SNAPSHOT"}, {Name: "AGE", Right: true}, {Name: "MEMORY"}, {Name: "PARENT"},
		{Name: "DESCRIPTION", Flex: true}, {Name: "OURS", Wide: true},
	}}
	for _, s := range list {
		t.Rows = append(t.Rows, []string{
			s.VM, fmt.Sprint(s.VMID), s.Name, age(s.Created, now), yesNo(s.Memory), s.Parent, s.Description, yesNo(s.Ours),
		})
	}
	return t
}

// Task is a task of Proxmox.
type Task struct {
	UPID    string    `json:"upid"`
	Node    string    `json:"node"`
	Type    string    `json:"type"`
	ID      string    `json:"id,omitempty"`
	User    string    `json:"user"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Running bool      `json:"running"`
	Status  string    `json:"status"`
}

// TaskTable lists tasks; ages are as of now.
func TaskTable(list []Task, now time.Time) Table {
	t := Table{Columns: []Column{
		{Name: "AGE", Right: true}, {Name: "NODE"}, {Name: "TYPE"}, {Name: "ID"}, {Name: "USER", Flex: true}, {Name: "TOOK", Right: true},
		{Name: "STATUS", Flex: true}, {Name: "UPID", Wide: true},
	}}
	for _, task := range list {
		end := task.Ended
		if task.Running {
			end = now
		}
		took := ""
		if !end.IsZero() {
			took = Duration(end.Sub(task.Started))
		}
		t.Rows = append(t.Rows, []string{age(task.Started, now), task.Node, task.Type, task.ID, task.User, took, task.Status, task.UPID})
	}
	return t
}

func age(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	return Duration(now.Sub(at))
}
