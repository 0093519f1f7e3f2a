package pve

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/proxplane/proxplane/test/kit/chance"
)

// perlForm reads a form as Proxmox does: split on & and ;, cut at the first =, the rest of a
// value after a second = is lost, + is a blank.
func perlForm(text string) (pairs form) {
	if text == "" {
		return nil
	}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == '&' || r == ';' }) {
		words := strings.Split(part, "=")
		value := ""
		if len(words) > 1 {
			value = words[1]
		}
		unescape := func(s string) string {
			out, err := url.QueryUnescape(s)
			if err != nil {
				return "?"
			}
			return out
		}
		pairs = append(pairs, pair{unescape(words[0]), unescape(value)})
	}
	return pairs
}

func TestWhateverIsSentArrivesAtProxmoxParser(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want form
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			want = append(want, pair{
				rapid.StringN(1, 10, -1).Draw(t, "key"),
				rapid.String().Draw(t, "value"),
			})
		}
		got := perlForm(want.encode())
		if len(got) != len(want) {
			t.Fatalf("%q: %d parameters, not %d", want.encode(), len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%q became %q", want[i], got[i])
			}
		}
	})
}

func TestEverythingButTheHarmlessIsEscaped(t *testing.T) {
	got := escaped("aZ09-._~ +&;=%/:@!*'()\näß\x00")
	want := "aZ09-._~%20%2B%26%3B%3D%25%2F%3A%40%21%2A%27%28%29%0A%C3%A4%C3%9F%00"
	if got != want {
		t.Errorf("got %s", got)
	}
}

func TestOptionsBecomeParameters(t *testing.T) {
	type inner struct {
		Deep string `pve:"deep"`
	}
	type options struct {
		Text     string   `pve:"text"`
		Number   int      `pve:"number"`
		Yes      bool     `pve:"yes"`
		Maybe    *bool    `pve:"maybe"`
		Zero     *int     `pve:"zero"`
		Empty    *string  `pve:"empty"`
		List     []string `pve:"list"`
		Numbers  []int    `pve:"numbers"`
		Repeated []string `pve:"repeated,repeat"`
		Secret   Secret   `pve:"password"`
		inner
		Settings Settings
		Hidden   string        `pve:"-"`
		At       time.Time     `pve:"at"`
		Patience time.Duration `pve:"patience"`
		Ratio    float64       `pve:"ratio"`
	}
	for _, c := range []struct {
		reason string
		in     options
		want   string
	}{
		{"what is zero isn't sent", options{Hidden: "x"}, ""},
		{"pointers are sent even when they point to zero", options{Maybe: new(false), Zero: new(0), Empty: new("")}, "maybe=0&zero=0&empty="},
		{"lists are joined or repeated", options{List: []string{"a", "b"}, Numbers: []int{1, 2}, Repeated: []string{"a", "b c"}},
			"list=a%2Cb&numbers=1%2C2&repeated=a&repeated=b%20c"},
		{"the rest", options{
			Text: "t", Number: -5, Yes: true, Secret: NewSecret("s"), inner: inner{"d"}, Settings: Settings{"net0": "virtio", "memory": "1"},
			At: time.Unix(7, 0), Patience: 1500 * time.Millisecond, Ratio: 0.5,
		}, "text=t&number=-5&yes=1&password=s&deep=d&memory=1&net0=virtio&at=7&patience=2&ratio=0.5"},
	} {
		f, err := formOf(c.in)
		if err != nil || f.encode() != c.want {
			t.Errorf("%s: got %q, %v", c.reason, f.encode(), err)
		}
	}
}

func TestParamsOfACallMayBeOfManyTypes(t *testing.T) {
	f, err := formOf(Params{"b": true, "a": 1, "c": []string{"x", "y"}, "d": nil, "e": NewSecret("s"), "f": new(2.5)})
	if want := "a=1&b=1&c=x&c=y&e=s&f=2.5"; err != nil || f.encode() != want {
		t.Errorf("got %q, %v", f.encode(), err)
	}
	for _, bad := range []any{Params{"a": struct{}{}}, Params{"a": []any{nil}}, 5, struct{ NoTag string }{"x"}} {
		if f, err := formOf(bad); err == nil {
			t.Errorf("%#v became %q", bad, f.encode())
		}
	}
}

func TestPathsAreEscapedAndCannotEscape(t *testing.T) {
	for _, c := range []struct {
		route string
		args  []any
		want  string // empty: refused
	}{
		{"/nodes/{node}/qemu/{vmid}/config", []any{"pve1", 100}, "/nodes/pve1/qemu/100/config"},
		{"/access/users/{userid}", []any{"root@pam"}, "/access/users/root%40pam"},
		{"/nodes/{node}/tasks/{upid}/status", []any{"p", "UPID:p:1"}, "/nodes/p/tasks/UPID%3Ap%3A1/status"},
		{"/nodes/{node}/storage/{storage}/content/{volume}", []any{"p", "s", "local:iso/a+b.iso"}, "/nodes/p/storage/s/content/local%3Aiso/a%2Bb.iso"},
		{"/nodes/{node}/status", []any{"a?b#c%2Fd"}, "/nodes/a%3Fb%23c%252Fd/status"},
		{"/nodes/{node}/status", []any{"pve1/qemu/100"}, ""},
		{"/nodes/{node}/status", []any{"pve 1"}, ""},
		{"/nodes/{node}/status", []any{"pve1\x00"}, ""},
		{"/nodes/{node}/status", []any{".."}, ""},
		{"/nodes/{node}/status", []any{""}, ""},
		{"/nodes/{node}/storage/{storage}/content/{volume}", []any{"p", "s", "local:iso/../x"}, ""},
		{"/nodes/{node}/storage/{storage}/content/{volume}", []any{"p", "s", "local:iso//x"}, ""},
		{"/nodes/{node}/status", []any{}, ""},
		{"/nodes", []any{"p"}, ""},
	} {
		got, err := expand(c.route, c.args)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s with %v: got %q, %v", c.route, c.args, got, err)
		}
	}
}
