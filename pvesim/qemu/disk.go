//go:build linux

package qemu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pvesim"
)

// diskFile is where the bytes of a disk are.
func (b *Backend) diskFile(disk string) string { return filepath.Join(b.dir, "disks", disk+".qcow2") }

// img runs qemu-img.
func (b *Backend) img(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, b.tools.img, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("qemu-img %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}

// MakeDisk makes a disk. One that can't be filled leaves nothing behind.
func (b *Backend) MakeDisk(ctx context.Context, disk string, from pvesim.NewDisk) (err error) {
	file := b.diskFile(disk)
	defer func() {
		if err != nil {
			_ = os.Remove(file)
		}
	}()
	var format string
	source := from.File
	if from.UEFI {
		source = filepath.Join(b.tools.ovmf, uefiVars)
		if from.Enrolled {
			source = filepath.Join(b.tools.ovmf, uefiKeys)
		}
	}
	switch {
	case from.Disk != "":
		source, format = b.diskFile(from.Disk), "qcow2"
	case source == "":
		return b.img(ctx, "create", "-q", "-f", "qcow2", file, strconv.FormatInt(from.Size, 10))
	default:
		if format, err = imageFormat(source); err != nil {
			return err
		}
	}
	g := b.user(from.Disk)
	switch {
	case from.Linked:
		err = b.img(ctx, "create", "-q", "-f", "qcow2", "-b", source, "-F", format, file)
	case g != nil && from.Snapshot == "":
		err = b.copyLive(ctx, g, from.Disk, disk)
	default:
		args := []string{"convert", "-U", "-f", format, "-O", "qcow2"}
		if from.Snapshot != "" {
			args = append(args, "-l", "snapshot.name="+from.Snapshot)
		}
		err = b.img(ctx, append(args, source, file)...)
	}
	if err != nil || from.Size == 0 {
		return err
	}
	return b.growTo(ctx, disk, from.Size)
}

// imageFormat reads off the first bytes what an image is.
func imageFormat(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, 4)
	if _, err := f.ReadAt(head, 0); err != nil {
		return "raw", nil // too short for anything else
	}
	switch string(head) {
	case "QFI\xfb":
		return "qcow2", nil
	case "KDMV", "COWD":
		return "vmdk", nil
	}
	return "raw", nil
}

// growTo makes a disk that no guest has at least so large.
func (b *Backend) growTo(ctx context.Context, disk string, size int64) error {
	err := b.img(ctx, "resize", "-q", "-f", "qcow2", b.diskFile(disk), strconv.FormatInt(size, 10))
	if err != nil && strings.Contains(err.Error(), "shrink") {
		return nil // a copy of something larger
	}
	return err
}

// user is the guest that has a disk, if it runs.
func (b *Backend) user(disk string) *guest {
	if disk == "" {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range b.guests {
		if g.has(disk) {
			return g
		}
	}
	return nil
}

// copyLive copies a disk while its guest runs: what it was at this moment.
func (b *Backend) copyLive(ctx context.Context, g *guest, disk, to string) error {
	return b.withTarget(ctx, g, disk, to, func() error {
		return g.qmp.job(ctx, "copy-"+to, "blockdev-backup", map[string]any{
			"device": disk, "target": to, "sync": "full", "auto-dismiss": false,
		}, nil)
	})
}

// withTarget makes a disk as large as another, and gives it to QEMU while fn
// runs.
func (b *Backend) withTarget(ctx context.Context, g *guest, like, disk string, fn func() error) error {
	size, err := g.qmp.nodeSize(ctx, like)
	if err != nil {
		return err
	}
	if err := b.img(ctx, "create", "-q", "-f", "qcow2", b.diskFile(disk), strconv.FormatInt(size, 10)); err != nil {
		return err
	}
	if err := g.qmp.do(ctx, "blockdev-add", b.diskNode(disk), nil); err != nil {
		return err
	}
	err = fn()
	return errors.Join(err, g.qmp.do(context.WithoutCancel(ctx), "blockdev-del", map[string]any{"node-name": disk}, nil))
}

// nodeSize is the size of a disk that QEMU has open.
func (q *qmp) nodeSize(ctx context.Context, node string) (int64, error) {
	var nodes []struct {
		Name  string `json:"node-name"`
		Image struct {
			Size int64 `json:"virtual-size"`
		} `json:"image"`
	}
	if err := q.do(ctx, "query-named-block-nodes", map[string]any{"flat": true}, &nodes); err != nil {
		return 0, err
	}
	for _, n := range nodes {
		if n.Name == node {
			return n.Image.Size, nil
		}
	}
	return 0, fmt.Errorf("QEMU has no disk %s", node)
}

// SwapDisk copies a disk to a new one; a guest that runs goes on with that.
func (b *Backend) SwapDisk(ctx context.Context, disk, copied string) error {
	g := b.user(disk)
	if g == nil {
		return b.MakeDisk(ctx, copied, pvesim.NewDisk{Disk: disk})
	}
	g.turn.Lock()
	defer g.turn.Unlock()
	size, err := g.qmp.nodeSize(ctx, disk)
	if err != nil {
		return err
	}
	if err := b.img(ctx, "create", "-q", "-f", "qcow2", b.diskFile(copied), strconv.FormatInt(size, 10)); err != nil {
		return err
	}
	if err := g.qmp.do(ctx, "blockdev-add", b.diskNode(copied), nil); err != nil {
		return err
	}
	job := "swap-" + copied
	err = g.qmp.job(ctx, job, "blockdev-mirror", map[string]any{
		"device": disk, "target": copied, "sync": "full", "auto-dismiss": false,
	}, func() error { return g.qmp.do(ctx, "job-complete", map[string]any{"id": job}, nil) })
	drop := disk
	if err != nil {
		drop = copied
	} else {
		g.renameDisk(disk, copied)
	}
	return errors.Join(err, g.qmp.do(context.WithoutCancel(ctx), "blockdev-del", map[string]any{"node-name": drop}, nil))
}

// ResizeDisk changes the size of a disk, also in a guest that runs.
func (b *Backend) ResizeDisk(ctx context.Context, disk string, size int64) error {
	if g := b.user(disk); g != nil {
		return g.qmp.do(ctx, "block_resize", map[string]any{"node-name": disk, "size": size}, nil)
	}
	return b.img(ctx, "resize", "-q", "-f", "qcow2", b.diskFile(disk), strconv.FormatInt(size, 10))
}

// SnapshotDisk keeps what a disk holds now.
func (b *Backend) SnapshotDisk(ctx context.Context, disk, snapshot string) error {
	if g := b.user(disk); g != nil {
		return g.qmp.do(ctx, "blockdev-snapshot-internal-sync", map[string]any{"device": disk, "name": snapshot}, nil)
	}
	return b.img(ctx, "snapshot", "-c", snapshot, b.diskFile(disk))
}

// RollBackDisk takes a disk back to what it held. Its guest doesn't run.
func (b *Backend) RollBackDisk(ctx context.Context, disk, snapshot string) error {
	return b.img(ctx, "snapshot", "-a", snapshot, b.diskFile(disk))
}

// DropDiskSnapshot forgets a snapshot.
func (b *Backend) DropDiskSnapshot(ctx context.Context, disk, snapshot string) error {
	if g := b.user(disk); g != nil {
		return g.qmp.do(ctx, "blockdev-snapshot-delete-internal-sync", map[string]any{"device": disk, "name": snapshot}, nil)
	}
	return b.img(ctx, "snapshot", "-d", snapshot, b.diskFile(disk))
}

// KeepDisks removes all disks but those that are named.
func (b *Backend) KeepDisks(disks map[string]bool) error {
	all, err := os.ReadDir(filepath.Join(b.dir, "disks"))
	if err != nil {
		return err
	}
	for _, f := range all {
		disk := strings.TrimSuffix(f.Name(), ".qcow2")
		if !disks[disk] {
			err = errors.Join(err, b.RemoveDisk(disk))
		}
	}
	return err
}

// RemoveDisk forgets a disk.
func (b *Backend) RemoveDisk(disk string) error {
	err := os.Remove(b.diskFile(disk))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
