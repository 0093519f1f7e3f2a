package terraform

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/proxplane/proxplane/manifest/draft"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/spec"
	"github.com/proxplane/proxplane/spec/export"
)

var _ resource.ResourceWithImportState = (*machine)(nil)

// ImportState writes down a guest as a resource that wants it as it is. Nothing is changed in Proxmox: the guest
// is adopted when the resource is applied.
func (r *machine) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	if !r.ready(&resp.Diagnostics) {
		return
	}
	if r.of != "VirtualMachine" {
		resp.Diagnostics.AddError("A clone can't be imported", "What a machine was copied from isn't known any more: import it as a proxplane_virtual_machine.")
		return
	}
	s, networks, ok := r.open(&resp.Diagnostics)
	if !ok {
		return
	}
	var ids []int
	for _, id := range strings.Split(req.ID, ",") {
		g, err := guestCalled(ctx, s, strings.TrimSpace(id))
		if err == nil && slices.Contains(ids, g.VMID) {
			err = fmt.Errorf("VM %d is named twice", g.VMID)
		}
		if err != nil {
			resp.Diagnostics.AddError("Nothing can be imported", err.Error())
			return
		}
		ids = append(ids, g.VMID)
	}
	r.write(ctx, s, networks, ids, &resp.State, resp.Private, &resp.Diagnostics)
}

// write writes a guest down as a resource that wants it as it is, and that it is to be adopted if it isn't ours. Several are
// replicas, which are wanted as the first one is.
func (r *machine) write(ctx context.Context, s *site.Site, networks spec.Networks, ids []int, state *tfsdk.State, in private, diags *diag.Diagnostics) {
	if err := s.Observer().Examine(ctx, ids...); err != nil {
		diags.AddError("Nothing can be imported", err.Error())
		return
	}
	have := s.Observer().Snapshot()
	var guests []*model.Guest
	for _, id := range ids {
		guests = append(guests, have.Guests[id])
	}
	g := guests[0]
	owner := model.Owner{Door: Door, Set: r.door.config.set, Key: model.Key{Kind: "VirtualMachine", Name: stem(guests)}}
	e, err := export.Of(have, g, owner, networks)
	if err != nil {
		diags.AddError("Nothing can be imported", fmt.Sprintf("VM %d is what no resource can say: %v", g.VMID, err))
		return
	}
	said, err := draft.Resource(draft.Machine(g, e)).Values()
	if err == nil {
		alike(said, ids)
		state.Raw, err = valueOf(r.fields, state.Schema.Type().TerraformType(ctx), said)
	}
	if err != nil {
		diags.AddError("Nothing can be imported", err.Error())
		return
	}
	diags.Append(omissions(g, e)...)
	diags.Append(state.SetAttribute(ctx, path.Root("id"), owner.Set+"/"+owner.Name)...)
	if was := g.Config.Marker; len(guests) > 1 || was == nil || was.Owner != owner {
		diags.Append(pendingOf(guests...).keep(ctx, in)...)
	} else {
		diags.Append(forgetPending(ctx, in)...)
	}
}

// stem is the name of the resource that some guests are machines of: web for web-1, web-2 and so on.
func stem(guests []*model.Guest) string {
	name := export.NameOf(guests[0])
	for i, g := range guests {
		if before, numbered := strings.CutSuffix(export.NameOf(g), fmt.Sprintf("-%d", i+1)); len(guests) == 1 || !numbered || i > 0 && before != name {
			return export.NameOf(guests[0])
		} else if i == 0 {
			name = before
		}
	}
	return name
}

// alike takes out of what is said about one machine what can't be said about several.
func alike(said map[string]any, ids []int) {
	if len(ids) == 1 {
		return
	}
	all := make([]any, len(ids))
	for i, id := range ids {
		all[i] = id
	}
	said["count"], said[takenOver], said[vmidsOf] = len(ids), true, all
	delete(said, "vmid")
	delete(said, "guestName")
	nets, _ := said["networks"].([]any)
	for _, n := range nets {
		if net, ok := n.(map[string]any); ok {
			delete(net, "mac")
		}
	}
}

// open is the Proxmox of the provider, with the networks that it names.
func (r *machine) open(diags *diag.Diagnostics) (*site.Site, spec.Networks, bool) {
	wanted, more := r.door.translate()
	if diags.Append(more...); diags.HasError() {
		return nil, nil, false
	}
	s, err := r.door.opened(wanted.Connection)
	if err != nil {
		diags.AddError(failure(err))
		return nil, nil, false
	}
	return s, wanted.Networks, true
}

// omissions says what of a guest its resource doesn't say.
func omissions(g *model.Guest, e export.Machine) (diags diag.Diagnostics) {
	var left, lost []string
	for _, key := range slices.Sorted(maps.Keys(e.Omitted)) {
		left = append(left, key+": "+e.Omitted[key])
	}
	for _, key := range slices.Sorted(maps.Keys(e.Lost)) {
		lost = append(lost, key+": "+strings.Join(strings.Fields(e.Lost[key]), " "))
	}
	if len(left) > 0 {
		diags.AddWarning(fmt.Sprintf("Not all of VM %d can be said", g.VMID), "Left out, and so left as they are:\n"+strings.Join(left, "\n"))
	}
	if len(lost) > 0 {
		diags.AddWarning(fmt.Sprintf("VM %d made anew would be another one", g.VMID), "The resource says what the machine is, and not how it came to be. One that is made anew from it is without:\n"+strings.Join(lost, "\n"))
	}
	return diags
}

// private is the part of a state that nobody sees.
type private interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// pending is a guest that was imported and isn't ours yet: its notes don't say so.
type pending struct {
	VMID   int    `json:"vmid"`
	Origin string `json:"origin"` // tells it from another one that has its VMID later; empty: it was moved here, and not looked at yet
	// Called is the name that the state of another provider has of it, for as long as it wasn't looked at.
	Called string `json:"called,omitempty"`
	// More are those of the replicas after the first.
	More []pending `json:"more,omitempty"`
}

const pendingKey = "import"

func pendingOf(guests ...*model.Guest) *pending {
	var all []pending
	for _, g := range guests {
		all = append(all, pending{VMID: g.VMID, Origin: model.OriginOf(g.VMID, g.Config.Options)})
	}
	all[0].More = all[1:]
	return &all[0]
}

// all are the guests, the first one first.
func (p *pending) all() []pending { return append([]pending{*p}, p.More...) }

func (p *pending) vmids() (ids []int) {
	for _, one := range p.all() {
		ids = append(ids, one.VMID)
	}
	return ids
}

// keep writes it down.
func (p *pending) keep(ctx context.Context, in private) diag.Diagnostics {
	b, _ := json.Marshal(p) // which has nothing but texts and numbers
	return in.SetKey(ctx, pendingKey, b)
}

// is reports whether a guest is the one.
func (p *pending) is(g *model.Guest) bool {
	if p.Origin == "" {
		return g.VMID == p.VMID && g.Config.Options["name"] == p.Called
	}
	return pendingOf(g).Origin == p.Origin && g.VMID == p.VMID
}

// forgetPending says that it is ours.
func forgetPending(ctx context.Context, in private) diag.Diagnostics {
	p, diags := readPending(ctx, in)
	if p != nil {
		diags.Append(in.SetKey(ctx, pendingKey, nil)...)
	}
	return diags
}

// readPending is the guest that was imported for a resource; nil: none, or it is ours by now.
func readPending(ctx context.Context, in private) (p *pending, diags diag.Diagnostics) {
	b, diags := in.GetKey(ctx, pendingKey)
	if len(b) == 0 || diags.HasError() {
		return nil, diags
	}
	if err := json.Unmarshal(b, &p); err != nil {
		diags.AddError("The state can't be read", err.Error())
	}
	return p, diags
}
