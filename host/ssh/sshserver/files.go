package sshserver

import (
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/pkg/sftp"
)

// FileSystem is what clients see over SFTP. Names are absolute.
type FileSystem interface {
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Mkdir(name string, perm fs.FileMode) error
	Remove(name string) error
	// Rename puts a file in the place of another one, if there is one.
	Rename(old, name string) error
	Chmod(name string, mode fs.FileMode) error
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.FileInfo, error)
	Room(name string) (*sftp.StatVFS, error)
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// ServeFiles serves SFTP on a channel until the client is done. Relative names
// are below home.
func ServeFiles(channel io.ReadWriteCloser, files FileSystem, home string) {
	h := &fileHandlers{files}
	server := sftp.NewRequestServer(channel, sftp.Handlers{FileGet: h, FilePut: h, FileCmd: h, FileList: h}, sftp.WithStartDirectory(home))
	_ = server.Serve()
	_ = server.Close()
}

type fileHandlers struct{ FileSystem }

func (h *fileHandlers) Fileread(r *sftp.Request) (io.ReaderAt, error) {
	return h.OpenFile(path.Clean(r.Filepath), os.O_RDONLY, 0)
}

func (h *fileHandlers) Filewrite(r *sftp.Request) (io.WriterAt, error) {
	flags, how := r.Pflags(), os.O_WRONLY
	for flag, on := range map[int]bool{os.O_CREATE: flags.Creat, os.O_EXCL: flags.Excl, os.O_TRUNC: flags.Trunc} {
		if on {
			how |= flag
		}
	}
	return h.OpenFile(path.Clean(r.Filepath), how, 0o644)
}

func (h *fileHandlers) Filecmd(r *sftp.Request) error {
	name := path.Clean(r.Filepath)
	switch r.Method {
	case "Setstat":
		if r.AttrFlags().Permissions {
			return h.Chmod(name, r.Attributes().FileMode())
		}
		return nil
	case "Rename":
		if _, err := h.FileSystem.Lstat(path.Clean(r.Target)); err == nil {
			return fs.ErrExist
		}
		return h.Rename(name, path.Clean(r.Target))
	case "Remove", "Rmdir":
		return h.Remove(name)
	case "Mkdir":
		return h.Mkdir(name, 0o755)
	}
	return sftp.ErrSSHFxOpUnsupported
}

func (h *fileHandlers) PosixRename(r *sftp.Request) error {
	return h.Rename(path.Clean(r.Filepath), path.Clean(r.Target))
}

func (h *fileHandlers) StatVFS(r *sftp.Request) (*sftp.StatVFS, error) {
	return h.Room(path.Clean(r.Filepath))
}

func (h *fileHandlers) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	name := path.Clean(r.Filepath)
	if r.Method == "Stat" {
		info, err := h.Stat(name)
		return fileList{info}, err
	}
	infos, err := h.ReadDir(name)
	return fileList(infos), err
}

func (h *fileHandlers) Lstat(r *sftp.Request) (sftp.ListerAt, error) {
	info, err := h.FileSystem.Lstat(path.Clean(r.Filepath))
	return fileList{info}, err
}

type fileList []fs.FileInfo

func (l fileList) ListAt(to []fs.FileInfo, at int64) (int, error) {
	if at >= int64(len(l)) {
		return 0, io.EOF
	}
	n := copy(to, l[at:])
	if n < len(to) {
		return n, io.EOF
	}
	return n, nil
}
