//go:build unix

package sshtest

import (
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/pkg/sftp"

	"github.com/proxplane/proxplane/host/ssh/sshserver"
)

// folder serves the files below the server's folder.
type folder struct{ s *Server }

func inside(name string) string {
	if name = strings.TrimPrefix(name, "/"); name == "" {
		return "."
	}
	return name
}

func (f *folder) OpenFile(name string, flag int, perm fs.FileMode) (sshserver.File, error) {
	file, err := f.s.root.OpenFile(inside(name), flag, perm)
	if err != nil {
		return nil, err
	}
	return &writer{file, f.s}, nil
}

// writer asks before it writes.
type writer struct {
	*os.File
	s *Server
}

func (w *writer) WriteAt(p []byte, at int64) (int, error) {
	w.s.mu.Lock()
	before := w.s.onWrite
	w.s.mu.Unlock()
	if before != nil {
		if err := before(); err != nil {
			return 0, err
		}
	}
	return w.File.WriteAt(p, at)
}

func (f *folder) Chmod(name string, mode fs.FileMode) error {
	return f.s.root.Chmod(inside(name), mode)
}

func (f *folder) Remove(name string) error { return f.s.root.Remove(inside(name)) }

func (f *folder) Mkdir(name string, perm fs.FileMode) error {
	return f.s.root.Mkdir(inside(name), perm)
}

func (f *folder) Rename(old, name string) error {
	if err := f.s.root.Rename(inside(old), inside(name)); err != nil {
		return err
	}
	f.s.mu.Lock()
	arrived := f.s.onFile
	f.s.mu.Unlock()
	if arrived != nil {
		arrived(name)
	}
	return nil
}

func (f *folder) Room(string) (*sftp.StatVFS, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(f.s.Folder, &disk); err != nil {
		return nil, err
	}
	return &sftp.StatVFS{
		Bsize: uint64(disk.Bsize), Frsize: uint64(disk.Bsize), Blocks: disk.Blocks, Bfree: disk.Bfree, Bavail: disk.Bavail,
		Files: disk.Files, Ffree: disk.Ffree, Favail: disk.Ffree, Namemax: 255,
	}, nil
}

func (f *folder) Stat(name string) (fs.FileInfo, error) { return f.s.root.Stat(inside(name)) }

func (f *folder) Lstat(name string) (fs.FileInfo, error) { return f.s.root.Lstat(inside(name)) }

func (f *folder) ReadDir(name string) ([]fs.FileInfo, error) {
	dir, err := f.s.root.Open(inside(name))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Readdir(-1)
}
