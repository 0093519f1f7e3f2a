package pve

import (
	"context"
	"net/http"
)

// Mapping is a handle for mappings: names for directories or devices that differ by node.
type Mapping struct{ c *Client }

// Mapping gives a handle for mappings.
func (c *Client) Mapping() Mapping { return Mapping{c} }

// MappingCheck is a complaint about a mapping on the node that was asked for.
type MappingCheck struct {
	Severity string `json:"severity"` // warning or error
	Message  string `json:"message"`
}

// DirMapping is a directory that VMs can use by virtiofs. From PVE 8.4 on.
type DirMapping struct {
	ID          string         `json:"id"`
	Description string         `json:"description"`
	Map         []string       `json:"map"` // one for each node: node=pve1,path=/srv/share
	Digest      string         `json:"digest"`
	Checks      []MappingCheck `json:"checks"`
}

type mappingFilter struct {
	CheckNode string `pve:"check-node"`
}

// Dirs lists the directory mappings; with a node, they are checked there.
func (m Mapping) Dirs(ctx context.Context, checkNode string) ([]DirMapping, error) {
	return get[[]DirMapping](ctx, m.c, mappingFilter{checkNode}, "/cluster/mapping/dir")
}

// Dir reads one directory mapping.
func (m Mapping) Dir(ctx context.Context, id string) (DirMapping, error) {
	out, err := get[DirMapping](ctx, m.c, nil, "/cluster/mapping/dir/{id}", id)
	out.ID = id
	return out, err
}

// NewDirMapping describes a directory mapping to make.
type NewDirMapping struct {
	ID          string   `pve:"id"`
	Description string   `pve:"description"`
	Map         []string `pve:"map,repeat"`
}

// CreateDir makes a directory mapping. The directories must exist on the node that answers.
func (m Mapping) CreateDir(ctx context.Context, mapping NewDirMapping) error {
	return tell(ctx, m.c, http.MethodPost, mapping, "/cluster/mapping/dir")
}

// DirMappingChange changes a directory mapping. Proxmox wants Map in any case.
type DirMappingChange struct {
	Description string   `pve:"description"`
	Map         []string `pve:"map,repeat"`
	Delete      []string `pve:"delete"`
	Digest      string   `pve:"digest"`
}

// SetDir changes a directory mapping.
func (m Mapping) SetDir(ctx context.Context, id string, change DirMappingChange) error {
	return tell(ctx, m.c, http.MethodPut, change, "/cluster/mapping/dir/{id}", id)
}

// DeleteDir removes a directory mapping, even one that is in use or isn't there.
func (m Mapping) DeleteDir(ctx context.Context, id string) error {
	return tell(ctx, m.c, http.MethodDelete, nil, "/cluster/mapping/dir/{id}", id)
}
