package status

import (
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Node is a host, for tables and for programs.
type Node struct {
	Name   string `json:"name"`
	Online bool   `json:"online"`
	// Maintenance means that the HA manager has the node in maintenance.
	Maintenance bool  `json:"maintenance,omitempty"`
	CPUs        int   `json:"cpus,omitempty"`
	Memory      int64 `json:"memoryBytes,omitempty"`
	Used        int64 `json:"memoryUsedBytes,omitempty"`
	Guests      int   `json:"guests"`
	Running     int   `json:"running"`
}

// NodeOf returns the view of a node with the number of its guests.
func NodeOf(n *model.Node, have *model.Observed) Node {
	v := Node{Name: n.Name, Online: n.Online, Maintenance: n.Maintenance, CPUs: n.CPUs, Memory: n.Memory, Used: n.Used}
	for _, g := range have.Guests {
		if g.Node == n.Name && !g.Template {
			v.Guests++
			if g.Status == model.StatusRunning {
				v.Running++
			}
		}
	}
	return v
}

// NodeTable lists nodes.
func NodeTable(list []Node) Table {
	t := Table{Columns: []Column{
		{Name: "NAME"}, {Name: "STATE"}, {Name: "CPUS", Right: true}, {Name: "MEMORY", Right: true}, {Name: "USED", Right: true},
		{Name: "FREE", Right: true}, {Name: "GUESTS", Right: true}, {Name: "RUNNING", Right: true},
	}}
	for _, n := range list {
		state, used, free := "online", Percent(n.Used, n.Memory), Size(max(0, n.Memory-n.Used))
		switch {
		case !n.Online:
			state, used, free = "offline", "", ""
		case n.Maintenance:
			state = "maintenance"
		}
		t.Rows = append(t.Rows, []string{
			n.Name, state, fmt.Sprint(n.CPUs), sizeOrNone(n.Memory), used, free, fmt.Sprint(n.Guests), fmt.Sprint(n.Running),
		})
	}
	return t
}

// Storage is a storage on a node, or on all of them when it is shared.
type Storage struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Shared  bool     `json:"shared"`
	Nodes   []string `json:"nodes"`
	Content []string `json:"content"`
	Total   int64    `json:"totalBytes"`
	Used    int64    `json:"usedBytes"`
}

// StoragesOf returns the views of a storage: one if it is shared, else one for each node.
func StoragesOf(s *model.Storage) []Storage {
	view := Storage{Name: s.Name, Type: s.Type, Shared: s.Shared, Nodes: []string{}, Content: append([]string{}, model.NamesOf(s.Content)...)}
	nodes := model.NamesOf(s.OnNode)
	if s.Shared || len(nodes) == 0 {
		view.Nodes = append(view.Nodes, nodes...)
		if len(nodes) > 0 { // all tell the same, some of them later
			view.Total, view.Used = s.OnNode[nodes[0]].Total, s.OnNode[nodes[0]].Used
		}
		return []Storage{view}
	}
	var list []Storage
	for _, n := range nodes {
		one := view
		one.Nodes, one.Total, one.Used = []string{n}, s.OnNode[n].Total, s.OnNode[n].Used
		list = append(list, one)
	}
	return list
}

// StorageTable lists storages.
func StorageTable(list []Storage) Table {
	t := Table{Columns: []Column{
		{Name: "NAME"}, {Name: "TYPE"}, {Name: "NODES", Flex: true}, {Name: "SIZE", Right: true}, {Name: "USED", Right: true},
		{Name: "FREE", Right: true}, {Name: "CONTENT", Flex: true}, {Name: "SHARED", Wide: true},
	}}
	for _, s := range list {
		used, free := Percent(s.Used, s.Total), Size(max(0, s.Total-s.Used))
		if len(s.Nodes) == 0 {
			used, free = "", ""
		}
		t.Rows = append(t.Rows, []string{
			s.Name, s.Type, strings.Join(s.Nodes, ","), sizeOrNone(s.Total), used, free, strings.Join(s.Content, ","), yesNo(s.Shared),
		})
	}
	return t
}
