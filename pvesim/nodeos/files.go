package nodeos

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pkg/sftp"

	"github.com/proxplane/proxplane/host/ssh/sshserver"
	"github.com/proxplane/proxplane/pvesim"
)

// files are what a user sees: the volumes of the node's storages as files, a few
// files of Proxmox, and what people put elsewhere, which is in a folder.
type files struct {
	node *Node
	user string
}

func inside(name string) string {
	if name = strings.TrimPrefix(path.Clean("/"+name), "/"); name == "" {
		return "."
	}
	return name
}

// dirs are the directories that are there without anybody's doing, with those
// above them.
func (f *files) dirs() map[string]bool {
	out := map[string]bool{}
	list := append(f.node.host.Dirs(), "/etc/pve", "/etc/pve/qemu-server")
	for _, dir := range append(list, slices.Collect(maps.Keys(f.node.host.Texts()))...) {
		for d := dir; ; d = path.Dir(d) {
			out[d] = true
			if d == "/" {
				break
			}
		}
	}
	for name := range f.node.host.Texts() {
		delete(out, name)
	}
	return out
}

// ensure makes the directory of a file in the folder if it is there anyway.
func (f *files) ensure(name string) error {
	dir := path.Dir(name)
	if f.dirs()[dir] {
		return f.node.root.MkdirAll(inside(dir), 0o755)
	}
	return nil
}

// mayWrite reports whether the user may write there.
func (f *files) mayWrite(name string) bool {
	if f.user == "root" {
		return true
	}
	return slices.ContainsFunc([]string{home(f.user), "/tmp", "/var/tmp"}, func(dir string) bool { return strings.HasPrefix(name, dir+"/") })
}

// mayRead reports whether the user may read there.
func (f *files) mayRead(name string) bool {
	return f.user == "root" || !slices.ContainsFunc([]string{"/root", "/etc/pve/priv"}, func(dir string) bool { return strings.HasPrefix(name+"/", dir+"/") })
}

func (f *files) OpenFile(name string, flag int, perm fs.FileMode) (sshserver.File, error) {
	if name == "/dev/null" {
		return null{}, nil
	}
	write := flag&(os.O_WRONLY|os.O_RDWR) != 0
	if write && !f.mayWrite(name) || !f.mayRead(name) {
		return nil, fs.ErrPermission
	}
	info, there, volume := f.node.host.Stat(name)
	switch text, ok := f.node.host.Texts()[name]; {
	case ok && write:
		return nil, fs.ErrPermission
	case ok:
		return reader{strings.NewReader(text), io.NopCloser(nil)}, nil
	case volume && write:
		return f.writeVolume(info, there, name, flag)
	case there:
		r, size, err := f.node.host.Open(name)
		if err != nil {
			return nil, err
		}
		return reader{io.NewSectionReader(r, 0, size), r}, nil
	}
	if err := f.ensure(name); err != nil {
		return nil, err
	}
	file, err := f.node.root.OpenFile(inside(name), flag, perm)
	if err != nil {
		return nil, err
	}
	return file, nil
}

// reader is a file that can only be read.
type reader struct {
	io.ReaderAt
	io.Closer
}

func (r reader) Close() error {
	if _, ok := r.ReaderAt.(*strings.Reader); ok {
		return nil
	}
	return r.Closer.Close()
}

func (reader) WriteAt([]byte, int64) (int, error) { return 0, fs.ErrPermission }

// null is /dev/null.
type null struct{}

func (null) ReadAt([]byte, int64) (int, error)      { return 0, io.EOF }
func (null) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (null) Close() error                           { return nil }

func (f *files) Stat(name string) (fs.FileInfo, error) {
	if !f.mayRead(name) {
		return nil, fs.ErrPermission
	}
	if name == "/dev/null" {
		return info{name: "null", mode: fs.ModeDevice | fs.ModeCharDevice | 0o666}, nil
	}
	if file, there, _ := f.node.host.Stat(name); there {
		return volumeInfo(file), nil
	}
	if text, ok := f.node.host.Texts()[name]; ok {
		return info{name: path.Base(name), size: int64(len(text)), mode: 0o640}, nil
	}
	got, err := f.node.root.Stat(inside(name))
	if err != nil && f.dirs()[name] {
		return info{name: path.Base(name), mode: fs.ModeDir | 0o755}, nil
	}
	return got, err
}

// Lstat is like Stat: there are no links but those in the folder.
func (f *files) Lstat(name string) (fs.FileInfo, error) { return f.Stat(name) }

func (f *files) ReadDir(name string) ([]fs.FileInfo, error) {
	if !f.mayRead(name) {
		return nil, fs.ErrPermission
	}
	dirs := f.dirs()
	found := map[string]fs.FileInfo{}
	dir, err := f.node.root.Open(inside(name))
	if err == nil {
		defer dir.Close()
		var list []fs.FileInfo
		if list, err = dir.Readdir(-1); err != nil {
			return nil, err
		}
		for _, i := range list {
			found[i.Name()] = i
		}
	} else if !dirs[name] {
		return nil, err
	}
	for d := range dirs {
		if d != "/" && path.Dir(d) == name && found[path.Base(d)] == nil {
			found[path.Base(d)] = info{name: path.Base(d), mode: fs.ModeDir | 0o755}
		}
	}
	for file, text := range f.node.host.Texts() {
		if path.Dir(file) == name {
			found[path.Base(file)] = info{name: path.Base(file), size: int64(len(text)), mode: 0o640}
		}
	}
	for _, file := range f.node.host.Files(name) {
		found[path.Base(file.Path)] = volumeInfo(file)
	}
	return slices.SortedFunc(maps.Values(found), func(a, b fs.FileInfo) int { return cmp.Compare(a.Name(), b.Name()) }), nil
}

func (f *files) Room(name string) (*sftp.StatVFS, error) {
	const block = 4096
	total, free := f.node.host.Room(name)
	return &sftp.StatVFS{
		Bsize: block, Frsize: block, Blocks: uint64(total) / block, Bfree: uint64(free) / block, Bavail: uint64(free) / block,
		Files: 1 << 20, Ffree: 1 << 20, Favail: 1 << 20, Namemax: 255,
	}, nil
}

// info is what a file that isn't in the folder shows.
type info struct {
	name string
	size int64
	time time.Time
	mode fs.FileMode
}

func volumeInfo(f pvesim.HostFile) info { return info{path.Base(f.Path), f.Size, f.Time, f.Mode} }

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return i.time }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

// stream reads or writes a file from its beginning to its end.
type stream struct {
	sshserver.File
	at int64
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadAt(p, s.at)
	s.at += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (s *stream) Write(p []byte) (int, error) {
	n, err := s.WriteAt(p, s.at)
	s.at += int64(n)
	return n, err
}
