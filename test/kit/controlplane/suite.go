package controlplane

import (
	"context"
	"fmt"
	"os"
)

// Suite runs tests that share a control plane, and is the status that their process ends with. Begin gets the control plane ready,
// with a folder for files that is gone in the end. Where no Kubernetes is built yet nothing runs, except in CI.
func Suite(begin func(ctx context.Context, p *Plane, dir string) error, tests func() int) int {
	ctx := context.Background()
	failed := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	programs, err := Programs(ctx)
	if err != nil {
		return failed(err)
	}
	if !programs.Built() && os.Getenv("CI") == "" {
		fmt.Fprintln(os.Stderr, "SKIPPED: the Kubernetes to test with isn't built yet; make controlplane does it once, in some minutes")
		return 0
	}
	dir, err := os.MkdirTemp("", "proxplane-suite")
	if err != nil {
		return failed(err)
	}
	defer os.RemoveAll(dir)
	p, err := Start(ctx, dir)
	if err != nil {
		return failed(err)
	}
	defer p.Stop()
	if err := begin(ctx, p, dir); err != nil {
		return failed(err)
	}
	return tests()
}
