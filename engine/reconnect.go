package engine

import (
	"context"
	"time"

	"github.com/proxplane/proxplane/act"
)

const (
	// reconnectFor is how long a plan waits for a Proxmox that has answered before and can't be reached now: pveproxy takes a
	// few seconds to restart.
	reconnectFor = 20 * time.Second
	// reconnectPause is the time between two tries.
	reconnectPause = time.Second
)

// reconnecting reads for a plan, and reads again while a Proxmox that has answered before can't be reached. Without an
// answer before, the address or the network is wrong, and the error is returned at once.
func (e *Engine) reconnecting(ctx context.Context, read func() error) error {
	for end := time.Now().Add(reconnectFor); ; {
		err := read()
		if !act.Unreachable(err) || !e.observer.Answered() || !time.Now().Before(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(reconnectPause):
		}
	}
}
