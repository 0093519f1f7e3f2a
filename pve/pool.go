package pve

import (
	"context"
	"net/http"
)

// PoolInfo is a pool of guests and storages.
type PoolInfo struct {
	ID      string `json:"poolid"`
	Comment string `json:"comment"`
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
