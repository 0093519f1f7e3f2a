package model

import "slices"

// Place says where a guest may go.
type Place struct {
	Nodes        []string // empty: any
	AntiAffinity []Selector
	MaxPerNode   int
	MinFree      int64 // bytes of memory that stay free on the node
}

// Selector matches labels of VMs.
type Selector struct {
	Key      string
	Operator string // In, NotIn, Exists, DoesNotExist
	Values   []string
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
