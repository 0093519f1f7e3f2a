package pvesim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"
)

// params reads query and body as pveproxy does: the query wins, JSON bodies
// keep their types, repeated keys become lists, "_dc" is dropped.
func (r *request) params(up *upload) (map[string]any, error) {
	in := map[string]any{}
	switch {
	case up != nil:
		for k, v := range up.fields {
			in[k] = v
		}
		in["filename"] = up.name
	case r.method == "PUT" || r.method == "POST":
		if ct, _ := parseContentType(r.http.Header.Get("Content-Type")); ct == "application/json" {
			var err error
			if in, err = decodeJSON(r.body); err != nil {
				return nil, err
			}
		} else {
			decodeForm(string(r.body), in)
		}
	}
	query := map[string]any{}
	decodeForm(r.http.URL.RawQuery, query)
	for k, v := range query {
		in[k] = v
	}
	delete(in, "_dc")
	return in, nil
}

// decodeForm splits on & and ; and, unlike a browser's form parser, takes
// only what stands between the first and the second "=" as the value. A key
// without "=" has no value, and two separators in a row make an empty key.
func decodeForm(data string, into map[string]any) {
	data = strings.TrimRight(formSeparators.Replace(data), "&")
	if data == "" || data == "0" {
		return
	}
	for kv := range strings.SplitSeq(data, "&") {
		k, rest, found := strings.Cut(kv, "=")
		k = unescapeForm(k)
		if !found {
			into[k] = nil
			continue
		}
		v, _, _ := strings.Cut(rest, "=")
		addForm(into, k, unescapeForm(v))
	}
}

var formSeparators = strings.NewReplacer(";", "&")

func addForm(into map[string]any, k, v string) {
	switch old := into[k].(type) {
	case nil:
		into[k] = v
	case []any:
		into[k] = append(old, v)
	default:
		into[k] = []any{old, v}
	}
}

func unescapeForm(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			b.WriteByte(' ')
		case s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			b.WriteByte(unhex(s[i+1])<<4 | unhex(s[i+2]))
			i += 2
		default:
			b.WriteByte(s[i])
		}
	}
	if out := b.String(); utf8.ValidString(out) {
		return out
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}

// decodeJSON reads a JSON body; its errors are worded like those of Perl's
// JSON module, which clients get to see.
func decodeJSON(body []byte) (map[string]any, error) {
	const where = " at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line "
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, daemonError(http.StatusInternalServerError, "%s%s934.\n", perlJSONError(body), where)
	}
	if v == nil { // Perl makes an empty hash of it
		return map[string]any{}, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, daemonError(http.StatusInternalServerError, "Not a HASH reference%s978.\n", where)
	}
	return m, nil
}

func perlJSONError(body []byte) string {
	text := strings.TrimLeft(string(body), " \t\r\n")
	at := len(body) - len(text)
	before := func(rest string) string {
		if rest == "" {
			return "(end of string)"
		}
		if len(rest) > 20 {
			rest = rest[:20] + "..."
		}
		return strings.TrimRight(rest, "}")
	}
	if strings.HasPrefix(text, "{") {
		rest := strings.TrimLeft(text[1:], " \t\r\n")
		if rest != "" && rest[0] != '"' && rest[0] != '}' {
			at = len(body) - len(rest)
			return fmt.Sprintf("'\"' expected, at character offset %d (before %q)", at, before(rest))
		}
		return fmt.Sprintf(", or ] expected while parsing object/hash, at character offset %d (before %q)", len(body), before(""))
	}
	return fmt.Sprintf("malformed JSON string, neither tag, array, object, number, string or atom, at character offset %d (before %q)", at, before(text))
}

var (
	contentTypeSplit = regexp.MustCompile(`\s*[;,]\s*`)
	boundaryParam    = regexp.MustCompile(`^\s*boundary\s*=\s*(\S+?)\s*$`)
)

func parseContentType(header string) (ct, boundary string) {
	parts := contentTypeSplit.Split(header, -1)
	for _, p := range parts[1:] {
		if m := boundaryParam.FindStringSubmatch(p); m != nil {
			return parts[0], strings.Trim(m[1], `"`)
		}
	}
	return parts[0], ""
}
