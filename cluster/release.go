package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/proxplane/proxplane/spec/suggest"
)

// Release is what nodes install.
type Release struct {
	Version  string `json:"version" yaml:"version"` // v1.30.4+rke2r1
	URL      string `json:"url" yaml:"url"`
	Checksum string `json:"checksum" yaml:"checksum"` // SHA-256 of what is there
}

// Resolve finds the release that a file means: once, it is written down afterwards. It asks the
// distribution's channels and reads the release's list of checksums, unless the file says both.
func Resolve(ctx context.Context, k Kubernetes) (Release, error) {
	d := distributions[k.Distribution]
	version := k.Version
	if m := channel.FindStringSubmatch(version); m != nil {
		var err error
		if version, err = newest(ctx, k, d, "v"+m[1]+"."+m[2], m[3]); err != nil {
			return Release{}, err
		}
	}
	base := strings.TrimRight(cmp.Or(k.Source, d.source), "/") + "/" + url.PathEscape(version) + "/"
	r := Release{Version: version, URL: base + d.archive, Checksum: k.Checksum}
	if r.Checksum != "" {
		return r, nil
	}
	const sums = "sha256sum-amd64.txt"
	text, err := fetch(ctx, base+sums)
	var status *statusError
	switch {
	case errors.As(err, &status) && status.code == http.StatusNotFound:
		return r, fmt.Errorf("kubernetes.version: there is no release %s of %s at %s", version, d.name, cmp.Or(k.Source, d.source))
	case err != nil:
		return r, fmt.Errorf("kubernetes.version: read the checksum of %s: %w; without internet, give kubernetes.checksum and a kubernetes.source that the nodes reach", version, err)
	}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 && strings.TrimPrefix(f[1], "*") == d.archive && sha256Text.MatchString(f[0]) {
			r.Checksum = f[0]
			return r, nil
		}
	}
	return r, fmt.Errorf("kubernetes.version: %s names no checksum of %s", base+sums, d.archive)
}

// isMeantBy reports whether a version in a file, in full or in part, is this release.
func (r Release) isMeantBy(version string) bool {
	if channel.MatchString(version) {
		part := "v" + strings.TrimPrefix(version, "v")
		return strings.HasPrefix(r.Version, part+".") || strings.HasPrefix(r.Version, part+"+")
	}
	return version == r.Version
}

// newest is the newest release of a minor version, or the first one of a patch release.
func newest(ctx context.Context, k Kubernetes, d *distribution, minor, patch string) (string, error) {
	if patch != "" {
		return minor + patch + d.suffix + "1", nil
	}
	at := cmp.Or(k.Channels, d.channels)
	text, err := fetch(ctx, at)
	if err != nil {
		return "", fmt.Errorf("kubernetes.version: ask which release %s is: %w; without internet, give the release in full, such as %s.4%s1", strings.TrimPrefix(minor, "v"), err, minor, d.suffix)
	}
	var list struct {
		Data []struct{ ID, Latest string } `json:"data"`
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return "", fmt.Errorf("kubernetes.version: %s is no list of channels: %w", at, err)
	}
	var known []string
	for _, c := range list.Data {
		if c.ID == minor && c.Latest != "" {
			return c.Latest, nil
		}
		if channel.MatchString(c.ID) {
			known = append(known, strings.TrimPrefix(c.ID, "v"))
		}
	}
	slices.Sort(known)
	return "", fmt.Errorf("kubernetes.version: %s has no version %s; %s", d.name, strings.TrimPrefix(minor, "v"), suggest.DidYouMean(strings.TrimPrefix(minor, "v"), known))
}

// statusError is an answer that isn't what was asked for.
type statusError struct {
	url  string
	code int
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s answers %d %s", e.url, e.code, http.StatusText(e.code))
}

// fetch reads a small text from the internet.
func fetch(ctx context.Context, from string) (string, error) {
	const most, patience = 8 << 20, 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", &statusError{from, res.StatusCode}
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, most))
	return string(text), err
}
