package model

import "strings"

// URLState is what a node reports about a file to fetch. The zero value: it can be fetched,
// or that isn't known.
type URLState struct {
	Missing     string // the server has no such file, and says so
	Unreachable string // why the node gets no answer
	Size        int64  // in bytes; 0: the server doesn't say

	// Only from this process, which reads the first bytes:
	Format    string // of the disk image
	Disk      int64  // how large the disk in it is; 0: not known
	Wrong     string // why it can't be used
	Elsewhere string // the host that the server has sent us to
	Plain     bool   // there without TLS, though the URL is of HTTPS
}

// URLKey returns the key of a URL and the node that checks it; node "" is this process.
func URLKey(node, url string) string { return node + " " + url }

// ParseURLKey parses such a key.
func ParseURLKey(key string) (node, url string) {
	node, url, _ = strings.Cut(key, " ")
	return node, url
}
