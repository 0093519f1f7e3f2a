package terraform

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/proxplane/proxplane/model"
)

var _ resource.ResourceWithMoveState = (*machine)(nil)

// MoveState takes machines over from resources of other providers, by moved blocks: from = proxmox_vm_qemu.web,
// to = proxplane_virtual_machine.web. It asks nobody: the machine is looked at when the resource is
// read, and adopted when it is applied, as an imported one.
func (r *machine) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{StateMover: r.moved}}
}

// formerState is what is read from the state of another provider's machine.
type formerState struct {
	Name   string `json:"name"`
	ID     string `json:"id"`    // Telmate's: pve1/qemu/104
	VMID   int    `json:"vmid"`  // Telmate's proxmox_vm_qemu has it where its configuration said so
	VMIDOf int    `json:"vm_id"` // bpg's proxmox_virtual_environment_vm
}

// vmid is the VMID of the machine; 0: the state names none.
func (s formerState) vmid() int {
	ofID, _ := strconv.Atoi(s.ID[strings.LastIndex(s.ID, "/")+1:])
	return cmp.Or(s.VMID, s.VMIDOf, max(ofID, 0))
}

func (r *machine) moved(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
	if r.of != "VirtualMachine" || req.SourceRawState == nil || req.SourceTypeName != "proxmox_vm_qemu" && req.SourceTypeName != "proxmox_virtual_environment_vm" {
		return // the framework says that it can't be moved
	}
	var was formerState
	if err := json.Unmarshal(req.SourceRawState.JSON, &was); err != nil {
		resp.Diagnostics.AddError("The former state can't be read", err.Error())
		return
	}
	vmid := was.vmid()
	if vmid == 0 {
		resp.Diagnostics.AddError("The former state names no VM", fmt.Sprintf("The state of the %s has no VMID.", req.SourceTypeName))
		return
	}
	bare, err := valueOf(r.fields, resp.TargetState.Schema.Type().TerraformType(ctx), map[string]any{"name": strings.ToLower(was.Name), "vmid": vmid})
	if err != nil {
		resp.Diagnostics.AddError("The former state can't be taken over", err.Error())
		return
	}
	resp.TargetState.Raw = bare
	resp.Diagnostics.Append((&pending{VMID: vmid, Called: was.Name}).keep(ctx, resp.TargetPrivate)...)
}

// arrive writes down a machine whose resource was moved from another provider's, as an import does. It reports
// false if there is nothing more to be read.
func (r *machine) arrive(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) bool {
	p, diags := readPending(ctx, req.Private)
	if resp.Diagnostics.Append(diags...); p == nil || p.Origin != "" || diags.HasError() {
		return !diags.HasError()
	}
	s, networks, ok := r.open(&resp.Diagnostics)
	if !ok {
		return false
	}
	var g *model.Guest
	err := s.View(ctx, func(have *model.Observed) { g = have.Guests[p.VMID] })
	if err == nil && g == nil {
		resp.State.RemoveResource(ctx)
		return false
	}
	if err == nil {
		if err := noMachine(g); err != nil {
			resp.Diagnostics.AddError("It can't be moved here", fmt.Sprintf("%v. Leave it to its provider: take the moved block out.", err))
			return false
		}
		err = s.Observer().Examine(ctx, p.VMID)
	}
	if err != nil {
		resp.Diagnostics.AddError(failure(err))
		return false
	}
	if g = s.Observer().Snapshot().Guests[p.VMID]; g == nil || g.Config == nil || !p.is(g) {
		resp.Diagnostics.AddError("Another machine has the VMID", fmt.Sprintf("The former provider's state says that VM %d is %s, and in Proxmox it is called otherwise. Import the one that is meant instead.", p.VMID, p.Called))
		return false
	}
	r.write(ctx, s, networks, []int{g.VMID}, &resp.State, resp.Private, &resp.Diagnostics)
	return !resp.Diagnostics.HasError()
}
