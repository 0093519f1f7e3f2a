//go:build linux

package qemu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/proxplane/proxplane/pvesim"
)

// Backend is a [pvesim.Machines].
type Backend struct {
	dir      string
	tools    tools
	lan      *lan
	launcher *launcher

	nodes sync.Mutex // who writes to the folders of nodes

	mu     sync.Mutex
	guests map[int]*guest // those that run
	gate   *gateway       // nil: nobody has asked for it
	closed bool
}

var _ pvesim.Machines = (*Backend)(nil)

// tools are the programs and files that are needed.
type tools struct {
	qemu, img string
	virtiofsd string // "": there is none
	ovmf      string // directory with the UEFI; "": there is none
}

// Missing returns an error that names what a backend lacks on this machine; nil: nothing.
func Missing() error {
	_, err := findTools()
	return err
}

func findTools() (tools, error) {
	var t tools
	for name, into := range map[string]*string{"qemu-system-x86_64": &t.qemu, "qemu-img": &t.img} {
		path, err := exec.LookPath(name)
		if err != nil {
			return t, fmt.Errorf("%s isn't installed (Debian: apt-get install %s)", name, Packages)
		}
		*into = path
	}
	for _, path := range []string{"/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd", "/usr/lib/virtiofsd"} {
		if _, err := os.Stat(path); err == nil {
			t.virtiofsd = path
			break
		}
	}
	const ovmf = "/usr/share/OVMF"
	if _, err := os.Stat(filepath.Join(ovmf, uefiCode)); err == nil {
		t.ovmf = ovmf
	}
	return t, nil
}

// New makes a backend that keeps all its files in a folder.
func New(dir string) (*Backend, error) {
	t, err := findTools()
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	for _, sub := range []string{"disks", "guests"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	return &Backend{dir: dir, tools: t, lan: newLAN(), launcher: newLauncher(), guests: map[int]*guest{}}, nil
}

// Close ends all guests. The disks stay.
func (b *Backend) Close() error {
	b.mu.Lock()
	b.closed = true
	var list []*guest
	for _, g := range b.guests {
		list = append(list, g)
	}
	gate := b.gate
	b.mu.Unlock()
	for _, g := range list {
		g.process.kill()
		<-g.gone
	}
	if gate != nil {
		gate.close()
	}
	b.launcher.close()
	return nil
}

var errNotRunning = errors.New("not running")

// guest finds a guest that runs.
func (b *Backend) guest(vmid int) (*guest, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.guests[vmid]
	if g == nil {
		return nil, fmt.Errorf("VM %d: %w", vmid, errNotRunning)
	}
	return g, nil
}

// Agent sends a command to the agent of a guest.
func (b *Backend) Agent(ctx context.Context, vmid int, command string, args any) (json.RawMessage, error) {
	g, err := b.guest(vmid)
	if err != nil {
		return nil, err
	}
	if g.agent == nil {
		return nil, pvesim.ErrNoAgent
	}
	return g.agent.ask(ctx, command, args)
}

// Monitor gives QEMU a command as people do.
func (b *Backend) Monitor(ctx context.Context, vmid int, command string) (string, error) {
	g, err := b.guest(vmid)
	if err != nil {
		return "", err
	}
	return g.qmp.monitor(ctx, command)
}

// Console connects with a serial port of a guest.
func (b *Backend) Console(_ context.Context, vmid int, port string) (io.ReadWriteCloser, error) {
	g, err := b.guest(vmid)
	if err != nil {
		return nil, err
	}
	s := g.serial[port]
	if s == nil {
		return nil, fmt.Errorf("VM %d has no %s", vmid, port)
	}
	return s.connect(), nil
}

// controls are QEMU's commands for what can be done to a guest.
var controls = map[pvesim.Control]string{
	pvesim.PowerButton:  "system_powerdown",
	pvesim.ResetButton:  "system_reset",
	pvesim.StopCPUs:     "stop",
	pvesim.ContinueCPUs: "cont",
	pvesim.Wake:         "system_wakeup",
	pvesim.Quit:         "quit",
}

// Control does something to a guest that runs.
func (b *Backend) Control(ctx context.Context, vmid int, c pvesim.Control) error {
	g, err := b.guest(vmid)
	if err != nil {
		return err
	}
	if c == pvesim.Kill {
		g.process.kill()
		<-g.gone
		return nil
	}
	err = g.qmp.do(ctx, controls[c], nil, nil)
	if c == pvesim.Quit && errors.Is(err, errMonitorGone) {
		return nil
	}
	return err
}
