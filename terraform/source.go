package terraform

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/proxplane/proxplane/model"
)

// source is a data source: a list of what Proxmox has.
type source struct {
	name, about string
	columns     map[string]schema.Attribute
	rows        func(have *model.Observed) any // structs, in the order of their names

	door *door
}

var _ datasource.DataSourceWithConfigure = (*source)(nil)

// sources are all data sources.
func sources() []func() datasource.DataSource {
	var all []func() datasource.DataSource
	for _, s := range []source{
		{name: "nodes", about: "The nodes of the cluster.", columns: nodeColumns, rows: nodeRows},
		{name: "storages", about: "The storages of the cluster.", columns: storageColumns, rows: storageRows},
		{name: "templates", about: "The templates of the cluster.", columns: guestColumns, rows: func(have *model.Observed) any { return guestRows(have, true) }},
		{name: "machines", about: "All virtual machines of the cluster, whoever made them. Templates and containers aren't among them.", columns: guestColumns, rows: func(have *model.Observed) any { return guestRows(have, false) }},
	} {
		all = append(all, func() datasource.DataSource { return &s })
	}
	return all
}

func (s *source) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + s.name
}

func (s *source) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{Description: s.about + " As the cluster's own list has them, which may be ten seconds old.", Attributes: map[string]schema.Attribute{
		s.name: schema.ListNestedAttribute{Computed: true, Description: s.about, NestedObject: schema.NestedAttributeObject{Attributes: s.columns}},
	}}
}

func (s *source) Configure(_ context.Context, req datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	s.door, _ = req.ProviderData.(*door)
}

func (s *source) Read(ctx context.Context, _ datasource.ReadRequest, resp *datasource.ReadResponse) {
	if !(&configured{s.door}).ready(&resp.Diagnostics) {
		return
	}
	wanted, diags := s.door.translate()
	if resp.Diagnostics.Append(diags...); resp.Diagnostics.HasError() {
		return
	}
	at, err := s.door.opened(wanted.Connection)
	var rows any
	if err == nil {
		err = at.View(ctx, func(have *model.Observed) { rows = s.rows(have) })
	}
	if err != nil {
		resp.Diagnostics.AddError(failure(err))
		return
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(s.name), rows)...)
}

var nodeColumns = map[string]schema.Attribute{
	"name":         schema.StringAttribute{Computed: true, Description: "Its name."},
	"online":       schema.BoolAttribute{Computed: true, Description: "Whether the cluster reaches it."},
	"maintenance":  schema.BoolAttribute{Computed: true, Description: "Whether the HA manager has it in maintenance."},
	"cpus":         schema.Int64Attribute{Computed: true, Description: "How many CPUs it has."},
	"memory_bytes": schema.Int64Attribute{Computed: true, Description: "How much memory it has."},
	"used_bytes":   schema.Int64Attribute{Computed: true, Description: "How much of that is in use."},
}

type nodeRow struct {
	Name        string `tfsdk:"name"`
	Online      bool   `tfsdk:"online"`
	Maintenance bool   `tfsdk:"maintenance"`
	CPUs        int64  `tfsdk:"cpus"`
	Memory      int64  `tfsdk:"memory_bytes"`
	Used        int64  `tfsdk:"used_bytes"`
}

func nodeRows(have *model.Observed) any {
	rows := []nodeRow{}
	for _, name := range slices.Sorted(maps.Keys(have.Nodes)) {
		n := have.Nodes[name]
		rows = append(rows, nodeRow{n.Name, n.Online, n.Maintenance, int64(n.CPUs), n.Memory, n.Used})
	}
	return rows
}

var storageColumns = map[string]schema.Attribute{
	"name":    schema.StringAttribute{Computed: true, Description: "Its name."},
	"type":    schema.StringAttribute{Computed: true, Description: "Its type in Proxmox' words: dir, lvmthin, zfspool, …"},
	"shared":  schema.BoolAttribute{Computed: true, Description: "Whether all nodes have the same."},
	"content": schema.ListAttribute{Computed: true, ElementType: types.StringType, Description: "What it may hold: images, iso, import, …"},
	"nodes":   schema.ListAttribute{Computed: true, ElementType: types.StringType, Description: "The nodes that have it."},
}

type storageRow struct {
	Name    string   `tfsdk:"name"`
	Type    string   `tfsdk:"type"`
	Shared  bool     `tfsdk:"shared"`
	Content []string `tfsdk:"content"`
	Nodes   []string `tfsdk:"nodes"`
}

func storageRows(have *model.Observed) any {
	rows := []storageRow{}
	for _, name := range slices.Sorted(maps.Keys(have.Storages)) {
		s := have.Storages[name]
		rows = append(rows, storageRow{s.Name, s.Type, s.Shared, slices.Sorted(maps.Keys(s.Content)), slices.Sorted(maps.Keys(s.OnNode))})
	}
	return rows
}

var guestColumns = map[string]schema.Attribute{
	"name":  schema.StringAttribute{Computed: true, Description: "Its name, which others may have, too."},
	"vmid":  schema.Int64Attribute{Computed: true, Description: "Its VMID."},
	"node":  schema.StringAttribute{Computed: true, Description: "The node that it is on."},
	"state": schema.StringAttribute{Computed: true, Description: "running, stopped, paused or unknown."},
	"pool":  schema.StringAttribute{Computed: true, Description: "The pool that it is in."},
	"tags":  schema.ListAttribute{Computed: true, ElementType: types.StringType, Description: "Its tags."},
}

type guestRow struct {
	Name  string   `tfsdk:"name"`
	VMID  int64    `tfsdk:"vmid"`
	Node  string   `tfsdk:"node"`
	State string   `tfsdk:"state"`
	Pool  string   `tfsdk:"pool"`
	Tags  []string `tfsdk:"tags"`
}

// guestRows are the templates, or all virtual machines that are none.
func guestRows(have *model.Observed, templates bool) []guestRow {
	rows := []guestRow{}
	for _, id := range slices.Sorted(maps.Keys(have.Guests)) {
		if g := have.Guests[id]; g.Template == templates && !g.Container {
			rows = append(rows, guestRow{g.Name, int64(g.VMID), g.Node, string(cmp.Or(g.Status, model.StatusUnknown)), g.Pool, append([]string{}, g.Tags...)})
		}
	}
	return rows
}
