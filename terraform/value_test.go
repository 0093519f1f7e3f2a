package terraform

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

func TestASecretIsSaidOnce(t *testing.T) {
	fields := []field{{name: "inline", key: "inline"}, {name: "inline_wo", key: "inline", secret: true}}
	kind := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"inline": tftypes.String, "inline_wo": tftypes.String}}
	text := func(v any) tftypes.Value { return tftypes.NewValue(tftypes.String, v) }
	for _, c := range []struct {
		reason        string
		plain, secret any
		want          string
	}{
		{"one of them", nil, "b", "b"},
		{"the other", "a", nil, "a"},
		{"which of the two is meant?", "a", "b", ""},
	} {
		said, known, err := manifestOf(fields, tftypes.NewValue(kind, map[string]tftypes.Value{"inline": text(c.plain), "inline_wo": text(c.secret)}))
		if c.want == "" {
			if err == nil || err.Error() != "inline and inline_wo say the same thing: give one of them" {
				t.Errorf("%s: %v, %v", c.reason, said, err)
			}
		} else if !known || err != nil || said["inline"] != c.want {
			t.Errorf("%s: %v, %v, %v", c.reason, said, known, err)
		}
	}
}
