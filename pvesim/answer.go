package pvesim

import (
	"encoding/json"
	"html"
	"net/http"
	"strconv"
	"strings"
)

// answer is what goes back over the wire.
type answer struct {
	status  int
	reason  string
	ctype   string
	body    []byte
	hangUp  bool  // close the connection after it
	dropped bool  // no answer at all
	door    *door // a websocket leads there
}

func send(w http.ResponseWriter, r *http.Request, ans *answer) {
	if strings.Contains(ans.reason, "\r") {
		// What would break the status line is answered as an error of the client.
		ans = &answer{status: http.StatusBadRequest, reason: http.StatusText(http.StatusBadRequest)}
	}
	if c, ok := r.Context().Value(connKey{}).(*reasonConn); ok && ans.reason != "" {
		c.setReason(ans.reason)
	}
	h := w.Header()
	if ans.ctype != "" {
		h.Set("Content-Type", ans.ctype)
	} else {
		h["Content-Type"] = nil
	}
	if ans.hangUp || ans.status >= http.StatusBadRequest {
		h.Set("Connection", "close") // as after every error
	}
	h.Set("Server", "pve-api-daemon/3.0")
	h.Set("Cache-Control", "max-age=0")
	h.Set("Pragma", "no-cache")
	h.Set("Content-Length", strconv.Itoa(len(ans.body)))
	w.WriteHeader(ans.status)
	if r.Method != http.MethodHead {
		w.Write(ans.body)
	}
}

// format renders an answer for /api2/json, /api2/extjs or /api2/html.
func format(kind string, res *result, fail *apiError) *answer {
	if fail != nil && (fail.bare || fail.empty) {
		ans := &answer{status: fail.status, reason: firstLine(fail.text)}
		if fail.bare {
			ans.body = []byte(fail.text)
		}
		return ans
	}
	out := map[string]any{"data": nil}
	ans := &answer{status: http.StatusOK, reason: "OK", ctype: "application/json;charset=UTF-8"}
	extjs := kind == "extjs" || kind == "htmljs"
	switch fail {
	case nil:
		out["data"] = res.data
		if res.total != nil && *res.total != 0 {
			out["total"] = *res.total
		}
		if extjs {
			out["success"] = 1
		}
	default:
		out["message"] = fail.text
		if len(fail.fields) > 0 {
			out["errors"] = fail.fields
		}
		if extjs {
			out["success"], out["status"] = 0, any(fail.status)
			if fail.raised {
				out["status"] = strconv.Itoa(fail.status)
			}
			break
		}
		ans.status, ans.reason = fail.status, firstLine(fail.text)
	}
	body, err := json.Marshal(out)
	if err != nil {
		return &answer{status: 500, reason: "encode answer", body: []byte(err.Error())}
	}
	ans.body = body
	switch kind {
	case "html", "htmljs":
		ans.ctype = "text/html;charset=UTF-8"
		ans.body = []byte(html.EscapeString(string(body)))
	case "png": // no call that is simulated draws anything
		ans.ctype, ans.body = "image/png", nil
	case "spiceconfig":
		ans.ctype, ans.body = "application/x-virt-viewer;charset=UTF-8", nil
	}
	return ans
}

// firstLine is what fits into a status line.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
