package pve

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type mixed struct {
	Int    int               `json:"int"`
	Big    int64             `json:"big"`
	Small  int8              `json:"small"`
	Float  float64           `json:"float"`
	Bool   bool              `json:"bool"`
	Text   string            `json:"text"`
	Time   time.Time         `json:"time"`
	List   []string          `json:"list"`
	Map    map[string]bool   `json:"map"`
	Struct struct{ A int }   `json:"struct"`
	Ptr    *int              `json:"ptr"`
	UPID   UPID              `json:"upid"`
	Secret Secret            `json:"secret"`
	Any    any               `json:"any"`
	Sub    []map[string]bool `json:"sub"`
}

func TestMixedTypesOfProxmoxAreUnderstood(t *testing.T) {
	for _, c := range []struct {
		json string
		want mixed
	}{
		{`{"int":5,"bool":1,"text":"a"}`, mixed{Int: 5, Bool: true, Text: "a"}},
		{`{"int":"5","bool":"1","text":5}`, mixed{Int: 5, Bool: true, Text: "5"}},
		{`{"int":"","bool":"","text":null,"float":""}`, mixed{}},
		{`{"int":null,"bool":null,"list":null,"map":null,"struct":null,"time":null,"ptr":null,"upid":null}`, mixed{}},
		{`{"bool":true,"int":true,"text":true}`, mixed{Bool: true, Int: 1, Text: "1"}},
		{`{"bool":false,"text":false}`, mixed{Text: "0"}},
		{`{"bool":"on"}`, mixed{Bool: true}},
		{`{"bool":"no"}`, mixed{}},
		{`{"bool":2}`, mixed{Bool: true}},
		{`{"big":270553174016,"float":"0.25"}`, mixed{Big: 270553174016, Float: 0.25}},
		{`{"big":1.5e+10,"int":12.0}`, mixed{Big: 15000000000, Int: 12}},
		{`{"text":1.50}`, mixed{Text: "1.50"}},
		{`{"time":1794709778}`, mixed{Time: time.Unix(1794709778, 0)}},
		{`{"time":"1794709778"}`, mixed{Time: time.Unix(1794709778, 0)}},
		{`{"time":0}`, mixed{}},
		{`{"list":"a,b;c d"}`, mixed{List: []string{"a", "b", "c", "d"}}},
		{`{"list":["a",5]}`, mixed{List: []string{"a", "5"}}},
		{`{"list":{},"map":[]}`, mixed{List: []string{}}},
		{`{"list":""}`, mixed{List: []string{}}},
		{`{"map":{"VM.Audit":1,"x":"0"}}`, mixed{Map: map[string]bool{"VM.Audit": true, "x": false}}},
		{`{"struct":[],"ptr":"7"}`, mixed{Ptr: new(7)}},
		{`{"struct":""}`, mixed{}},
		{`{"unknown":[1,{"a":2}]}`, mixed{}},
	} {
		var got mixed
		env, err := parseEnvelope([]byte(`{"data":` + c.json + `}`))
		if err == nil {
			err = decode(env.data, &got)
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(UPID{}, Secret{})); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", c.json, err, diff)
		}
	}
}

func TestNonsenseIsAnErrorThatSaysWhere(t *testing.T) {
	for text, want := range map[string]string{
		`{"int":"abc"}`:         `int: "abc" is no int`,
		`{"small":300}`:         `small: "300" is no int8`,
		`{"bool":"perhaps"}`:    `bool: "perhaps" is no bool`,
		`{"big":1e300}`:         `big: "1e300" is no int64`,
		`{"big":"NaN"}`:         `big: "NaN" is no int64`,
		`{"map":"x"}`:           `map: a JSON string is no map[string]bool`,
		`{"sub":[{},{"a":{}}]}`: `sub: [1]: a: "{}" is no bool`,
		`{"upid":"UPID:x"}`:     `upid: "UPID:x" is not a UPID`,
		`[1]`:                   `a JSON []interface {} is no pve.mixed`,
	} {
		env, err := parseEnvelope([]byte(`{"data":` + text + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := decode(env.data, new(mixed)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	for _, body := range []string{"", "<html>", "[]", "5", `{"data":1}x`, `{"data":`, `{"data":1,"total":"x"}`, `{}`, `{"ok":true}`} {
		if env, err := parseEnvelope([]byte(body)); err == nil {
			t.Errorf("%q was taken for an answer: %v", body, env)
		}
	}
}

func FuzzDecodingAnswersNeverPanics(f *testing.F) {
	for _, a := range recordedAnswers(f) {
		f.Add([]byte(a.Body))
	}
	f.Add([]byte(`{"data":{"int":"5","sub":[{"a":1}],"struct":{"A":[]}},"total":7}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		env, err := parseEnvelope(body)
		if err != nil {
			return
		}
		for _, out := range []any{
			new(mixed), new(Settings), new([]Resource), new(NodeStatus), new([]TaskInfo), new(TaskStatus), new(Permissions),
			new([]PendingSetting), new(agentResult[[]GuestInterface]), new(UPID), new(string), new(int), new([]string),
		} {
			_ = decode(env.data, out)
		}
	})
}

func BenchmarkDecodingTenThousandResources(b *testing.B) {
	var list []map[string]any
	for i := range 10_000 {
		list = append(list, map[string]any{
			"id": "qemu/100", "type": "qemu", "vmid": i, "name": "web-1", "node": "pve1", "status": "running", "tags": "a;b",
			"uptime": 10, "cpu": 0.01, "maxcpu": 2, "mem": 1 << 30, "maxmem": 1 << 31, "disk": 0, "maxdisk": 1 << 35,
			"netin": 1, "netout": 2, "diskread": 3, "diskwrite": 4, "template": 0,
		})
	}
	body, err := json.Marshal(map[string]any{"data": list})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		env, err := parseEnvelope(body)
		if err != nil {
			b.Fatal(err)
		}
		var out []Resource
		if err := decode(env.data, &out); err != nil || len(out) != len(list) {
			b.Fatal(err)
		}
	}
}
