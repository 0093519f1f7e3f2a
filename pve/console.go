package pve

import "context"

// Console is a door to a terminal or screen that Proxmox opened: a websocket at
// /nodes/{node}/…/vncwebsocket takes its port and ticket.
type Console struct {
	Port     int    `json:"port"`
	Ticket   Secret `json:"ticket"`
	User     string `json:"user"`
	Password Secret `json:"password"` // of VNC, where asked for
	Cert     string `json:"cert"`
	UPID     UPID   `json:"upid"`
}

type terminalParams struct {
	Serial string `pve:"serial"`
}

// Terminal opens the VM's serial console, "serial0" by default.
func (v VM) Terminal(ctx context.Context, serial string) (Console, error) {
	return post[Console](ctx, v.c, terminalParams{serial}, "/nodes/{node}/qemu/{vmid}/termproxy", v.Node, v.ID)
}
