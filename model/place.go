package model

import (
	"fmt"
	"slices"
	"strings"
)

// Place says where a guest may go.
type Place struct {
	Nodes        []string   // empty: any
	AntiAffinity []Selector // guests that match the same one are kept apart
	MaxPerNode   int
	MinFree      int64 // bytes of memory that stay free on the node
	// Where selects nodes by their labels, see [NodeFacts].
	Where []Selector `json:",omitempty"`
	// Strategy says which of the nodes that can take a guest gets it; empty: [Spread].
	Strategy Strategy `json:",omitempty"`
	// Policy is the object that says all this. Guests of the same one are spread over the values that
	// nodes have for the label SpreadBy; empty: they aren't.
	Policy   Key    `json:",omitzero"`
	SpreadBy string `json:",omitempty"`
	// Facts are what people say about nodes, by name; [AllNodes]: about all others.
	Facts map[string]NodeFacts `json:",omitempty"`
}

// Move is what a person asks of a guest: to leave a node.
type Move struct {
	From string // where it was when that was asked for: elsewhere it has been moved since
	To   string // empty: wherever it may be
	Why  string
	// Home is the node that it is to come back to some day, see [Marker].
	Home string
}

// Strategy says which of the nodes that can take a guest gets it.
type Strategy string

// The strategies.
const (
	Spread Strategy = "spread" // the one with the most free memory
	Pack   Strategy = "pack"   // the one with the least
)

// NodeFacts are what people say about a node, and Proxmox can't know.
type NodeFacts struct {
	Labels   map[string]string `json:",omitempty"` // rack, room
	Reserved int64             `json:",omitempty"` // bytes of memory that guests don't get
	// Maintenance: no guest is put there, and those that are there may leave.
	Maintenance bool `json:",omitempty"`
}

// FactsOf are what is said about a node.
func (p Place) FactsOf(node string) NodeFacts {
	if f, named := p.Facts[node]; named {
		return f
	}
	return p.Facts[AllNodes]
}

// Zone is the value that a node has for a label; empty: it has none.
func (p Place) Zone(node, label string) string { return p.FactsOf(node).Labels[label] }

// SameZone reports whether two nodes have the same value for a label, or are the same node. No label
// is the node itself.
func (p Place) SameZone(label, a, b string) bool {
	if a == b {
		return true
	}
	zone := p.Zone(a, label)
	return label != "" && zone != "" && zone == p.Zone(b, label)
}

// Selector matches labels.
type Selector struct {
	Key      string
	Operator string // In, NotIn, Exists, DoesNotExist
	Values   []string
	// By is the label of nodes whose values guests are kept apart by; empty: the nodes themselves.
	By string `json:",omitempty"`
}

// Matches reports whether the labels are of those selected.
func (s Selector) Matches(labels map[string]string) bool {
	value, has := labels[s.Key]
	switch s.Operator {
	case "Exists":
		return has
	case "DoesNotExist":
		return !has
	case "NotIn":
		return !has || !slices.Contains(s.Values, value)
	}
	return has && slices.Contains(s.Values, value)
}

// String is what the labels must be, for people.
func (s Selector) String() string {
	values := strings.Join(s.Values, " or ")
	switch s.Operator {
	case "Exists":
		return s.Key
	case "DoesNotExist":
		return "no " + s.Key
	case "NotIn":
		return fmt.Sprintf("%s not %s", s.Key, values)
	}
	return s.Key + " " + values
}
