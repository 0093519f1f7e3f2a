package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Params are verified parameters: a scalar is a string, as Perl would write it
// (JSON true is "1"), an array is a []string. A key that came without a value
// (JSON null, a form key without "=") is there with nil: Has says no, Null yes.
type Params map[string]any

// Has reports whether the parameter was given with a value.
func (p Params) Has(key string) bool { return p[key] != nil }

// Null reports whether the parameter was given without a value.
func (p Params) Null(key string) bool {
	v, ok := p[key]
	return ok && v == nil
}

// Str gives a scalar, "" when there is none.
func (p Params) Str(key string) string {
	s, _ := p[key].(string)
	return s
}

// Int gives a whole number, 0 when there is none.
func (p Params) Int(key string) int {
	text := strings.TrimSuffix(p.Str(key), "\n")
	n, err := strconv.Atoi(text)
	if err != nil {
		f, _ := strconv.ParseFloat(text, 64)
		n = int(f)
	}
	return n
}

// Bool gives a boolean, false when there is none.
func (p Params) Bool(key string) bool { return perlTrue(p.Str(key)) }

// List gives an array, or the parts of a text in one of the -list formats.
func (p Params) List(key string) []string {
	switch v := p[key].(type) {
	case []string:
		return v
	case string:
		return SplitList(v)
	}
	return nil
}

// Keys lists the names, sorted.
func (p Params) Keys() []string { return slices.Sorted(maps.Keys(p)) }

// SplitList splits a list as Proxmox does: at NUL bytes if there are any, else at
// commas, semicolons and white space.
func SplitList(text string) []string {
	if strings.Contains(text, "\x00") {
		parts := strings.Split(text, "\x00")
		for len(parts) > 0 && parts[len(parts)-1] == "" {
			parts = parts[:len(parts)-1] // Perl's split drops empty fields at the end
		}
		return parts
	}
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' || isSpace(r) })
}

// Merge joins the parameters of the path with those of query and body. Proxmox
// lets a parameter be in both only when the values are the same.
func Merge(path map[string]string, given map[string]any) (map[string]any, Errors) {
	all := make(map[string]any, len(path)+len(given))
	for k, v := range path {
		all[k] = v
	}
	for _, k := range slices.Sorted(maps.Keys(given)) {
		v := perlValue(given[k])
		if old, twice := path[k]; twice {
			if text, ref := scalar(v); ref || text != old {
				return nil, Errors{k: "duplicate parameter (already defined in URI) with conflicting values!"}
			}
		}
		all[k] = v
	}
	return all, nil
}

// perlValue gives the value as Proxmox sees it: nil, string, bool, []any or
// map[string]any. Numbers become the text that Perl prints for them.
func perlValue(v any) any {
	switch v := v.(type) {
	case nil, string, bool:
		return v
	case json.Number:
		return perlNumber(string(v))
	case float64:
		return perlNumber(strconv.FormatFloat(v, 'g', -1, 64))
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = perlValue(e)
		}
		return out
	case []string:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = e
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = perlValue(e)
		}
		return out
	}
	return fmt.Sprint(v) // Go's other numbers
}

// perlNumber prints a JSON number as Perl does: whole numbers as they are, others
// with 15 digits.
func perlNumber(text string) string {
	if !strings.ContainsAny(text, ".eE") {
		if text == "-0" {
			return "0"
		}
		return text
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	exp := 0
	if f != 0 {
		exp = int(math.Floor(math.Log10(math.Abs(f))))
	}
	if exp < -5 || exp >= 15 {
		mantissa, e, _ := strings.Cut(strconv.FormatFloat(f, 'e', 14, 64), "e")
		return trimZeros(mantissa) + "e" + e
	}
	return trimZeros(strconv.FormatFloat(f, 'f', 14-exp, 64))
}

func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// scalar gives the text of a value, and whether it is a reference in Perl.
func scalar(v any) (text string, ref bool) {
	switch v := v.(type) {
	case string:
		return v, false
	case bool:
		if v {
			return "1", true
		}
		return "0", true
	case nil:
		return "", false
	}
	return "", true
}

// verified turns a value that passed into what Params holds.
func verified(v any) any {
	switch v := v.(type) {
	case bool:
		text, _ := scalar(v)
		return text
	case []any:
		out := make([]string, len(v))
		for i, e := range v {
			out[i], _ = scalar(e)
		}
		return out
	}
	return v
}

func perlTrue(s string) bool { return s != "" && s != "0" }
