package observe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pve/prop"
)

// Dirs reads the directory mappings, and each node's check of them: only the node itself
// knows whether its directories exist.
func (o *Observer) Dirs(ctx context.Context) error {
	var nodes []string
	o.View(func(have *model.Observed) {
		for name, n := range have.Nodes {
			if n.Online {
				nodes = append(nodes, name)
			}
		}
	})
	dirs := map[string]model.Dir{}
	var mu sync.Mutex
	var errs []error
	var all sync.WaitGroup
	for _, node := range nodes {
		all.Go(func() {
			list, err := o.client.Mapping().Dirs(ctx, node)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, pve.ErrNodeUnreachable):
				o.nodeAway(node)
			case err != nil:
				errs = append(errs, fmt.Errorf("list the directory mappings on %s: %w", node, err))
			}
			for _, m := range list {
				takeDir(dirs, node, m)
			}
		})
	}
	all.Wait()
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.have.Dirs = dirs
	return nil
}

// takeDir adds what a node says of a mapping.
func takeDir(dirs map[string]model.Dir, node string, m pve.DirMapping) {
	d, known := dirs[m.ID]
	if !known {
		maker, made := model.ParseShareNote(m.Description)
		d = model.Dir{Made: made, Maker: maker, Paths: map[string]string{}, Bad: map[string]string{}, Digest: m.Digest}
		for _, entry := range m.Map {
			l, err := prop.ParseList(entry)
			if err != nil {
				continue // nobody can use it
			}
			on, _ := l.Get("node")
			d.Paths[on], _ = l.Get("path")
		}
	}
	for _, c := range m.Checks {
		if c.Severity == "error" {
			d.Bad[node] = strings.TrimSpace(strings.TrimPrefix(c.Message, "Invalid configuration:"))
		}
	}
	dirs[m.ID] = d
}
