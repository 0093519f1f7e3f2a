package karpenter

import (
	"context"
	"fmt"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
)

// noCluster is for translations that only tell what is wrong.
var noCluster = spec.Cluster{Name: "any", Defaults: spec.Defaults{Storage: "any", Bridge: "vmbr0"}}

// storageFor chooses the storage for the disk of a template: the first of some that can hold disks and is on most nodes. If none can, it says
// why, and what to do. The error says that Proxmox can't be asked.
func storageFor(ctx context.Context, r *Region, ids []string) (name, why string, err error) {
	err = r.Site.View(ctx, func(have *model.Observed) { name, why = pickStorage(have, ids) })
	if err != nil {
		err = fmt.Errorf("ask Proxmox for its storages: %w", err)
	}
	return name, why, err
}

func pickStorage(have *model.Observed, ids []string) (name, why string) {
	var no []string
	imports := false
	for _, s := range have.Storages {
		imports = imports || s.Content["import"]
	}
	best := 0
	for _, id := range ids {
		s := have.Storages[id]
		switch {
		case s == nil:
			no = append(no, fmt.Sprintf("there is no storage %s, or this login may not see it", id))
		case !s.Content["images"]:
			no = append(no, fmt.Sprintf("storage %s holds no disks of VMs: add the content images to it, or name another one in spec.storageIDs", id))
		case len(s.OnNode) > best:
			name, best = id, len(s.OnNode)
		}
	}
	switch {
	case name == "" && len(no) == 0:
		return "", "no storage of spec.storageIDs is active on any node: see Datacenter > Storage in Proxmox"
	case name == "":
		return "", strings.Join(no, "; ")
	case !imports && have.AtLeast(8, 4):
		return "", "no storage holds images to import: add the content import to one, such as local"
	}
	return name, ""
}
