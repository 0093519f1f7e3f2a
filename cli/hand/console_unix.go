//go:build unix

package hand

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// onResize calls a function whenever the terminal's size changes, until ctx
// ends.
func onResize(ctx context.Context, changed func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	go func() {
		defer signal.Stop(signals)
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
				changed()
			}
		}
	}()
}
