package pvesim

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// How long a console's port is open, and how old its ticket may be.
const (
	consoleWait = 10 * time.Second
	consoleLife = 40 * time.Second
)

// caPEM stands for the certificate of the cluster.
const caPEM = "-----BEGIN CERTIFICATE-----\nc2ltdWxhdGVk\n-----END CERTIFICATE-----\n"

// consoleTicket makes a ticket for a VM's console on a port.
func (s *Sim) consoleTicket(user string, vmid, port int) string {
	stamp := fmt.Sprintf("%08X", s.now().Unix())
	return "PVEVNC:" + stamp + "::" + sign(s.keys.ticket, consoleSecret(stamp, user, vmid, port))
}

func consoleSecret(stamp, user string, vmid, port int) string {
	return fmt.Sprintf("PVEVNC:%s:%s:/vms/%d:%d", stamp, user, vmid, port)
}

// consoleValid checks a ticket. A password may stand before it.
func (s *Sim) consoleValid(ticket, user string, vmid, port int) bool {
	if i := strings.Index(ticket, ":PVEVNC:"); i == 8 {
		ticket = ticket[i+1:]
	}
	stamp, sig, ok := strings.Cut(strings.TrimPrefix(ticket, "PVEVNC:"), "::")
	at, err := strconv.ParseInt(stamp, 16, 64)
	if !ok || err != nil || sig != sign(s.keys.ticket, consoleSecret(stamp, user, vmid, port)) {
		return false
	}
	age := s.now().Sub(time.Unix(at, 0))
	return age > -20*time.Second && age < consoleLife
}

// postVNCProxy opens a console that nobody can come to: screens aren't
// simulated.
func postVNCProxy(c *call) (any, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	d, upid := c.openDoor(vm, "")
	d.shut = true
	port := d.port
	ticket := c.consoleTicket(c.who.Name(), vm.ID, port)
	out := map[string]any{"user": c.who.Name(), "port": strconv.Itoa(port), "upid": upid, "cert": caPEM}
	vga, _ := property(vm.Conf["vga"], "type", "type")
	wanted := c.params.Bool("generate-password")
	if c.atLeast(9) {
		wanted = wanted || !strings.HasPrefix(vga, "serial") || c.params.Bool("websocket")
	}
	if wanted {
		password := fmt.Sprintf("%x", c.random("vnc", strconv.Itoa(vm.ID)))[:8]
		out["password"] = password
		if c.atLeast(9) {
			ticket = password + ":" + ticket
		}
	}
	out["ticket"] = ticket
	return out, nil
}

func postTermProxy(c *call) (any, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	serial := c.params.Str("serial")
	if vga, _ := property(vm.Conf["vga"], "type", "type"); serial == "" && strings.HasPrefix(vga, "serial") {
		serial = vga
	}
	d, upid := c.openDoor(vm, serial)
	ticket := c.consoleTicket(c.who.Name(), vm.ID, d.port)
	return map[string]any{"user": c.who.Name(), "ticket": ticket, "port": strconv.Itoa(d.port), "upid": upid}, nil
}

func getVNCWebsocket(c *call) (any, error) {
	vmid, port := c.params.Int("vmid"), c.params.Int("port")
	if !c.consoleValid(c.params.Str("vncticket"), c.who.Name(), vmid, port) {
		return nil, coded(http.StatusUnauthorized, "permission denied - invalid PVEVNC ticket")
	}
	if _, err := c.vm(); err != nil {
		return nil, err
	}
	if d := c.doors[port]; d != nil && d.vm.ID == vmid && !d.shut {
		c.door = d
	}
	return map[string]any{"port": c.params.Str("port")}, nil
}

func postSpiceProxy(c *call) (any, error) {
	vm, err := c.vm()
	if err != nil {
		return nil, err
	}
	if vm.Run == nil {
		return nil, notRunning(vm.ID)
	}
	vga, _ := property(vm.Conf["vga"], "type", "type")
	if !strings.HasPrefix(vga, "qxl") && !strings.HasPrefix(vga, "virtio") {
		return nil, die("no spice port")
	}
	title := fmt.Sprintf("VM %d", vm.ID)
	if vm.Name() != "" {
		title += " - " + vm.Name()
	}
	proxy := c.params.Str("proxy")
	if proxy == "" {
		proxy = c.node()
	}
	port := 61000
	secret := fmt.Sprintf("%x", c.random("spice", strconv.Itoa(vm.ID)))
	return map[string]any{
		"secure-attention": "Ctrl+Alt+Ins", "toggle-fullscreen": "Shift+F11", "release-cursor": "Ctrl+Alt+R",
		"type": "spice", "title": title, "tls-port": port, "delete-this-file": 1,
		"host":         fmt.Sprintf("pvespiceproxy:%08x:%d:%s:%d::%s", c.now().Unix(), vm.ID, c.node(), port, secret[:40]),
		"proxy":        "http://" + proxy + ":3128",
		"host-subject": "OU=PVE Cluster Node,O=Proxmox Virtual Environment,CN=" + c.node(),
		"ca":           strings.ReplaceAll(caPEM, "\n", `\n`), "password": secret[40:],
	}, nil
}

// putSendKey presses keys; guests don't mind them.
func putSendKey(c *call) (any, error) {
	if err := c.rootOnly("skiplock"); err != nil {
		return nil, err
	}
	return nil, c.withVM(func(vm *VM) error {
		if vm.Run == nil {
			return notRunning(vm.ID)
		}
		return nil
	})
}
