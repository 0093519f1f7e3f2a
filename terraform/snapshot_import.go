package terraform

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/proxplane/proxplane/model"
)

var _ resource.ResourceWithImportState = (*snapshot)(nil)

// ImportState finds a snapshot of the set by the VMID of its machine and its name in Proxmox: 104/before-upgrade.
func (r *snapshot) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	if !r.ready(&resp.Diagnostics) {
		return
	}
	number, name, _ := strings.Cut(req.ID, "/")
	vmid, err := strconv.Atoi(number)
	if err != nil || name == "" {
		resp.Diagnostics.AddError("Nothing can be imported", "Want the VMID of the machine and the name of the snapshot, such as 104/before-upgrade.")
		return
	}
	info, owner, err := r.taken(ctx, vmid, name)
	if err != nil {
		resp.Diagnostics.AddError("Nothing can be imported", err.Error())
		return
	}
	text, _, _ := model.ParseDescription(info.Description)
	set := func(attribute string, value any) {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(attribute), value)...)
	}
	set("id", owner.Set+"/"+owner.Name)
	set("name", strings.TrimPrefix(owner.Name, number+"-"))
	set("vmid", int64(vmid))
	if text = strings.TrimRight(text, "\n"); text != "" {
		set("description", text)
	}
	if info.Memory {
		set("include_memory", true)
	}
}

// taken finds a snapshot that was taken for this set.
func (r *snapshot) taken(ctx context.Context, vmid int, name string) (info model.SnapshotInfo, owner model.Owner, err error) {
	wanted, diags := r.door.translate()
	if diags.HasError() {
		return info, owner, fmt.Errorf("%s: %s", diags[0].Summary(), diags[0].Detail())
	}
	s, err := r.door.opened(wanted.Connection)
	if err != nil {
		return info, owner, err
	}
	list, err := snapshotsOf(ctx, s, vmid)
	if err != nil {
		return info, owner, err
	}
	for _, i := range list {
		if i.Name != name {
			continue
		}
		_, m, ok := model.ParseDescription(i.Description)
		if !ok || m.Owner.Door != Door || m.Owner.Set != r.door.config.set || m.Owner.Kind != snapshotKind {
			return info, owner, fmt.Errorf("snapshot %s of VM %d wasn't taken by a proxplane_snapshot of set %s, and stays whose it is. Take one of your own", name, vmid, r.door.config.set)
		}
		return i, m.Owner, nil
	}
	return info, owner, fmt.Errorf("VM %d has no snapshot %s", vmid, name)
}
