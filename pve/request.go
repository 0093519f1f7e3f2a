package pve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// request is one call of the API. All calls of this package are made of it.
type request struct {
	method string
	route  string // with placeholders: /nodes/{node}/qemu/{vmid}/config
	args   []any  // for the placeholders
	params any    // option struct, Params or nil
	out    any    // pointer to what the answer's data goes to, or nil
	total  *int   // for the length of a paged list

	literal   bool // the route is a path as it is, braces and all
	upload    *upload
	storage   string       // that the call keeps busy, where it says so itself
	login     *Credentials // the call is a login: no authorization, may be repeated
	answering bool         // the call waits for a guest agent
	relieving bool         // the call ends work, so it mustn't wait until work has ended

	options callOptions
	made    time.Time // when the call was made

	path string
	form form
}

// prepare fills in the path and the parameters.
func (r *request) prepare() error {
	var err error
	if r.literal {
		r.path, err = expand(wholePath, []any{strings.TrimPrefix(r.route, "/")})
	} else {
		r.path, err = expand(r.route, r.args)
	}
	if err != nil {
		return err
	}
	if r.form, err = formOf(r.params); err != nil {
		return err
	}
	if r.inBody() {
		return nil
	}
	for _, p := range r.form {
		if secretParam(r.route, p.key) {
			return fmt.Errorf("parameter %s is secret and can't travel in a query, which Proxmox logs", p.key)
		}
	}
	return nil
}

func (r *request) inBody() bool  { return r.method == http.MethodPost || r.method == http.MethodPut }
func (r *request) isWrite() bool { return isWrite(r.method) && r.login == nil }

// node is the node in the path.
func (r *request) node() string {
	rest, ok := strings.CutPrefix(r.path, "/nodes/")
	if !ok {
		return ""
	}
	node, _, _ := strings.Cut(rest, "/")
	return node
}

// wholePath is the placeholder whose value may have slashes.
const wholePath = "{volume}"

// expand puts the arguments into the placeholders of a route.
func expand(route string, args []any) (string, error) {
	parts := strings.Split(strings.TrimPrefix(route, "/"), "/")
	var b strings.Builder
	for _, part := range parts {
		b.WriteByte('/')
		if !strings.HasPrefix(part, "{") {
			b.WriteString(part)
			continue
		}
		if len(args) == 0 {
			return "", fmt.Errorf("no value for %s in %s", part, route)
		}
		text := fmt.Sprint(args[0])
		args = args[1:]
		// The slashes of a volume's id stay as they are: Proxmox takes the rest of the path for
		// the volume, and reverse proxies mishandle escaped ones.
		segments := []string{text}
		if part == wholePath {
			segments = strings.Split(text, "/")
		}
		for i, segment := range segments {
			if !isSegment(segment) {
				return "", fmt.Errorf("%q can't stand for %s in a path", text, part)
			}
			if i > 0 {
				b.WriteByte('/')
			}
			escape(&b, segment)
		}
	}
	if len(args) > 0 {
		return "", fmt.Errorf("too many values for %s", route)
	}
	return b.String(), nil
}

// build makes the HTTP request.
func (r *request) build(ctx context.Context, base *url.URL) (*http.Request, error) {
	raw := base.EscapedPath() + "/api2/json" + r.path
	path, err := url.PathUnescape(raw)
	if err != nil {
		return nil, err
	}
	u := &url.URL{Scheme: base.Scheme, Host: base.Host, Path: path, RawPath: raw}
	var body io.Reader
	switch {
	case r.upload != nil:
		body = r.upload.body()
	case r.inBody() && len(r.form) > 0:
		body = strings.NewReader(r.form.encode())
	default:
		u.RawQuery = r.form.encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), body)
	if err != nil {
		if closer, ok := body.(io.Closer); ok {
			closer.Close()
		}
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "proxplane-pve")
	switch {
	case r.upload != nil:
		req.ContentLength = r.upload.length()
		req.Header.Set("Content-Type", r.upload.contentType())
		// A refusal comes before the body is sent, not as a connection that breaks in its midst.
		req.Header.Set("Expect", "100-continue")
	case body != nil:
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return req, nil
}

// finish takes what was asked for from an answer of status 2xx.
func (r *request) finish(ans *answer) error {
	err := r.decode(ans)
	if err == nil {
		return nil
	}
	e := &Error{
		Kind: ErrUnknown, Method: r.method, Path: r.path, Status: ans.status, Reason: ans.reason, Text: err.Error(), Err: err,
	}
	if r.isWrite() {
		// It was probably done, but what came of it, e.g. which task, isn't known.
		e.Kind, e.Sent = ErrUnknownOutcome, r.form.summary(r.route)
	}
	return e
}

func (r *request) decode(ans *answer) error {
	env, err := parseEnvelope(ans.body)
	if err != nil {
		return err
	}
	if r.total != nil {
		*r.total = env.total
	}
	if r.out == nil {
		return nil
	}
	if err := decode(env.data, r.out); err != nil {
		return fmt.Errorf("the answer isn't understood: %w", err)
	}
	return nil
}

// secrets are all texts that must not be seen in anything that this request leads to.
func (r *request) secrets(auth authorization) []string {
	all := append(r.form.secrets(r.route), auth.secrets()...)
	if r.login != nil {
		all = append(all, r.login.secret.Reveal())
	}
	return all
}

// isSegment reports whether a text can be one part of a path. Proxmox unescapes a path before it
// splits it, so escaping doesn't keep a slash from separating, and knows no blanks there.
func isSegment(text string) bool {
	return text != "" && text != "." && text != ".." && !strings.ContainsFunc(text, func(r rune) bool {
		return r == '/' || unicode.IsSpace(r) || unicode.IsControl(r)
	})
}
