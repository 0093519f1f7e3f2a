package model

import "strings"

// URLState is what a node says of a file that it is to fetch. The zero value: it can be
// fetched, or that isn't known.
type URLState struct {
	Missing     string // the server has no such file, and says so
	Unreachable string // why the node gets no answer
	Size        int64  // in bytes; 0: the server doesn't say

	// Of this process only, which looks at the first bytes:
	Format    string // of the disk image
	Disk      int64  // how large the disk in it is; 0: not known
	Wrong     string // why it can't be used
	Elsewhere string // the host that the server has sent us to
}

// URLKey is how a URL is known that a node is asked about; node "" is this process.
func URLKey(node, url string) string { return node + " " + url }

// ParseURLKey takes such a key apart.
func ParseURLKey(key string) (node, url string) {
	node, url, _ = strings.Cut(key, " ")
	return node, url
}
