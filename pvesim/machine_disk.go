package pvesim

import (
	"context"
	"fmt"
	"time"
)

// carry has Machines do something, with the state unlocked meanwhile. A
// signal cancels it and unwinds the actor.
func (a *actor) carry(fn func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer cancel()
		select {
		case <-a.stop:
		case <-a.closed:
		case <-done:
		}
	}()
	a.mu.Unlock()
	err := fn(ctx)
	interruptedMeanwhile := ctx.Err() != nil
	close(done)
	a.mu.Lock()
	if interruptedMeanwhile {
		panic(interrupted{})
	}
	return err
}

// newDisk is a name for a disk of Machines.
func (s *Sim) newDisk() string { return fmt.Sprintf("disk-%d", s.serial("disk")) }

// makeDisk makes a volume's disk.
func (a *actor) makeDisk(v *Volume, from NewDisk) error {
	name, done := a.newDisk(), make(chan struct{})
	v.Disk, a.making[name] = name, done
	made := false
	defer func() {
		delete(a.making, name)
		close(done)
		if !made {
			v.Disk = ""
		}
	}()
	err := a.carry(func(ctx context.Context) error { return a.machines.MakeDisk(ctx, name, from) })
	made = err == nil
	return err
}

// diskOf is the disk of a volume, made when it is first needed.
func (a *actor) diskOf(v *Volume) (string, error) {
	for v.Disk != "" {
		making := a.making[v.Disk]
		if making == nil {
			return v.Disk, nil
		}
		a.waitFor(making, time.Hour)
	}
	from := NewDisk{Size: v.Size}
	if v.Blob != "" { // a world's
		file, err := a.blobs.path(v.Blob)
		if err != nil {
			return "", err
		}
		from.File, from.Linked = file, true
	}
	if err := a.makeDisk(v, from); err != nil {
		return "", err
	}
	return v.Disk, nil
}

// written reports whether a volume has bytes.
func (v *Volume) written() bool { return v.Disk != "" || v.Blob != "" }

// copyBytes fills a new volume with what another has, or had at a snapshot.
// Linked ones stand on it.
func (a *actor) copyBytes(v, src *Volume, snap string, linked bool) error {
	if a.machines == nil || src == nil || !src.written() {
		return nil
	}
	from := NewDisk{Size: v.Size, Snapshot: snap, Linked: linked && snap == ""}
	var err error
	if src.Content == "images" {
		from.Disk, err = a.diskOf(src)
	} else {
		from.File, err = a.blobs.path(src.Blob)
	}
	if err != nil {
		return err
	}
	return a.makeDisk(v, from)
}

// withDisk has Machines do something with a volume's disk, if it has one.
func (a *actor) withDisk(v *Volume, fn func(ctx context.Context, disk string) error) error {
	if a.machines == nil || !v.written() {
		return nil
	}
	disk, err := a.diskOf(v)
	if err != nil {
		return err
	}
	return a.carry(func(ctx context.Context) error { return fn(ctx, disk) })
}

// swapDisk lets the guest that has one volume go on with a copy of it, which
// is the other's.
func (a *actor) swapDisk(from, to *Volume) error {
	if a.machines == nil || !from.written() {
		return nil
	}
	disk, err := a.diskOf(from)
	if err != nil {
		return err
	}
	a.dropDisk(to)
	name := a.newDisk()
	if err := a.carry(func(ctx context.Context) error { return a.machines.SwapDisk(ctx, disk, name) }); err != nil {
		return err
	}
	to.Disk = name
	return nil
}

// dropDisk forgets the bytes of a volume's disk.
func (s *Sim) dropDisk(v *Volume) {
	if s.machines != nil && v.Disk != "" {
		_ = s.machines.RemoveDisk(v.Disk) // a file that stays harms nobody
	}
	v.Disk = ""
}

// keepDisks removes the disks that no volume has: of an earlier run.
func (s *Sim) keepDisks() error {
	if s.machines == nil {
		return nil
	}
	known := map[string]bool{}
	for _, sp := range s.state.Spaces {
		for _, v := range sp.Volumes {
			known[v.Disk] = true
		}
	}
	return s.machines.KeepDisks(known)
}
