package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Param is a parameter of a call, a key of a property string or an item of an array.
type Param struct {
	Name     string // as in the schema, e.g. "net[n]"; "" for items
	Type     string // string, integer, number, boolean, array; "" takes anything
	Optional bool
	Default  string
	Enum     []string
	Min, Max *Limit

	MinLength, MaxLength *int

	Pattern     string      // in Perl's notation
	Format      string      // name, e.g. "pve-storage-id-list"; "" when none or unnamed
	FormatProps *PropFormat // set when the value is a property string
	Requires    string      // a parameter that must be given too
	Items       *Param      // of an array
	Index       [2]int      // first and last index of a family such as net[n]

	DefaultKey bool   // in a property string: the key that may be left out
	Alias      string // in a property string: another name of this key
	KeyAlias   string // with Alias: the key that takes this one's name as value

	schema  *Schema
	pattern *pattern
	family  bool

	object        *object // a value that is an object, also the parameters as a whole
	open          bool    // an object may hold keys that aren't declared
	allOf, oneOf  []*Param
	instanceType  string
	instanceTypes []string
	typeProperty  string
	typeSchema    *Param
}

// Limit is a bound of a number.
type Limit struct {
	Text  string // as Proxmox prints it
	Value float64
}

// object is a set of declared keys.
type object struct {
	props    map[string]*Param
	required []string // sorted
}

// get resolves a key, families included: net3 → net[n].
func (o *object) get(key string) *Param {
	if p := o.props[key]; p != nil {
		if p.family {
			return nil // nobody may send "net[n]"
		}
		return p
	}
	base := strings.TrimRight(key, "0123456789")
	p := o.props[base+"[n]"]
	if p == nil || !indexIn(key[len(base):], p.Index[0], p.Index[1]) {
		return nil
	}
	return p
}

// indexIn reports whether the digits are a number between first and last, without
// leading zeros.
func indexIn(digits string, first, last int) bool {
	n, err := strconv.Atoi(digits)
	return err == nil && strconv.Itoa(n) == digits && first <= n && n <= last
}

// Param gives the parameter of a name; "net3" gives the family net[n] when 3
// is within its bounds. Nil when there is none.
func (ep *Endpoint) Param(name string) *Param {
	if ep.root.object != nil {
		return ep.root.object.get(name)
	}
	return (&object{props: ep.Params}).get(name)
}

// collect gathers the declared parameters of an object and of its parts.
func (p *Param) collect(into map[string]*Param) {
	if p.object != nil {
		maps.Copy(into, p.object.props)
	}
	if p.typeSchema != nil {
		into[p.typeProperty] = p.typeSchema
	}
	for _, part := range slices.Concat(p.allOf, p.oneOf) {
		part.collect(into)
	}
}

// find looks a key up among the parts that apply to a value, as normalising
// needs it.
func (p *Param) find(key string, value map[string]any) *Param {
	switch {
	case p.object != nil:
		return p.object.get(key)
	case p.allOf != nil:
		for _, part := range p.allOf {
			if found := part.find(key, value); found != nil {
				return found
			}
		}
	case p.oneOf != nil:
		if key == p.typeProperty {
			return p.typeSchema
		}
		kind, typed := value[p.typeProperty].(string)
		for _, part := range p.oneOf {
			if typed && kind != part.instanceType {
				continue
			}
			if found := part.find(key, value); found != nil {
				return found
			}
		}
	}
	return nil
}
