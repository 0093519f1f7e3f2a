package act

import (
	"context"
	"errors"
	"fmt"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// makeShare makes a directory mapping, or changes it if none of them has changed
// since it was seen.
func makeShare(ctx context.Context, c *pve.Client, s model.MakeShare) error {
	var entries []string
	for _, node := range s.Nodes {
		entries = append(entries, fmt.Sprintf("node=%s,path=%s", node, s.Path))
	}
	if s.New {
		return c.Mapping().CreateDir(ctx, pve.NewDirMapping{ID: s.Name, Description: model.ShareNote(s.Maker), Map: entries})
	}
	return c.Mapping().SetDir(ctx, s.Name, pve.DirMappingChange{Map: entries, Digest: s.Digest})
}

// removeShare removes a directory mapping that is ours. Proxmox would remove any,
// used or not.
func removeShare(ctx context.Context, c *pve.Client, s model.RemoveShare) error {
	dir, err := c.Mapping().Dir(ctx, s.Name)
	switch {
	case errors.Is(err, pve.ErrNotFound):
		return nil // somebody was quicker
	case err != nil:
		return fmt.Errorf("read whose it is: %w", err)
	}
	if maker, made := model.ParseShareNote(dir.Description); !made || maker != s.Maker {
		return fmt.Errorf("its description doesn't name %s as its owner: %w", s.Maker, ErrNotOurs)
	}
	return c.Mapping().DeleteDir(ctx, s.Name)
}
