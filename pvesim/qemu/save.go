//go:build linux

package qemu

import (
	"context"
	"errors"
	"fmt"
)

// savedTag is the name of the saved memory in the disk that holds it.
const savedTag = "memory"

// Save stops a guest and writes its memory to a disk.
func (b *Backend) Save(ctx context.Context, vmid int, disk string) error {
	g, err := b.guest(vmid)
	if err != nil {
		return err
	}
	g.turn.Lock()
	defer g.turn.Unlock()
	if err := g.qmp.do(ctx, "stop", nil, nil); err != nil {
		return err
	}
	err = g.withMemory(ctx, b, disk, "snapshot-save")
	if err != nil {
		_ = g.qmp.do(context.WithoutCancel(ctx), "cont", nil, nil)
	}
	return err
}

// load brings back memory that was saved, and lets the guest go on.
func (b *Backend) load(ctx context.Context, g *guest, disk string) error {
	if err := g.withMemory(ctx, b, disk, "snapshot-load"); err != nil {
		g.process.kill()
		<-g.gone
		return fmt.Errorf("%w: %s", err, g.process.stderr.String())
	}
	return g.qmp.do(ctx, "cont", nil, nil)
}

// withMemory gives QEMU the disk for saved memory and runs the job on it.
func (g *guest) withMemory(ctx context.Context, b *Backend, disk, command string) error {
	if err := g.qmp.do(ctx, "blockdev-add", b.diskNode(disk), nil); err != nil {
		return err
	}
	err := g.qmp.job(ctx, command, command, map[string]any{"tag": savedTag, "vmstate": disk, "devices": []string{disk}}, nil)
	return errors.Join(err, g.qmp.do(context.WithoutCancel(ctx), "blockdev-del", map[string]any{"node-name": disk}, nil))
}
