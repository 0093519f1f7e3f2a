//go:build linux

package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// record notes something that was made for a VM, before it is made.
type record struct {
	File   string  `json:"file,omitempty"` // an Ignition file
	Daemon *daemon `json:"daemon,omitempty"`
}

// daemon is a virtiofsd. The number of a process may be another's one day, the
// number with its start time never is.
type daemon struct {
	Share  shareSpec `json:"share"`
	PID    int       `json:"pid"`
	Start  uint64    `json:"start"`
	Socket string    `json:"socket"`
}

func (h *Host) recordDir(vmid int) string { return h.run("vm", strconv.Itoa(vmid)) }

// recordFile is where something is noted that is known by its path.
func (h *Host) recordFile(vmid int, path string) string {
	return filepath.Join(h.recordDir(vmid), strings.ReplaceAll(strings.Trim(path, "/"), "/", "-")+".json")
}

func writeRecord(file string, r record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return writeWhole(file, text)
}

// records are all that is noted of a VM, by the files it is noted in.
func (h *Host) records(vmid int) (map[string]record, error) {
	files, err := filepath.Glob(filepath.Join(h.recordDir(vmid), "*.json"))
	if err != nil {
		return nil, err
	}
	all := map[string]record{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var r record
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all[file] = r
	}
	return all, nil
}

// lock keeps two hooks of one VM from working at once. It ends with the process,
// however that ends.
func (h *Host) lock(ctx context.Context, vmid int) (*os.File, error) {
	for _, dir := range []string{h.run(), h.run("vm")} {
		if err := h.privateDir(dir); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(h.run("vm", fmt.Sprintf("%d.lock", vmid)), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	const patience, every = time.Minute, 50 * time.Millisecond
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("another hook of VM %d has been at work for %s", vmid, patience))
	defer cancel()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("lock VM %d: %w", vmid, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, context.Cause(ctx)
		case <-time.After(every):
		}
	}
}

// locked does something under the lock.
func (h *Host) locked(ctx context.Context, vmid int, work func(lock *os.File) error) error {
	lock, err := h.lock(ctx, vmid)
	if err != nil {
		return err
	}
	defer lock.Close()
	return work(lock)
}

// undo removes all that was made for a VM. What can't be removed stays noted.
func (h *Host) undo(ctx context.Context, vmid int) error {
	return h.locked(ctx, vmid, func(*os.File) error { return h.undoAllBut(vmid, nil) })
}

// undoAllBut removes what was made, but for what is noted in these files.
func (h *Host) undoAllBut(vmid int, keep map[string]bool) error {
	all, err := h.records(vmid)
	if err != nil {
		return err
	}
	var errs []error
	for file, r := range all {
		if keep[file] {
			continue
		}
		if err := h.undoOne(vmid, r); err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, remove(file), remove(logFile(file)))
	}
	if len(keep) == 0 && errors.Join(errs...) == nil {
		// What is left are halves that a killed run wrote.
		errs = append(errs, os.RemoveAll(h.recordDir(vmid)))
	}
	return errors.Join(errs...)
}

func (h *Host) undoOne(vmid int, r record) error {
	if r.File != "" {
		if err := errors.Join(remove(r.File), sweep(r.File)); err != nil {
			return err
		}
		h.note(vmid, "removed %s", r.File)
	}
	if d := r.Daemon; d != nil {
		stopped, err := d.stop()
		if err != nil {
			return err
		}
		// Some daemons write a file with their number beside the socket.
		if err := errors.Join(remove(d.Socket), remove(d.Socket+".pid")); err != nil {
			return err
		}
		if stopped {
			h.note(vmid, "stopped sharing %s", d.Share.Path)
		}
	}
	return nil
}

// remove removes a file that may be gone.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// partMark begins the suffix of files that aren't whole yet.
const partMark = ".proxplane-part-"

// writeWhole puts a file that only we can read in its place at once.
func writeWhole(path string, data []byte) (err error) {
	if err := sweep(path); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+partMark)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// sweep removes what writes of a file left that were killed.
func sweep(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+filepath.Base(path)+partMark) {
			if err := remove(filepath.Join(filepath.Dir(path), e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
