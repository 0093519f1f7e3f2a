package observe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// containerOf returns the container that has a VMID; nil: none has.
func (o *Observer) containerOf(vmid int) *model.Guest {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if g := o.have.Guests[vmid]; g != nil && g.Container {
		return g
	}
	return nil
}

// container reads the addresses of a container.
func (o *Observer) container(ctx context.Context, g *model.Guest) error {
	settings, err := o.client.Container(g.Node, g.VMID).Config(ctx)
	if errors.Is(err, pve.ErrNotFound) {
		return o.Refresh(ctx, 0)
	}
	if err != nil {
		return fmt.Errorf("read the config of container %d on %s: %w", g.VMID, g.Node, err)
	}
	options := map[string]string{}
	for key, value := range settings {
		if n, ok := strings.CutPrefix(key, "net"); ok {
			options["ipconfig"+n] = value // which says ip, gw, ip6 and gw6 in the same way
		}
	}
	o.change(g.VMID, func(r *record) {
		r.config, r.configAt = &model.Config{Options: options, Tags: r.listed.Tags}, time.Now()
		r.name, r.lock, r.template = r.listed.Name, r.listed.Lock, r.listed.Template
	})
	return nil
}
