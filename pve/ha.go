package pve

import (
	"context"
	"net/http"
)

// HA is a handle for high availability.
type HA struct{ c *Client }

// HA gives a handle for high availability.
func (c *Client) HA() HA { return HA{c} }

// HAResource is a guest that HA looks after.
type HAResource struct {
	ID          string `json:"sid"`   // vm:100
	State       string `json:"state"` // started, stopped, disabled, ignored
	Group       string `json:"group"` // until PVE 8
	Comment     string `json:"comment"`
	MaxRestart  *int   `json:"max_restart"`
	MaxRelocate *int   `json:"max_relocate"`
	Failback    *bool  `json:"failback"`
	Digest      string `json:"digest"`
}

// Resources lists the guests that HA looks after.
func (h HA) Resources(ctx context.Context) ([]HAResource, error) {
	return get[[]HAResource](ctx, h.c, nil, "/cluster/ha/resources")
}

// HASettings say how HA looks after a guest.
type HASettings struct {
	State       string `pve:"state"` // Proxmox' default is started
	Group       string `pve:"group"` // until PVE 8
	Comment     string `pve:"comment"`
	MaxRestart  *int   `pve:"max_restart"`
	MaxRelocate *int   `pve:"max_relocate"`
	Failback    *bool  `pve:"failback" since:"9"`
}

type newHAResource struct {
	ID string `pve:"sid"`
	HASettings
}

// AddResource puts a guest under HA.
func (h HA) AddResource(ctx context.Context, id string, settings HASettings) error {
	return tell(ctx, h.c, http.MethodPost, newHAResource{id, settings}, "/cluster/ha/resources")
}

// HAChange changes how HA looks after a guest.
type HAChange struct {
	HASettings
	Delete []string `pve:"delete"`
	Digest string   `pve:"digest"`
}

// SetResource changes how HA looks after a guest.
func (h HA) SetResource(ctx context.Context, id string, change HAChange) error {
	return tell(ctx, h.c, http.MethodPut, change, "/cluster/ha/resources/{sid}", id)
}

// HARemove says what goes with a guest that leaves HA.
type HARemove struct {
	Purge *bool `pve:"purge" since:"9"` // also from rules; Proxmox' default is true
}

// RemoveResource takes a guest out of HA.
func (h HA) RemoveResource(ctx context.Context, id string, opts HARemove) error {
	return tell(ctx, h.c, http.MethodDelete, opts, "/cluster/ha/resources/{sid}", id)
}

// HARule says where guests should be. Rules exist from PVE 9 on.
type HARule struct {
	ID        string   `json:"rule" pve:"-"`
	Type      string   `json:"type" pve:"type"`           // node-affinity or resource-affinity
	Resources []string `json:"resources" pve:"resources"` // vm:100
	Nodes     string   `json:"nodes" pve:"nodes"`         // node-affinity: pve1:2,pve2
	Strict    bool     `json:"strict" pve:"strict"`       // node-affinity: nowhere else
	Affinity  string   `json:"affinity" pve:"affinity"`   // resource-affinity: positive or negative
	Comment   string   `json:"comment" pve:"comment"`
	Disabled  bool     `json:"disable" pve:"disable"`
	Digest    string   `json:"digest" pve:"-"`
}

// Rules lists the rules. Only from PVE 9 on.
func (h HA) Rules(ctx context.Context) ([]HARule, error) {
	return get[[]HARule](ctx, h.c, nil, "/cluster/ha/rules")
}

type newHARule struct {
	ID string `pve:"rule"`
	HARule
}

// CreateRule makes a rule. Only from PVE 9 on.
func (h HA) CreateRule(ctx context.Context, rule HARule) error {
	return tell(ctx, h.c, http.MethodPost, newHARule{rule.ID, rule}, "/cluster/ha/rules")
}

// HARuleChange changes a rule; the type must be given, and stays.
type HARuleChange struct {
	HARule
	Delete []string `pve:"delete"`
	Digest string   `pve:"digest"`
}

// SetRule changes a rule. Only from PVE 9 on.
func (h HA) SetRule(ctx context.Context, id string, change HARuleChange) error {
	return tell(ctx, h.c, http.MethodPut, change, "/cluster/ha/rules/{rule}", id)
}

// HAGroup says on which nodes guests may be. From PVE 9 on there are rules instead, and calls
// for groups fail with ErrRefused.
type HAGroup struct {
	ID         string `json:"group" pve:"-"`
	Nodes      string `json:"nodes" pve:"nodes"` // pve1:2,pve2
	Restricted bool   `json:"restricted" pve:"restricted"`
	NoFailback bool   `json:"nofailback" pve:"nofailback"`
	Comment    string `json:"comment" pve:"comment"`
	Digest     string `json:"digest" pve:"-"`
}

// Groups lists the groups. Until PVE 8.
func (h HA) Groups(ctx context.Context) ([]HAGroup, error) {
	return get[[]HAGroup](ctx, h.c, nil, "/cluster/ha/groups")
}

type newHAGroup struct {
	ID string `pve:"group"`
	HAGroup
}

// CreateGroup makes a group. Until PVE 8.
func (h HA) CreateGroup(ctx context.Context, group HAGroup) error {
	return tell(ctx, h.c, http.MethodPost, newHAGroup{group.ID, group}, "/cluster/ha/groups")
}
