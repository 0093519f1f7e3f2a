//go:build unix

package remotetest

import (
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/pkg/sftp"
)

// folder serves the files below the server's folder.
type folder struct{ s *Server }

func inside(name string) string {
	if name = strings.TrimPrefix(name, "/"); name == "" {
		return "."
	}
	return name
}

func (f *folder) Fileread(r *sftp.Request) (io.ReaderAt, error) {
	return f.s.root.Open(inside(r.Filepath))
}

func (f *folder) Filewrite(r *sftp.Request) (io.WriterAt, error) {
	flags, how := r.Pflags(), os.O_WRONLY
	for flag, on := range map[int]bool{os.O_CREATE: flags.Creat, os.O_EXCL: flags.Excl, os.O_TRUNC: flags.Trunc} {
		if on {
			how |= flag
		}
	}
	file, err := f.s.root.OpenFile(inside(r.Filepath), how, 0o644)
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

func (f *folder) Filecmd(r *sftp.Request) error {
	name, root := inside(r.Filepath), f.s.root
	switch r.Method {
	case "Setstat":
		if r.AttrFlags().Permissions {
			return root.Chmod(name, r.Attributes().FileMode())
		}
		return nil
	case "Rename":
		if _, err := root.Lstat(inside(r.Target)); err == nil {
			return fs.ErrExist
		}
		return root.Rename(name, inside(r.Target))
	case "Remove", "Rmdir":
		return root.Remove(name)
	case "Mkdir":
		return root.Mkdir(name, 0o755)
	}
	return sftp.ErrSSHFxOpUnsupported
}

func (f *folder) PosixRename(r *sftp.Request) error {
	if err := f.s.root.Rename(inside(r.Filepath), inside(r.Target)); err != nil {
		return err
	}
	f.s.mu.Lock()
	tell := f.s.onFile
	f.s.mu.Unlock()
	if tell != nil {
		tell(r.Target)
	}
	return nil
}

func (f *folder) StatVFS(*sftp.Request) (*sftp.StatVFS, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(f.s.Folder, &disk); err != nil {
		return nil, err
	}
	return &sftp.StatVFS{
		Bsize: uint64(disk.Bsize), Frsize: uint64(disk.Bsize), Blocks: disk.Blocks, Bfree: disk.Bfree, Bavail: disk.Bavail,
		Files: disk.Files, Ffree: disk.Ffree, Favail: disk.Ffree, Namemax: 255,
	}, nil
}

func (f *folder) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	name := inside(r.Filepath)
	if r.Method == "Stat" {
		info, err := f.s.root.Stat(name)
		return list{info}, err
	}
	dir, err := f.s.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	infos, err := dir.Readdir(-1)
	return list(infos), err
}

func (f *folder) Lstat(r *sftp.Request) (sftp.ListerAt, error) {
	info, err := f.s.root.Lstat(inside(r.Filepath))
	return list{info}, err
}

type list []fs.FileInfo

func (l list) ListAt(to []fs.FileInfo, at int64) (int, error) {
	if at >= int64(len(l)) {
		return 0, io.EOF
	}
	n := copy(to, l[at:])
	if n < len(to) {
		return n, io.EOF
	}
	return n, nil
}
