package model

import (
	"fmt"
	"slices"
	"strings"
)

// Place says on which nodes a guest may be placed.
type Place struct {
	Nodes        []string   // empty: any
	AntiAffinity []Selector // guests that match the same selector are kept apart
	MaxPerNode   int
	MinFree      int64 // bytes of memory that stay free on the node
	// Where selects nodes by their labels, see [NodeFacts].
	Where []Selector `json:",omitempty"`
	// Strategy chooses among the nodes that can take the guest; empty: [Spread].
	Strategy Strategy `json:",omitempty"`
	// Policy is the placement policy. Its guests are spread over the values that nodes have for the
	// label SpreadBy; empty: they aren't spread.
	Policy   Key    `json:",omitzero"`
	SpreadBy string `json:",omitempty"`
	// Facts are settings of nodes, by name; [AllNodes]: for all others.
	Facts map[string]NodeFacts `json:",omitempty"`
}

// Move is a request to migrate a guest.
type Move struct {
	From string // its node at the time of the request: on another one, it has been moved since
	To   string // empty: any node that can take it
	Why  string
	// Home is the node that it returns to later, see [Marker].
	Home string
}

// Strategy chooses among the nodes that can take a guest.
type Strategy string

// The strategies.
const (
	Spread Strategy = "spread" // the node with the most free memory
	Pack   Strategy = "pack"   // the node with the least free memory
)

// NodeFacts are settings of a node that Proxmox doesn't have.
type NodeFacts struct {
	Labels   map[string]string `json:",omitempty"` // rack, room
	Reserved int64             `json:",omitempty"` // bytes of memory that guests don't get
	// Maintenance: no guest is placed there, and existing ones may be migrated away.
	Maintenance bool `json:",omitempty"`
}

// FactsOf returns the settings of a node.
func (p Place) FactsOf(node string) NodeFacts {
	if f, named := p.Facts[node]; named {
		return f
	}
	return p.Facts[AllNodes]
}

// Zone returns a node's value for a label; empty: it has none.
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
	// By is the label of nodes over whose values guests are kept apart; empty: over nodes.
	By string `json:",omitempty"`
}

// Matches reports whether the selector matches the labels.
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

// String formats the selector for people.
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
