package pvesim

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"syscall"
)

var (
	quotedName = regexp.MustCompile(`filename="([^"]*)"`)
	bareName   = regexp.MustCompile(`filename=([^;]*)`)
	urlName    = regexp.MustCompile(`^[^?]+/([^?/]*)(?:\?.*)?$`)
)

// queryURL asks a server what a URL leads to.
func queryURL(c *call) (any, error) {
	target := c.params.Str("url")
	insecure := c.params.Has("verify-certificates") && !c.params.Bool("verify-certificates")
	ctx, cancel := c.untilStopped()
	defer cancel()
	var res *http.Response
	var err error
	c.outside(func() {
		var req *http.Request
		if req, err = http.NewRequestWithContext(ctx, "HEAD", target, nil); err != nil {
			return
		}
		req.Header.Set("User-Agent", "Proxmox VE")
		if res, err = c.client(insecure).Do(req); err == nil { //nolint:bodyclose // closed right here
			res.Body.Close()
		}
	})
	if err != nil {
		u, _ := url.Parse(target)
		var unresolved *net.DNSError
		switch {
		case u == nil:
		case errors.Is(err, syscall.ECONNREFUSED):
			return nil, die("invalid server response: '500 Can't connect to %s (Connection refused)'", hostAndPort(u))
		case errors.As(err, &unresolved):
			return nil, die("invalid server response: '500 Can't connect to %s (Name or service not known)'", hostAndPort(u))
		}
		return nil, die("invalid server response: '500 %v'", err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, die("invalid server response: '%s'", res.Status)
	}
	out := map[string]any{}
	disposition := res.Header.Get("Content-Disposition")
	name := ""
	if m := quotedName.FindStringSubmatch(disposition); m != nil {
		name = m[1]
	} else if m := bareName.FindStringSubmatch(disposition); m != nil {
		name = m[1]
	} else if m := urlName.FindStringSubmatch(target); m != nil {
		name = m[1]
	}
	if name != "" && name != "0" {
		out["filename"] = name
	}
	if res.ContentLength > 0 {
		out["size"] = res.ContentLength
	}
	if kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";"); kind != "" {
		out["mimetype"] = kind
	}
	return out, nil
}

// hostAndPort is how libwww-perl names a server.
func hostAndPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}
