package cluster

import (
	"context"
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/manifest/draft"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec/export"
)

// Manifests returns the machines of a cluster as VirtualMachines of the vm door, with the commands that
// hand them over.
func (c *Cluster) Manifests(ctx context.Context) (string, error) {
	have, err := c.examine(ctx)
	if err != nil {
		return "", err
	}
	docs := &draft.Documents{}
	for _, m := range c.Members {
		g := have.Guests[m.Guest.VMID]
		owner := model.Owner{Door: manifest.Door, Set: c.Name, Key: model.Key{Kind: "VirtualMachine", Name: m.Name}}
		e, err := export.Of(have, released(g), owner, nil)
		if err != nil {
			return "", fmt.Errorf("VM %d (%s) can't be described by a manifest: %w", g.VMID, g.Name, err)
		}
		if export.Changes(e.Object) > 0 {
			return "", fmt.Errorf("VM %d (%s) can't be described by a manifest as it is", g.VMID, g.Name)
		}
		docs.Merge(draft.Machine(g, e))
	}
	return fmt.Sprintf(`# The machines of cluster %[1]s as VirtualMachines. With this in %[1]s.yaml, these commands
# hand them over; the machines run on, and "proxplane cluster" no longer knows them:
#   proxplane release %[2]s
#   proxplane import %[2]s --adopt -f %[1]s.yaml
#   proxplane plan -f %[1]s.yaml
`, c.Name, strings.Join(names(c.Members), " ")) + docs.Text(), nil
}

// examine reads all about the machines of a cluster.
func (c *Cluster) examine(ctx context.Context) (*model.Observed, error) {
	var ids []int
	for _, m := range c.Members {
		ids = append(ids, m.Guest.VMID)
	}
	if err := c.site.Observer().Examine(ctx, ids...); err != nil {
		return nil, err
	}
	return c.site.Observer().Snapshot(), nil
}

// released is a machine as it is once the cluster has let go of it.
func released(g *model.Guest) *model.Guest {
	free, config := *g, *g.Config
	config.Marker, config.Tags = nil, export.VisibleTags(config.Tags)
	free.Config, free.Tags = &config, config.Tags
	return &free
}
