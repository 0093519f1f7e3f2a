package pve

import (
	"context"
	"net/http"
)

// PoolInfo is a pool of guests and storages.
type PoolInfo struct {
	ID      string     `json:"poolid"`
	Comment string     `json:"comment"`
	Members []Resource `json:"members"` // only of one pool, not in the list
}

// Pools lists the pools.
func (c *Client) Pools(ctx context.Context) ([]PoolInfo, error) {
	return get[[]PoolInfo](ctx, c, nil, "/pools")
}

// Pool is a handle for a pool.
type Pool struct {
	c  *Client
	ID string
}

// Pool gives a handle for a pool.
func (c *Client) Pool(id string) Pool { return Pool{c, id} }

// The calls below /pools/{poolid} can't name nested pools (parent/child), those with a
// parameter can.

type poolParams struct {
	ID      string `pve:"poolid"`
	Comment string `pve:"comment"`
}

// Info reads the pool with its members.
func (p Pool) Info(ctx context.Context) (PoolInfo, error) {
	out, err := get[[]PoolInfo](ctx, p.c, poolParams{ID: p.ID}, "/pools")
	if err != nil || len(out) == 0 {
		return PoolInfo{ID: p.ID}, err
	}
	return out[0], nil
}

// Create makes the pool.
func (p Pool) Create(ctx context.Context, comment string) error {
	return tell(ctx, p.c, http.MethodPost, poolParams{p.ID, comment}, "/pools")
}

// PoolChange changes a pool.
type PoolChange struct {
	Comment  *string  `pve:"comment"`
	VMs      []int    `pve:"vms"`
	Storages []string `pve:"storage"`
	Delete   bool     `pve:"delete"`     // take these out, instead of putting them in
	Move     bool     `pve:"allow-move"` // put in also what is in another pool
}

type poolUpdate struct {
	ID string `pve:"poolid"`
	PoolChange
}

// Change changes the comment or the members.
func (p Pool) Change(ctx context.Context, change PoolChange) error {
	return tell(ctx, p.c, http.MethodPut, poolUpdate{p.ID, change}, "/pools")
}

// Delete removes the pool, which must be empty.
func (p Pool) Delete(ctx context.Context) error {
	return tell(ctx, p.c, http.MethodDelete, poolParams{ID: p.ID}, "/pools")
}
