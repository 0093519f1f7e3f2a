package pvesim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFormsAreReadAsPveproxyReadsThem(t *testing.T) {
	for in, want := range map[string]map[string]any{
		"":                 {},
		"0":                {},
		"&;":               {},
		"a=1&b=2;c=3":      {"a": "1", "b": "2", "c": "3"},
		"a=x=y":            {"a": "x"},
		"a=":               {"a": ""},
		"a":                {"a": nil},
		"a=1&a=2":          {"a": []any{"1", "2"}},
		"a=1&a=2&a=3":      {"a": []any{"1", "2", "3"}},
		"a=1&a":            {"a": nil},
		"a=1&&b=2":         {"a": "1", "": nil, "b": "2"},
		"a+b=c+d%2B%C3%A4": {"a b": "c d+ä"},
		"a=%zz%4":          {"a": "%zz%4"},
		"a=1&":             {"a": "1"},
	} {
		got := map[string]any{}
		decodeForm(in, got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
}
