package sim

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/pvesim"
)

// Kinds counts requests by what they ask, whichever guest, node and task they are about.
type Kinds map[string]int

var someID = regexp.MustCompile(`/(UPID(:|%3A)[^/]*|local%3A[^?]*|\d+|pve\d+)|\?.*`)

// KindsOf counts requests.
func KindsOf(requests []pvesim.Request) Kinds {
	count := Kinds{}
	for _, r := range requests {
		count[r.Method+" "+someID.ReplaceAllString(strings.TrimPrefix(r.URL, "/api2/json"), "/N")]++
	}
	return count
}

// String lists the kinds, a line each, the most frequent first.
func (k Kinds) String() string {
	var b strings.Builder
	for _, kind := range slices.SortedFunc(maps.Keys(k), func(a, b string) int { return cmp.Or(k[b]-k[a], cmp.Compare(a, b)) }) {
		fmt.Fprintf(&b, "%5d %s\n", k[kind], kind)
	}
	return b.String()
}
