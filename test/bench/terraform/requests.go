package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/test/kit/outside"
)

// What tells one request from another of the same kind.
var (
	nodeName = regexp.MustCompile(`/nodes/[^/]+`)
	taskName = regexp.MustCompile(`/UPID[^/]*`)
	number   = regexp.MustCompile(`/\d+`)
)

// listRequests prints how often each kind of request was made after the nth.
func listRequests(ctx context.Context, sim *outside.Sim, after int) error {
	list, err := sim.Requests(ctx, after)
	if err != nil {
		return err
	}
	counts := map[string]int{}
	var kinds []string
	for _, r := range list {
		path, _, _ := strings.Cut(strings.TrimPrefix(r.URL, "/api2/json"), "?")
		path = nodeName.ReplaceAllString(number.ReplaceAllString(taskName.ReplaceAllString(path, "/UPID"), "/ID"), "/nodes/NODE")
		kind := r.Method + " " + path
		if counts[kind]++; counts[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	slices.SortFunc(kinds, func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
	for _, k := range kinds {
		fmt.Fprintf(os.Stderr, "%7d %s\n", counts[k], k)
	}
	return nil
}
