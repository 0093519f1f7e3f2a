package karpenter

import (
	"strings"
	"testing"
	"text/template"
)

// The functions take their arguments as the original's do: its page has these examples.
func TestFunctionsAreThoseOfTheOriginal(t *testing.T) {
	data := map[string]any{"Tags": []string{"karpenter", "gpu"}, "Values": map[string]string{"a": "1"}}
	for text, want := range map[string]string{
		`{{ default "world" "" }} {{ default "world" "hello" }} {{ default "world" }}`:   "world hello world",
		`{{ coalesce "" "" "hello" "world" }}`:                                           "hello",
		`{{ ternary "yes" "no" true }} {{ ternary "yes" "no" false }}`:                   "yes no",
		`{{ indent 4 "hello\nworld" }}`:                                                  "    hello\n    world",
		`{{ nindent 4 "hello\nworld" }}`:                                                 "\n    hello\n    world",
		`{{ quote "hello" }} {{ quote 1 "b" }}`:                                          `"hello" "1" "b"`,
		`{{ upper "hello" }}{{ lower "HELLO" }}{{ trim "  hello  " }}`:                   "HELLOhellohello",
		`{{ trimSuffix "lo" "hello" }} {{ trimPrefix "he" "hello" }}`:                    "hel llo",
		`{{ split "a,b,c" "," }} {{ join (list "a" "b" "c") "," }}`:                      "[a b c] a,b,c",
		`{{ replace "l" "L" "hello" }}`:                                                  "heLLo",
		`{{ regexFind "[a-zA-Z][1-9]" "abcd1234" }}`:                                     "d1",
		`{{ regexFindString "^type-([a-z0-9]+)-(.*)$" "type-metal1-asz" 1 }}`:            "metal1",
		`{{ regexReplaceAll "a(x*)b" "-ab-axxb-" "${1}W" }}`:                             "-W-xxW-",
		`{{ get .Values "a" }} {{ get .Values "b" }}`:                                    "1 ",
		`{{ getValue "ds=nocloud;i=1234" "i" }}`:                                         "1234",
		`{{ empty "" }} {{ contains "ell" "hello" }} {{ hasPrefix "he" "hello" }}`:       "true true true",
		`{{ hasSuffix "lo" "hello" }} {{ hasKey .Values "a" }} {{ hasKey .Values "b" }}`: "true true false",
		`{{ hasTag .Tags "gpu" }} {{ hasTag .Tags "db" }}`:                               "true false",
		`{{ b64enc "hello" }} {{ b64dec "aGVsbG8=" }}`:                                   "aGVsbG8= hello",
		`{{ cidrhost "10.12.112.0/20" 16 }} {{ "2001:db8:1::1/64" | cidrhost }}`:         "10.12.112.16 2001:db8:1::1",
		`{{ "2001:db8:1::/64" | cidrslaac "00:1A:2B:3C:4D:5E" }}`:                        "2001:db8:1:0:21a:2bff:fe3c:4d5e/64",
		`{{ get (dict "a" 1 "b" 2) "a" }} {{ hasKey (dict "a" 1) "a" }}`:                 "1 true",
		`{{ "192.168.1.5/24" | cidrhost }} {{ cidrhost "192.168.1.5/24" 15 }}`:           "192.168.1.5 192.168.1.15",
		`{{ "2001:db8:1:2:3::/80" | cidrslaac "00:1A:2B:3C:4D:5E" }}`:                    "2001:db8:1:2:3:2bff:fe3c:4d5e/80",
		`{{ toYaml (split "a,b" ",") | nindent 2 }}`:                                     "\n  - a\n  - b",
		`{{ toYaml (dict "id" "${vm_id}" "n" 1) }}`:                                      "id: \"${vm_id}\"\n\"n\": 1",
		`{{ toJson .Values }} {{ toYaml .Values }}`:                                      `{"a":"1"} a: "1"`,
	} {
		parsed, err := template.New("page").Funcs(functions).Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var out strings.Builder
		if err := parsed.Execute(&out, data); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v, want %q", text, out.String(), err, want)
		}
	}
}
