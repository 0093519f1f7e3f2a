//go:build linux

package qemu

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/proxplane/proxplane/pvesim"
)

// guest is a machine that runs.
type guest struct {
	dir     string
	process *process
	qmp     *qmp
	agent   *agent             // nil: the config has none
	serial  map[string]*serial // "serial0"
	shares  []*process
	gone    chan struct{} // closed when all of it has ended

	turn sync.Mutex // who plugs, saves or swaps

	mu      sync.Mutex
	machine pvesim.Machine // as it is
	ports   map[string]*port
}

// has reports whether the guest has a disk.
func (g *guest) has(disk string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.machine.Vars == disk || slices.ContainsFunc(g.machine.Drives, func(d pvesim.MachineDrive) bool { return d.Disk == disk })
}

// renameDisk notes that a drive reads another disk now.
func (g *guest) renameDisk(old, now string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.machine.Drives = slices.Clone(g.machine.Drives)
	for i := range g.machine.Drives {
		if g.machine.Drives[i].Disk == old {
			g.machine.Drives[i].Disk = now
		}
	}
}

// guestDir is where a guest keeps its files but for disks.
func (b *Backend) guestDir(vmid int) string {
	return filepath.Join(b.dir, "guests", strconv.Itoa(vmid))
}

// startTimeout is how long QEMU may take to answer for the first time, on a
// machine that has other things to do.
const startTimeout = 5 * time.Minute

// Start runs a machine.
func (b *Backend) Start(ctx context.Context, m *pvesim.Machine, gone func()) error {
	m, err := b.resolve(m)
	if err != nil {
		return err
	}
	g := &guest{
		dir: b.guestDir(m.ID), machine: *m, gone: make(chan struct{}),
		serial: map[string]*serial{}, ports: map[string]*port{},
	}
	if err := os.MkdirAll(g.dir, 0o700); err != nil {
		return err
	}
	if err := b.launch(ctx, g); err != nil {
		g.tearDown()
		return err
	}
	b.mu.Lock()
	taken, closed := b.guests[m.ID] != nil, b.closed
	if !taken && !closed {
		b.guests[m.ID] = g
	}
	b.mu.Unlock()
	if taken || closed {
		g.tearDown()
		return fmt.Errorf("VM %d runs already, or nothing may run any more", m.ID)
	}
	go func() {
		<-g.process.ended
		b.mu.Lock()
		delete(b.guests, m.ID)
		b.mu.Unlock()
		g.tearDown()
		close(g.gone)
		gone()
	}()
	if m.Saved != "" {
		return b.load(ctx, g, m.Saved)
	}
	return nil
}

// tearDown ends what is left of a guest, in any state.
func (g *guest) tearDown() {
	if g.process != nil {
		g.process.kill()
		<-g.process.ended
	}
	for _, s := range g.shares {
		s.kill()
		<-s.ended
	}
	for _, p := range g.ports {
		p.unplug()
	}
	if g.qmp != nil {
		_ = g.qmp.conn.Close()
	}
	if g.agent != nil {
		_ = g.agent.conn.Close()
	}
	for _, s := range g.serial {
		_ = s.conn.Close()
	}
}

// launch starts the process and connects all wires.
func (b *Backend) launch(ctx context.Context, g *guest) error {
	m := &g.machine
	var far []*os.File
	keep := func(f *os.File) int { far = append(far, f); return 2 + len(far) }
	started := false
	defer func() {
		if !started { // otherwise the launcher has closed them
			for _, f := range far {
				_ = f.Close()
			}
		}
	}()
	monitor, end, err := socketPair(syscall.SOCK_STREAM)
	if err != nil {
		return err
	}
	defer func() {
		if g.qmp == nil {
			_ = monitor.Close()
		}
	}()
	w := wires{qmp: keep(end), nics: map[string]int{}}
	if m.Agent {
		conn, end, err := socketPair(syscall.SOCK_STREAM)
		if err != nil {
			return err
		}
		w.agent, g.agent = keep(end), newAgent(conn)
	}
	for _, number := range m.Serial {
		name := fmt.Sprintf("serial%d", number)
		log, err := os.OpenFile(filepath.Join(g.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		conn, end, err := socketPair(syscall.SOCK_STREAM)
		if err != nil {
			return errors.Join(err, log.Close())
		}
		w.serial = append(w.serial, keep(end))
		g.serial[name] = newSerial(conn, log)
	}
	for _, n := range m.NICs {
		port, end, err := b.lan.plug(segmentOf(n), n.Lease)
		if err != nil {
			return err
		}
		g.ports[n.Key] = port
		w.nics[n.Key] = keep(end)
	}
	args, err := b.commandLine(m, w)
	if err != nil {
		return err
	}
	if err := b.startShares(g); err != nil {
		return err
	}
	if g.process, err = b.launcher.start(g.dir, far, b.tools.qemu, args...); err != nil {
		started = true
		return err
	}
	started = true
	return g.connect(ctx, monitor.(*net.UnixConn))
}

// connect waits until QEMU answers, or says why it doesn't.
func (g *guest) connect(ctx context.Context, monitor *net.UnixConn) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = monitor.Close() })
	defer stop()
	q, err := newQMP(ctx, monitor)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		select {
		case <-g.process.ended:
			// Proxmox' QEMU is called otherwise.
			return errors.New(strings.ReplaceAll("\n"+g.process.stderr.String(), "\n"+filepath.Base(g.process.cmd.Path)+": ", "\n")[1:])
		case <-ctx.Done():
			return err
		}
	}
	g.qmp = q
	return g.linkStates(ctx)
}

// linkStates takes down the links of cards that aren't connected.
func (g *guest) linkStates(ctx context.Context) error {
	for _, n := range g.machine.NICs {
		if down(n) {
			if err := g.qmp.do(ctx, "set_link", map[string]any{"name": n.Key, "up": false}, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func down(n pvesim.MachineNIC) bool { return n.Down || n.Bridge == "" }

func segmentOf(n pvesim.MachineNIC) segment { return segment{bridge: n.Bridge, tag: n.Tag} }
