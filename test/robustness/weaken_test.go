package robustness

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve/admission"
)

// weakness is a safeguard that is switched off, to see that its lack is noticed.
// What ships has no switch for that: a safeguard is as good as off when all that it
// looks at always says yes, or when what it adds to a request is taken away.
type weakness string

const (
	noOwnership weakness = "ownership check"
	noVMID      weakness = "VMID remembered"
	noDigest    weakness = "digest"
	noLook      weakness = "look after a lost answer"
	noLock      weakness = "lock check"
	noAdmission weakness = "admission"
)

var weaknesses = []weakness{noOwnership, noVMID, noDigest, noLook, noLock, noAdmission}

// admit lets everything through at once.
func (w weakness) admit(c *admission.Config) {
	if w == noAdmission {
		wide := admission.Bounds{Start: 1 << 20, Max: 1 << 20}
		c.Write, c.Storage, c.Read = wide, wide, wide
	}
}

// vmids has VMIDs chosen anew each time, and not by what they are for.
func (w weakness) vmids(r model.Range, time int) model.Range {
	if w != noVMID {
		return r
	}
	first := r.Last + 1 + time*100
	return model.Range{First: first, Last: first + 99}
}

// sends is what is sent of a request.
func (w weakness) sends(req *http.Request, body []byte) []byte {
	if w != noDigest || !strings.HasPrefix(req.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		return body
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || !form.Has("digest") {
		return body
	}
	form.Del("digest")
	body = []byte(form.Encode())
	req.ContentLength = int64(len(body))
	return body
}

// again reports whether a request is sent again at once when its answer is lost.
func (w weakness) again(e *entry) bool { return w == noLook && e.write() && e.lost() }

// receives is what is seen of an answer.
func (w weakness) receives(r *run, e *entry, res *http.Response) {
	if res == nil || res.StatusCode != http.StatusOK || e.method != http.MethodGet {
		return
	}
	switch {
	case w == noOwnership && (e.call() == "pending" || e.call() == "config"):
		edit(res, func(data any) any { return r.forge(e.vmid(), data) })
	case w == noLock && (e.path == "/cluster/resources" || e.call() == "pending" || e.call() == "status/current"):
		edit(res, unlock)
	}
}

// edit changes the data of an answer.
func edit(res *http.Response, change func(data any) any) {
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		panic(err)
	}
	var answer map[string]any
	if json.Unmarshal(raw, &answer) == nil {
		answer["data"] = change(answer["data"])
		if raw, err = json.Marshal(answer); err != nil {
			panic(err)
		}
	}
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	res.Header.Del("Content-Length")
}

// forge makes a guest prove that it is ours because one with its VMID was so once.
func (r *run) forge(vmid int, data any) any {
	value := description(data)
	if value == nil {
		return data
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, m, ok := model.ParseDescription(value.get()); ok && m.Of(vmid) {
		r.proofs[vmid] = value.get()
	} else if proof, ok := r.proofs[vmid]; ok {
		value.set(proof)
	}
	return value.data()
}

// text is a text within an answer.
type text struct {
	get  func() string
	set  func(string)
	data func() any
}

// description finds a guest's description in its config, as either call gives it.
func description(data any) *text {
	switch d := data.(type) {
	case map[string]any:
		return &text{
			get:  func() string { s, _ := d["description"].(string); return s },
			set:  func(s string) { d["description"] = s },
			data: func() any { return d },
		}
	case []any:
		entry := map[string]any{"key": "description"}
		i := -1
		for j, item := range d {
			if m, ok := item.(map[string]any); ok && m["key"] == "description" {
				entry, i = m, j
			}
		}
		if i < 0 {
			d = append(d, entry)
		}
		return &text{
			get:  func() string { s, _ := entry["value"].(string); return s },
			set:  func(s string) { entry["value"] = s },
			data: func() any { return d },
		}
	}
	return nil
}

// unlock takes all locks out of an answer.
func unlock(data any) any {
	switch d := data.(type) {
	case map[string]any:
		delete(d, "lock")
	case []any:
		var out []any
		for _, item := range d {
			m, ok := item.(map[string]any)
			if ok && m["key"] == "lock" {
				continue
			}
			if ok {
				m = maps.Clone(m)
				delete(m, "lock")
				item = m
			}
			out = append(out, item)
		}
		return out
	}
	return data
}
