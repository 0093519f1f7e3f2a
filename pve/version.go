package pve

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Version is the version of Proxmox VE on the node that answered.
type Version struct {
	Version string `json:"version"` // 9.2.11
	Release string `json:"release"` // 9.2
	RepoID  string `json:"repoid"`
}

// Version asks for the version of the endpoint's node.
func (c *Client) Version(ctx context.Context) (Version, error) {
	return get[Version](ctx, c, nil, "/version")
}

// Major returns the first number of the release; 0 if it can't be read.
func (v Version) Major() int { major, _ := v.numbers(); return major }

// Minor returns the second number of the release; 0 if it can't be read.
func (v Version) Minor() int { _, minor := v.numbers(); return minor }

// AtLeast reports whether this is release major.minor or a later one.
func (v Version) AtLeast(major, minor int) bool {
	a, b := v.numbers()
	return a > major || a == major && b >= minor
}

func (v Version) numbers() (major, minor int) {
	text := v.Release
	if text == "" {
		text = v.Version
	}
	parts := strings.SplitN(text, ".", 3)
	major, _ = strconv.Atoi(parts[0])
	if len(parts) > 1 {
		minor, _ = strconv.Atoi(parts[1])
	}
	return major, minor
}

func (v Version) String() string {
	if v.RepoID == "" {
		return v.Version
	}
	return fmt.Sprintf("%s (%s)", v.Version, v.RepoID)
}
