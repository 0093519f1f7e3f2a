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

// Terminal opens a shell on the node. It needs Sys.Console.
func (n Node) Terminal(ctx context.Context) (Console, error) {
	return post[Console](ctx, n.c, nil, "/nodes/{node}/termproxy", n.Name)
}

type terminalParams struct {
	Serial string `pve:"serial"`
}

// Terminal opens the VM's serial console, "serial0" by default.
func (v VM) Terminal(ctx context.Context, serial string) (Console, error) {
	return post[Console](ctx, v.c, terminalParams{serial}, "/nodes/{node}/qemu/{vmid}/termproxy", v.Node, v.ID)
}

// ScreenOptions say how the screen is reached.
type ScreenOptions struct {
	Websocket        bool `pve:"websocket"`
	GeneratePassword bool `pve:"generate-password"`
}

// Screen opens the VM's screen for VNC.
func (v VM) Screen(ctx context.Context, opts ScreenOptions) (Console, error) {
	return post[Console](ctx, v.c, opts, "/nodes/{node}/qemu/{vmid}/vncproxy", v.Node, v.ID)
}
