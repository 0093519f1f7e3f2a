package karpenter

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"

	"github.com/proxplane/proxplane/firstboot"
)

// functions are those that templates of first-boot data can call.
var functions = template.FuncMap{
	"default": func(otherwise any, value ...any) any {
		if len(value) == 0 || empty(value[0]) {
			return otherwise
		}
		return value[0]
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
	"nindent":         func(n int, text string) (string, error) { text, err := indent(n, text); return "\n" + text, err },
	"quote":           quote,
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
	"hasTag":          func(tags []string, tag string) bool { return slices.Contains(tags, tag) },
	"hasKey":          hasKey,
	"dict":            dict,
	"get":             get,
	"getValue":        getValue,
	"regexFind":       regexFind,
	"regexFindString": regexGroup,
	"regexReplaceAll": regexReplace,
	"b64enc":          firstboot.Base64,
	"b64dec": func(text string) (string, error) {
		b, err := base64.StdEncoding.DecodeString(text)
		return string(b), err
	},
	"cidrhost":  firstboot.Host,
	"cidrslaac": cidrSLAAC,
}

func empty(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || r.IsZero() || (r.Kind() == reflect.Slice || r.Kind() == reflect.Map) && r.Len() == 0
}

// toYAML writes fields by the names that the original has for them. What a variable stands for is a text, also if it is a number.
func toYAML(v any) (string, error) {
	var doc yaml.Node
	if err := doc.Encode(v); err != nil {
		return "", err
	}
	quoteVariables(&doc)
	var out strings.Builder
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(&doc), e.Close()); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

func quoteVariables(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Style == 0 && firstboot.OwnVariable(n.Value) != "" {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, part := range n.Content {
		quoteVariables(part)
	}
}

func indent(n int, text string) (string, error) {
	const most = 1000
	if n < 0 || n > most {
		return "", fmt.Errorf("want 0 to %d spaces, have %d", most, n)
	}
	space := strings.Repeat(" ", n)
	return space + strings.ReplaceAll(text, "\n", "\n"+space), nil
}

// getValue is the value of a key in a text such as ds=nocloud;i=1234.
func getValue(text, key string) string {
	for part := range strings.SplitSeq(text, ";") {
		if value, ok := strings.CutPrefix(part, key+"="); ok {
			return value
		}
	}
	return ""
}

// quote puts values into quotes.
func quote(values ...any) string {
	var all []string
	for _, v := range values {
		if v != nil {
			all = append(all, strconv.Quote(fmt.Sprint(v)))
		}
	}
	return strings.Join(all, " ")
}

// dict is a map of keys and their values.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, errors.New("dict: want a value for each key")
	}
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m, nil
}

// get is the value of a key in a map with texts as keys; of others it is an empty text.
func get(m any, key string) (any, error) {
	there, err := hasKey(m, key)
	if err != nil || !there {
		return "", err
	}
	r := reflect.ValueOf(m)
	return r.MapIndex(reflect.ValueOf(key).Convert(r.Type().Key())).Interface(), nil
}

// hasKey reports whether a map with texts as keys has one.
func hasKey(m any, key string) (bool, error) {
	r := reflect.ValueOf(m)
	if !r.IsValid() {
		return false, nil
	}
	if r.Kind() != reflect.Map || r.Type().Key().Kind() != reflect.String {
		return false, fmt.Errorf("want a map such as .Values, have %T", m)
	}
	return r.MapIndex(reflect.ValueOf(key).Convert(r.Type().Key())).IsValid(), nil
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

// cidrSLAAC is the address that an interface gives itself in an IPv6 prefix, with the length of the prefix.
func cidrSLAAC(mac, prefix string) (string, error) {
	p, err := netip.ParsePrefix(prefix)
	if err != nil {
		return "", err
	}
	hw, err := net.ParseMAC(mac)
	const longest = 112
	if err != nil || len(hw) != 6 || !p.Addr().Is6() || p.Bits() > longest {
		return "", fmt.Errorf("cidrslaac: want a MAC and an IPv6 prefix of up to %d bits, have %q and %q", longest, mac, prefix)
	}
	a := p.Masked().Addr().As16()
	id := [8]byte{hw[0] ^ 2, hw[1], hw[2], 0xff, 0xfe, hw[3], hw[4], hw[5]}
	for i := max(8, p.Bits()/8); i < len(a); i++ {
		a[i] = id[i-8]
	}
	return netip.PrefixFrom(netip.AddrFrom16(a), p.Bits()).String(), nil
}
