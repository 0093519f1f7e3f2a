package terraform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/status"
)

// machinesAttribute is the attribute machines.
func machinesAttribute() schema.Attribute {
	return schema.ListNestedAttribute{Computed: true, Description: "The machines as they are in Proxmox.", NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
		"name":          schema.StringAttribute{Computed: true, Description: "Its name."},
		"vmid":          schema.Int64Attribute{Computed: true, Description: "Its VMID."},
		"node":          schema.StringAttribute{Computed: true, Description: "The node that it is on."},
		"state":         schema.StringAttribute{Computed: true, Description: "running, stopped, paused or unknown."},
		"mac_addresses": schema.ListAttribute{Computed: true, ElementType: types.StringType, Description: "Of its network interfaces, the first one first."},
		"addresses":     schema.ListAttribute{Computed: true, ElementType: types.StringType, Description: "Its addresses, as its guest agent reported them when it was applied last."},
	}}}
}

// aMachine is one of the machines of a resource, as the attribute machines has it.
type aMachine struct {
	Name      types.String `tfsdk:"name"`
	VMID      types.Int64  `tfsdk:"vmid"`
	Node      types.String `tfsdk:"node"`
	State     types.String `tfsdk:"state"`
	MACs      types.List   `tfsdk:"mac_addresses"`
	Addresses types.List   `tfsdk:"addresses"`
}

// foreseen is what is known of the machines before anything is done: what is planned for, and of what
// stays what was known. goesOn: they weren't finished yet.
func foreseen(owners []model.Owner, vms []model.VM, objects []plan.Object, was []aMachine, goesOn bool) []aMachine {
	will := []aMachine{}
	for _, owner := range owners {
		m := aMachine{Name: types.StringValue(owner.Name), VMID: types.Int64Unknown(), Node: types.StringUnknown(), State: types.StringUnknown(), MACs: types.ListUnknown(types.StringType), Addresses: types.ListUnknown(types.StringType)}
		at := slices.IndexFunc(objects, func(o plan.Object) bool { return o.Owner == owner })
		before := slices.IndexFunc(was, func(o aMachine) bool { return o.Name.ValueString() == owner.Name })
		if at >= 0 && objects[at].VMID != 0 {
			m.VMID = types.Int64Value(int64(objects[at].VMID))
		}
		var said []string
		waits := false
		if wanted := slices.IndexFunc(vms, func(v model.VM) bool { return v.Owner == owner }); wanted >= 0 && at >= 0 {
			said, waits = macs(vms[wanted]), vms[wanted].WaitAddress
			if another := vms[wanted].VMID; another != 0 && slices.ContainsFunc(objects[at].Steps, func(s plan.Step) bool { return s.Effect == plan.Replace }) {
				m.VMID = types.Int64Value(int64(another))
			}
			if m.VMID.IsUnknown() && beingMade(objects[at]) {
				m.VMID = types.Int64Value(int64(cmp.Or(vms[wanted].VMID, vms[wanted].Remembered, firstChoice(vms[wanted]))))
			}
			m.MACs, m.Node = decided(vms[wanted], objects[at])
		}
		if at >= 0 && before >= 0 && was[before].VMID.Equal(m.VMID) {
			m = kept(m, was[before], objects[at].Steps, said)
			if waits && len(was[before].Addresses.Elements()) == 0 && (goesOn || len(objects[at].Steps) > 0) {
				m.Addresses = types.ListUnknown(types.StringType) // applying waits for them
			}
		}
		will = append(will, m)
	}
	return will
}

// decided is what is certain of a machine that is to be made before it is there: its MAC addresses, which follow from its owner
// where nobody says otherwise, and its node, if it may be on one only.
func decided(v model.VM, o plan.Object) (addresses types.List, node types.String) {
	addresses, node = types.ListUnknown(types.StringType), types.StringUnknown()
	if !beingMade(o) && !slices.ContainsFunc(o.Steps, func(s plan.Step) bool { return model.FactsOf(s.Action).Makes }) {
		return addresses, node
	}
	if list := macs(v); len(list) > 0 {
		addresses = texts(list)
	}
	if len(v.Place.Nodes) == 1 && (o.Node == v.Place.Nodes[0] || beingMade(o)) {
		node = types.StringValue(v.Place.Nodes[0])
	}
	return addresses, node
}

// beingMade reports whether a guest has the VMID of a machine and doesn't say yet whose it is: likely another process makes the machine. What
// was known of it before is so still, since Terraform holds the provider to what it planned.
func beingMade(o plan.Object) bool {
	return o.VMID == 0 && o.Wait != nil && o.Wait.Reason == model.WaitOwner
}

// macs are the MAC addresses that a machine is to have, in the order of slots, as Proxmox has them; nil: they aren't all said.
func macs(v model.VM) (list []string) {
	nics := slices.Clone(v.NICs)
	slices.SortFunc(nics, func(a, b model.NIC) int { return model.CompareNames(a.Slot, b.Slot) })
	for _, n := range nics {
		if n.MAC == "" {
			return nil
		}
		list = append(list, n.MAC)
	}
	return list
}

// kept is what is known of a machine that is there, but for what steps may change. Its interfaces may change and keep the MAC
// addresses that are said.
func kept(m, was aMachine, steps []plan.Step, said []string) aMachine {
	nics, node, power := true, true, true
	for _, s := range steps {
		switch s.Effect {
		case plan.New, plan.Replace:
			nics, node, power = false, false, false
		case plan.Moves:
			node = false
		case plan.Live, plan.Later, plan.Partly:
		default:
			power = false
		}
		for _, d := range s.Diff {
			nics = nics && !strings.HasPrefix(d.Field, "net")
			power = power && d.Field != model.FieldPower
		}
		_, starts := s.Action.(model.Start)
		power = power && !starts
	}
	if nics || len(said) > 0 && texts(said).Equal(was.MACs) {
		m.MACs = was.MACs
	}
	if node {
		m.Node = was.Node
	}
	if power {
		m.State = was.State
	}
	if power && nics {
		m.Addresses = was.Addresses
	}
	return m
}

// remember has machines keep to the VMIDs that the plan has shown, unless others have taken them since.
func remember(ctx context.Context, w *part, planned tfsdk.Plan) diag.Diagnostics {
	var shown []aMachine
	diags := planned.GetAttribute(ctx, path.Root("machines"), &shown)
	vms := w.wanted.Desired.VMs
	for i := range vms {
		for _, m := range shown {
			if id := int(m.VMID.ValueInt64()); m.Name.ValueString() == vms[i].Owner.Name && vms[i].VMID == 0 && id != 0 && id != firstChoice(vms[i]) {
				vms[i].Remembered = id
			}
		}
	}
	return diags
}

// firstChoice is the VMID that a machine gets unless somebody has it.
func firstChoice(v model.VM) int {
	for id := range v.Owner.Candidates(v.Range) {
		return id
	}
	return 0
}

// found are the machines as they are in Proxmox; those that aren't there are left out.
func found(ctx context.Context, s *site.Site, owners []model.Owner) ([]aMachine, error) {
	list := []aMachine{}
	for _, o := range owners {
		m, err := powered(ctx, s, o)
		switch {
		case errors.Is(err, site.ErrNotFound):
			continue
		case err != nil:
			return nil, err
		}
		list = append(list, seen(o.Name, m.Guest))
	}
	return list, nil
}

// powered is a machine with its power state. The cluster's list is late with it: a guest that was just made by hand is unknown there, and
// its node is asked.
func powered(ctx context.Context, s *site.Site, o model.Owner) (site.Machine, error) {
	m, err := s.Read(ctx, o)
	if err != nil || m.Guest.Status != model.StatusUnknown {
		return m, err
	}
	if err := s.Observer().PowersSince(ctx, time.Now(), m.Guest.VMID); err != nil {
		return m, err
	}
	return s.Read(ctx, o)
}

// refreshed are the machines as they are in Proxmox. Of those that the lists are enough for, the MAC addresses are
// what they were.
func refreshed(ctx context.Context, s *site.Site, owners []model.Owner, objects []plan.Object, was []aMachine) ([]aMachine, error) {
	guests, half := map[model.Owner]*model.Guest{}, map[model.Owner]bool{}
	err := s.View(ctx, func(have *model.Observed) {
		for _, o := range objects {
			g := have.Guests[o.VMID]
			if g != nil && g.Config == nil {
				guests[o.Owner] = g
			}
			blocked := o.Wait != nil && o.Wait.Reason.Blocks()
			half[o.Owner] = g != nil && !blocked && !slices.ContainsFunc(o.Steps, func(s plan.Step) bool { return model.FactsOf(s.Action).Makes })
		}
	})
	if err != nil {
		return nil, err
	}
	before := map[string]aMachine{}
	for _, m := range was {
		before[m.Name.ValueString()] = m
	}
	list := []aMachine{}
	for _, o := range owners {
		m, known := before[o.Name]
		if g := guests[o]; g != nil && known && m.VMID.ValueInt64() == int64(g.VMID) {
			now := types.StringValue(status.GuestState(g.Status, "", true))
			if !now.Equal(m.State) {
				m.Addresses = texts(nil)
			}
			m.Node, m.State = types.StringValue(g.Node), now
			list = append(list, m)
			continue
		}
		one, err := found(ctx, s, []model.Owner{o})
		if err != nil {
			return nil, err
		}
		if len(one) == 0 && known && half[o] {
			one = []aMachine{m} // its creation was interrupted, and its notes don't say yet whose it is
		}
		list = append(list, one...)
	}
	return list, nil
}

// seen is a machine as it is in Proxmox.
func seen(name string, g *model.Guest) aMachine {
	macs := make([]string, len(g.Config.NICs))
	for i, n := range g.Config.NICs {
		macs[i] = n.MAC
	}
	return aMachine{
		Name: types.StringValue(name), VMID: types.Int64Value(int64(g.VMID)), Node: types.StringValue(g.Node),
		State: types.StringValue(status.GuestState(g.Status, "", true)), MACs: texts(macs), Addresses: texts(status.Addresses(g.Addresses)),
	}
}

// texts is a list of texts.
func texts(list []string) types.List {
	values, _ := types.ListValueFrom(context.Background(), types.StringType, append([]string{}, list...)) // texts are texts
	return values
}

// asPlanned has machines be what the plan has shown of them. What has changed since, such as an address, is seen by the next refresh.
func asPlanned(ctx context.Context, list []aMachine, state tfsdk.State) diag.Diagnostics {
	var shown types.List
	var planned []aMachine
	diags := state.GetAttribute(ctx, path.Root("machines"), &shown)
	if diags.HasError() || shown.IsUnknown() {
		return diags
	}
	diags.Append(shown.ElementsAs(ctx, &planned, false)...)
	for i := range list {
		m := &list[i]
		for _, p := range planned {
			if !p.Name.Equal(m.Name) || p.VMID.IsUnknown() {
				continue
			}
			if !p.VMID.Equal(m.VMID) { // Terraform would call it a defect of the provider, and destroy the machine next time
				diags.AddError(m.Name.ValueString()+" has another VMID than planned", fmt.Sprintf("Since the plan was made, somebody else has taken VMID %d. The machine is VM %d, and is as it should be. Apply again: "+
					"that takes it into the state as it is.", p.VMID.ValueInt64(), m.VMID.ValueInt64()))
				continue
			}
			m.Node, m.State = known(p.Node, m.Node), known(p.State, m.State)
			m.MACs, m.Addresses = known(p.MACs, m.MACs), known(p.Addresses, m.Addresses)
		}
	}
	return diags
}

// known is a value as it was planned, or as it is if that wasn't known.
func known[T attr.Value](planned, is T) T {
	if planned.IsUnknown() || planned.IsNull() {
		return is
	}
	return planned
}

// keepAddresses has machines that run keep the addresses that were reported: agents are asked when
// something is applied, not whenever somebody looks.
func keepAddresses(list, was []aMachine) {
	for i, m := range list {
		for _, before := range was {
			if before.VMID.Equal(m.VMID) && m.State.Equal(before.State) && len(m.Addresses.Elements()) == 0 {
				list[i].Addresses = before.Addresses
			}
		}
	}
}
