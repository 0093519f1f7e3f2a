package karpenter

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

// functions are those that templates of first-boot data can call.
var functions = template.FuncMap{
	"default": func(otherwise, value any) any {
		if empty(value) {
			return otherwise
		}
		return value
	},
	"coalesce": func(values ...any) any {
		for _, v := range values {
			if !empty(v) {
				return v
			}
		}
		return nil
	},
	"ternary": func(yes, no any, is bool) any {
		if is {
			return yes
		}
		return no
	},
	"empty":        empty,
	"toJson":       func(v any) (string, error) { b, err := json.Marshal(v); return string(b), err },
	"toPrettyJson": func(v any) (string, error) { b, err := json.MarshalIndent(v, "", "  "); return string(b), err },
	"toYaml":       toYAML, "toYamlPretty": toYAML, "toPrettyYaml": toYAML,
	"indent":          indent,
	"nindent":         func(n int, text string) string { return "\n" + indent(n, text) },
	"quote":           func(v any) string { return strconv.Quote(fmt.Sprint(v)) },
	"upper":           strings.ToUpper,
	"lower":           strings.ToLower,
	"trim":            strings.TrimSpace,
	"trimSuffix":      func(end, text string) string { return strings.TrimSuffix(text, end) },
	"trimPrefix":      func(start, text string) string { return strings.TrimPrefix(text, start) },
	"split":           strings.Split,
	"join":            strings.Join,
	"list":            func(values ...string) []string { return values },
	"replace":         func(from, to, text string) string { return strings.ReplaceAll(text, from, to) },
	"contains":        func(part, text string) bool { return strings.Contains(text, part) },
	"hasPrefix":       func(start, text string) bool { return strings.HasPrefix(text, start) },
	"hasSuffix":       func(end, text string) bool { return strings.HasSuffix(text, end) },
	"hasTag":          func(tag string, tags []string) bool { return slices.Contains(tags, tag) },
	"hasKey":          func(m map[string]string, key string) bool { _, ok := m[key]; return ok },
	"get":             func(m map[string]string, key string) string { return m[key] },
	"getValue":        getValue,
	"regexFind":       regexFind,
	"regexFindString": regexGroup,
	"regexReplaceAll": regexReplace,
	"b64enc":          func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) },
	"b64dec": func(text string) (string, error) {
		b, err := base64.StdEncoding.DecodeString(text)
		return string(b), err
	},
	"cidrhost": cidrHost,
}

func empty(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || r.IsZero() || (r.Kind() == reflect.Slice || r.Kind() == reflect.Map) && r.Len() == 0
}

func toYAML(v any) (string, error) {
	b, err := yaml.Marshal(v)
	return strings.TrimSuffix(string(b), "\n"), err
}

func indent(n int, text string) string {
	space := strings.Repeat(" ", n)
	return space + strings.ReplaceAll(text, "\n", "\n"+space)
}

// getValue is the value of a key in tags such as key=value or key-value.
func getValue(key string, tags []string) string {
	for _, t := range tags {
		for _, between := range []string{"=", "-"} {
			if value, ok := strings.CutPrefix(t, key+between); ok {
				return value
			}
		}
	}
	return ""
}

func regexFind(pattern, text string) (string, error) {
	r, err := regexp.Compile(pattern)
	if err != nil {
		return "", err
	}
	return r.FindString(text), nil
}

func regexGroup(pattern, text string, group int) (string, error) {
	r, err := regexp.Compile(pattern)
	if err != nil {
		return "", err
	}
	if found := r.FindStringSubmatch(text); group >= 0 && group < len(found) {
		return found[group], nil
	}
	return "", nil
}

func regexReplace(pattern, text, to string) (string, error) {
	r, err := regexp.Compile(pattern)
	if err != nil {
		return "", err
	}
	return r.ReplaceAllString(text, to), nil
}

// cidrHost is the n-th address of a prefix.
func cidrHost(prefix string, n ...int) (string, error) {
	p, err := netip.ParsePrefix(prefix)
	if err != nil {
		return "", err
	}
	if len(n) == 0 {
		return p.Addr().String(), nil
	}
	a := p.Masked().Addr()
	for range n[0] {
		a = a.Next()
	}
	return a.String(), nil
}
