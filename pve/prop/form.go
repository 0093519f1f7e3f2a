package prop

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Rest is what a parsed value holds besides its fields.
type Rest struct {
	// Extra are the properties that have no field.
	Extra List

	given List   // all properties as parsed
	text  string // what was parsed
}

// A form says how the properties of one kind are written.
type form struct {
	name    string            // for errors
	key     string            // the key of a value that stands alone
	need    []string          // keys that have to be there
	aliases map[string]string // other names of keys
	dropped []string          // keys that Proxmox throws away
	sorted  bool              // printed by Proxmox in its own order and spelling, else stored as given
	expand  func(List) List   // takes combined properties apart
}

func (f *form) resolve(key string) string { return cmp.Or(f.aliases[key], key, f.key) }

// read parses s into the fields.
func (f *form) read(s string, fields []field, rest *Rest) error {
	list, err := ParseList(s)
	if err != nil {
		return fmt.Errorf("parse %s %q: %w", f.name, s, err)
	}
	if f.expand != nil {
		list = f.expand(list)
	}
	if err := f.assign(list, fields, rest); err != nil {
		return fmt.Errorf("parse %s %q: %w", f.name, s, err)
	}
	rest.given, rest.text = list, s
	return nil
}

func (f *form) assign(list List, fields []field, rest *Rest) error {
	seen := map[string]bool{}
	for _, p := range list {
		key := f.resolve(p.Key)
		if slices.Contains(f.dropped, key) {
			continue
		}
		if key == "" {
			return fmt.Errorf("value without key: %q", p.Value)
		}
		if seen[key] {
			return fmt.Errorf("second value for %s: %q", key, p.Value)
		}
		seen[key] = true
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
		if i < 0 {
			rest.Extra = append(rest.Extra, Pair{key, p.Value})
			continue
		}
		if err := fields[i].set(p.Value); err != nil {
			return fmt.Errorf("%s: %q: %w", key, p.Value, err)
		}
	}
	for _, key := range f.need {
		if !seen[key] {
			return fmt.Errorf("no value for %s", key)
		}
	}
	return nil
}

// extra are the properties to print besides the fields: not what has a field.
func (f *form) extra(fields []field, rest Rest) List {
	return slices.DeleteFunc(slices.Clone(rest.Extra), func(p Pair) bool {
		return p.Key == "" || p.Value == "" || slices.ContainsFunc(fields, func(fd field) bool { return fd.key == f.resolve(p.Key) })
	})
}

// write prints the fields.
func (f *form) write(fields []field, rest Rest) string {
	if f.sorted {
		return f.inOrder(fields, rest).String()
	}
	out := f.writeAsGiven(fields, rest)
	if slices.Equal(out, rest.given) {
		return rest.text
	}
	return out.String()
}

// writeAsGiven keeps what was parsed and still holds in its place and spelling.
func (f *form) writeAsGiven(fields []field, rest Rest) List {
	var out List
	extra := f.extra(fields, rest)
	written := map[string]bool{}
	for _, p := range rest.given {
		key := f.resolve(p.Key)
		if i := slices.IndexFunc(fields, func(f field) bool { return f.key == key }); i < 0 {
			p.Value, _ = extra.Get(key)
		} else if !fields[i].same(p.Value) {
			p.Value = fields[i].get()
		}
		written[key] = true
		if p.Value != "" {
			out = append(out, f.pair(p.Key, p.Value))
		}
	}
	for _, fd := range fields {
		v := fd.get()
		if v == "" || written[fd.key] {
			continue
		}
		if fd.key == f.key {
			out = slices.Insert(out, 0, f.pair("", v))
		} else {
			out = append(out, Pair{fd.key, v})
		}
	}
	for _, p := range extra {
		if !written[p.Key] {
			out = append(out, p)
		}
	}
	return out
}

// pair writes a value without its key only if it can be read without.
func (f *form) pair(key, value string) Pair {
	if key == "" && (strings.Contains(value, "=") || strings.TrimSpace(value) == "") {
		key = f.key
	}
	return Pair{key, value}
}

// inOrder lists properties as Proxmox does: what may stand alone first, then by
// key.
func (f *form) inOrder(fields []field, rest Rest) List {
	given := map[string]string{}
	for _, p := range rest.given {
		given[f.resolve(p.Key)] = p.Value
	}
	out := f.extra(fields, rest)
	var first List
	for _, fd := range fields {
		v := fd.get()
		if raw, ok := given[fd.key]; ok && fd.same(raw) {
			v = raw
			if fd.plain != nil {
				v = fd.plain(raw)
			}
		}
		switch {
		case v == "":
		case fd.key == f.key:
			first = List{f.pair("", v)}
		default:
			out = append(out, Pair{fd.key, v})
		}
	}
	slices.SortStableFunc(out, func(a, b Pair) int { return strings.Compare(a.Key, b.Key) })
	return append(first, out...)
}

// equal reports whether two sets of the same fields mean the same.
func equal(a, b []field, ax, bx Rest) bool {
	for i := range a {
		if a[i].meaning() != b[i].meaning() {
			return false
		}
	}
	return ax.Extra.equal(bx.Extra)
}
