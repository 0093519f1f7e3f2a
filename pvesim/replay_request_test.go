package pvesim

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// subst puts saved values into a text.
func (r *replayer) subst(text string) string {
	return replayVar.ReplaceAllStringFunc(text, func(m string) string {
		name, mod, _ := strings.Cut(m[2:len(m)-1], "|")
		v, ok := r.vars[name]
		if !ok {
			return m
		}
		if mod == "url" {
			return url.QueryEscape(fmt.Sprint(v))
		}
		return fmt.Sprint(v)
	})
}

// expand makes {"$fill":"a","n":9000} the long text it stands for.
func expand(v any) string {
	if m, ok := v.(map[string]any); ok {
		if fill, ok := m["$fill"].(string); ok {
			n, _ := m["n"].(json.Number).Int64()
			tail, _ := m["tail"].(string)
			return strings.Repeat(fill, int(n)) + tail
		}
	}
	switch v := v.(type) {
	case bool:
		if v {
			return "True"
		}
		return "False"
	case nil:
		return "None"
	}
	return fmt.Sprint(v)
}

func (r *replayer) form(params map[string]any) string {
	var parts []string
	for _, k := range slices.Sorted(mapKeys(params)) {
		list, ok := params[k].([]any)
		if !ok {
			list = []any{params[k]}
		}
		for _, v := range list {
			parts = append(parts, url.QueryEscape(k)+"="+url.QueryEscape(r.subst(expand(v))))
		}
	}
	return strings.Join(parts, "&")
}

func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// request sends one recorded request.
func (r *replayer) request(s *replayStep) (status int, reason string, body any) {
	base, header := "/api2/json", http.Header{}
	var payload []byte
	hasBody := false
	path := r.subst(s.Path)
	if s.Raw != nil {
		if s.Raw.Base != nil {
			base = *s.Raw.Base
		}
		for k, v := range s.Raw.Headers {
			header[textproto.CanonicalMIMEHeaderKey(k)] = []string{r.subst(v)}
		}
	}
	switch {
	case s.Raw != nil && s.Raw.Multipart != nil:
		payload, hasBody = r.multipart(s.Raw, header), true
	case s.Raw != nil && s.Raw.Body != nil:
		payload, hasBody = []byte(r.subst(expand(s.Raw.Body))), true
	case s.Params != nil:
		q := r.form(s.Params)
		if s.Method == "GET" || s.Method == "DELETE" || s.Method == "HEAD" {
			if q != "" {
				path += "?" + q
			}
			break
		}
		payload, hasBody = []byte(q), true
		if header.Get("Content-Type") == "" {
			header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
	}
	r.auth(s, header)
	req, err := http.NewRequest(s.Method, "http://pve1", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	raw := base + path
	u, query, _ := strings.Cut(raw, "?")
	req.URL.Opaque = u
	req.URL.RawQuery = query
	req.Host = "pve1"
	if strings.HasPrefix(u, "//") || strings.HasPrefix(u, "/") {
		req.URL = &url.URL{Scheme: "http", Host: "pve1", Opaque: "//pve1" + u, RawQuery: query}
	}
	req.Header = header
	if hasBody {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(payload)), int64(len(payload))
		if len(payload) == 0 {
			req.Body = http.NoBody
		}
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return 0, "no answer: " + err.Error(), nil
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)
	reason = strings.TrimPrefix(strings.TrimPrefix(resp.Status, fmt.Sprint(resp.StatusCode)), " ")
	if len(data) > 0 {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		if dec.Decode(&body) != nil {
			body = string(data)
		}
	}
	r.learn(s, resp.StatusCode, body)
	return resp.StatusCode, reason, body
}

func (r *replayer) multipart(raw *replayRaw, header http.Header) []byte {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	w.SetBoundary("----replayboundary")
	header.Set("Content-Type", "multipart/form-data; boundary=----replayboundary")
	for _, f := range raw.Multipart.Fields {
		w.WriteField(f[0], f[1])
	}
	file := raw.Multipart.File
	field := file.Field
	if field == "" {
		field = "filename"
	}
	part, _ := w.CreateFormFile(field, file.Name)
	if file.Gzip64 != "" {
		zipped, _ := base64.StdEncoding.DecodeString(file.Gzip64)
		z, err := gzip.NewReader(bytes.NewReader(zipped))
		if err != nil {
			r.t.Fatal(err)
		}
		io.Copy(part, z)
	} else {
		var latin []byte
		for _, c := range expand(file.Content) {
			latin = append(latin, byte(c))
		}
		part.Write(latin)
	}
	w.Close()
	return b.Bytes()
}

// auth adds the credentials of whom the step is sent as.
func (r *replayer) auth(s *replayStep, h http.Header) {
	if name, ok := strings.CutPrefix(s.As, "token:"); ok {
		if _, given := h["Authorization"]; !given {
			value, ok := r.vars[s.As]
			if !ok {
				value = "unknown@pam!unknown=0"
			}
			h.Set("Authorization", fmt.Sprintf("PVEAPIToken=%v", value))
		}
		_ = name
		return
	}
	if s.As == "none" {
		return
	}
	user := "root@pam"
	if u, ok := strings.CutPrefix(s.As, "user:"); ok {
		user = u
	}
	t, ok := r.tickets[user]
	if !ok {
		_, _, body := r.request(&replayStep{As: "none", Method: "POST", Path: "/access/ticket",
			Params: map[string]any{"username": user, "password": r.passwords[user]}})
		m, _ := body.(map[string]any)
		data, _ := m["data"].(map[string]any)
		ticket, _ := data["ticket"].(string)
		csrf, _ := data["CSRFPreventionToken"].(string)
		if ticket == "" {
			return
		}
		t = [2]string{ticket, csrf}
		r.tickets[user] = t
	}
	if _, given := h["Cookie"]; !given {
		h.Set("Cookie", "PVEAuthCookie="+url.QueryEscape(t[0]))
	}
	if _, given := h[textproto.CanonicalMIMEHeaderKey("CSRFPreventionToken")]; !given && s.Method != "GET" {
		h.Set("CSRFPreventionToken", t[1])
	}
}

// learn keeps what later steps need: tokens, passwords, saved values.
func (r *replayer) learn(s *replayStep, status int, body any) {
	m, ok := body.(map[string]any)
	if status != 200 || !ok {
		return
	}
	if d, ok := m["data"].(map[string]any); ok && d["full-tokenid"] != nil && d["value"] != nil {
		r.vars[fmt.Sprint("token:", d["full-tokenid"])] = fmt.Sprintf("%v=%v", d["full-tokenid"], d["value"])
	}
	if s.Method == "POST" && s.Path == "/access/users" && s.Params["password"] != nil {
		user := fmt.Sprint(s.Params["userid"])
		r.passwords[user] = fmt.Sprint(s.Params["password"])
		delete(r.tickets, user)
	}
	for name, where := range s.Save {
		var v any = m
		for _, k := range strings.Split(where, ".") {
			vm, _ := v.(map[string]any)
			v = vm[k]
		}
		r.vars[name] = v
	}
}

// recordingFileServer serves what the download steps fetch. It lives
// outside of the bubbles of virtual time.
func recordingFileServer(t *testing.T) string {
	files := map[string][]byte{"/dl.iso": bytes.Repeat([]byte("iso"), 1000), "/disk.qcow2": emptyQcow2(64)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		ctype := "application/octet-stream"
		if strings.HasSuffix(r.URL.Path, ".iso") {
			ctype = "application/x-iso9660-image"
		}
		w.Header().Set("Content-Type", ctype)
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		w.Write(data)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}
