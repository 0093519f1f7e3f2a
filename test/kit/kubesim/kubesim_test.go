package kubesim_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/proxplane/proxplane/test/kit/kubesim"
)

var kinds = []kubesim.Kind{{Group: "example.com", Version: "v1", Resource: "things", Name: "Thing", Status: true}}

func thing(name string, fields map[string]any) kubesim.Object {
	meta := map[string]any{"name": name, "namespace": "a"}
	for k, v := range fields {
		meta[k] = v
	}
	return kubesim.Object{"metadata": meta, "spec": map[string]any{"size": 1}, "status": map[string]any{"seen": true}}
}

// do makes a request and gives its status and what it answers.
func do(t *testing.T, l *kubesim.Line, method, path, patch string) (int, kubesim.Object) {
	t.Helper()
	req, err := http.NewRequest(method, "https://kubernetes/apis/example.com/v1/namespaces/a/"+path, strings.NewReader(patch))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/merge-patch+json")
	res, err := l.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var o kubesim.Object
	if err := json.NewDecoder(res.Body).Decode(&o); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, o
}

func TestItDoesAsKubernetesDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone []string
		api := kubesim.New(kinds, func(c kubesim.Change) {
			if c.New == nil {
				gone = append(gone, c.Old.Name())
			}
		})
		l := api.Connect()
		defer l.Cut()
		o, err := api.Create("things", thing("x", map[string]any{"finalizers": []any{"f"}}))
		if err != nil {
			t.Fatal(err)
		}
		if o["status"] != nil || o.Generation() != 1 {
			t.Errorf("a new object has the status %v and the generation %d", o["status"], o.Generation())
		}
		if code, o := do(t, l, "PATCH", "things/x/status", `{"spec":{"size":9},"status":{"n":1}}`); code != 200 || o.Generation() != 1 || o["status"] == nil || o["spec"].(map[string]any)["size"] != 1.0 {
			t.Errorf("a patch of the status answers %d and makes %v", code, o)
		}
		if code, o := do(t, l, "PATCH", "things/x", `{"spec":{"size":2},"status":{"n":2}}`); code != 200 || o.Generation() != 2 || o["status"].(map[string]any)["n"] != 1.0 {
			t.Errorf("a patch of the spec answers %d and makes %v", code, o)
		}
		if code, _ := do(t, l, "PATCH", "things/x", `{"metadata":{"resourceVersion":"1"},"spec":{"size":3}}`); code != http.StatusConflict {
			t.Errorf("a patch of an old version answers %d", code)
		}
		if code, _ := do(t, l, "PATCH", "things/x", `{"metadata":{"uid":"another"},"spec":{"size":3}}`); code != http.StatusConflict {
			t.Errorf("a patch of another object answers %d", code)
		}
		if code, _ := do(t, l, "DELETE", "things/x", ""); code != 200 || len(gone) > 0 {
			t.Errorf("a deletion answers %d, and %v is gone", code, gone)
		}
		if o := api.Get("things", "a", "x"); !o.Deleting() {
			t.Errorf("what has a finalizer isn't there until it is taken off: %v", o)
		}
		do(t, l, "PATCH", "things/x", `{"metadata":{"finalizers":null}}`)
		if code, _ := do(t, l, "GET", "things/x", ""); code != http.StatusNotFound || len(gone) != 1 {
			t.Errorf("what has no finalizer any more answers %d, and %v is gone", code, gone)
		}
	})
}

func TestAWatchTellsWhatHappensAfterAVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := kubesim.New(kinds, nil)
		l := api.Connect()
		if _, err := api.Create("things", thing("old", nil)); err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequest("GET", "https://kubernetes/apis/example.com/v1/things?watch=true&resourceVersion=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := l.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(res.Body)
		if _, err := api.Create("things", thing("new", nil)); err != nil {
			t.Fatal(err)
		}
		if err := api.Delete("things", "a", "old"); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"type":"ADDED"`, `"type":"DELETED"`} {
			if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, want) {
				t.Errorf("the watch says %q (%v), want %s", line, err, want)
			}
		}
		l.Cut()
		if _, err := lines.ReadString('\n'); err != io.EOF {
			t.Errorf("a watch ends with %v when the connection breaks", err)
		}
		if _, err := l.RoundTrip(req); err == nil {
			t.Error("a connection that is broken answers")
		}
	})
}
