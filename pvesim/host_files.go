package pvesim

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// HostFile is a file of a storage as its node sees it.
type HostFile struct {
	Path string
	Size int64
	Time time.Time
	Mode fs.FileMode
}

// Dirs returns the directories of the storages that the node has.
func (h *Host) Dirs() (list []string) {
	h.sim.mu.Lock()
	defer h.sim.mu.Unlock()
	for _, st := range h.storages() {
		list = append(list, st.path())
		for _, kind := range st.contents() {
			if _, ok := subdirs[kind]; ok {
				list = append(list, st.dir(kind))
			}
		}
		for _, v := range h.sim.space(st.ID, h.node).Volumes {
			if v.Content == "images" {
				list = append(list, path.Dir(h.pathOf(st, v)))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// storages are those of the node that have files.
func (h *Host) storages() (list []*Storage) {
	for _, id := range sortedKeys(h.sim.state.Storages) {
		st := h.sim.state.Storages[id]
		if st.plugin().files && st.OnNode(h.node) && st.Conf["disable"] != "1" {
			list = append(list, st)
		}
	}
	return list
}

func (h *Host) pathOf(st *Storage, v *Volume) string {
	n, err := st.parseName(v.volname())
	if err != nil {
		return ""
	}
	return st.pathOf(n)
}

// Files returns the files of storages in a directory.
func (h *Host) Files(dir string) (list []HostFile) {
	h.sim.mu.Lock()
	defer h.sim.mu.Unlock()
	for _, st := range h.storages() {
		if !strings.HasPrefix(dir+"/", st.path()+"/") && dir != st.path() {
			continue
		}
		for _, v := range h.sim.space(st.ID, h.node).Volumes {
			if file := h.pathOf(st, v); path.Dir(file) == dir {
				list = append(list, v.hostFile(file))
			}
		}
	}
	return list
}

func (v *Volume) hostFile(file string) HostFile {
	out := HostFile{Path: file, Size: v.Used, Time: v.CTime, Mode: 0o644}
	if v.Mode != 0 {
		out.Mode = fs.FileMode(v.Mode)
	}
	return out
}

// find is the volume that a file is, and whether a file of that name would be one.
func (h *Host) find(file string) (v *Volume, sp *Space, f *newFile) {
	kind, volid := h.sim.pathVolume(h.node, file)
	if volid == "" {
		return nil, nil, nil
	}
	v, sp = h.sim.volume(h.node, volid)
	id, _, _ := splitVolID(volid)
	st := h.sim.state.Storages[id]
	if !st.OnNode(h.node) || st.Conf["disable"] == "1" {
		return nil, nil, nil
	}
	if kind != "images" {
		f = &newFile{node: h.node, storage: st, content: kind, name: path.Base(file), ova: strings.HasSuffix(file, ".ova")}
	}
	return v, sp, f
}

// Stat returns a file of a storage. volume reports whether a file of that name is
// one, whether it is there or not.
func (h *Host) Stat(file string) (info HostFile, there, volume bool) {
	h.sim.mu.Lock()
	defer h.sim.mu.Unlock()
	v, _, f := h.find(file)
	if v != nil {
		return v.hostFile(file), true, true
	}
	return HostFile{}, false, f != nil
}

// Open reads a file of a storage. Volumes that were made without bytes, such as
// disks, read as zeros.
func (h *Host) Open(file string) (r interface {
	io.ReaderAt
	io.Closer
}, size int64, err error) {
	h.sim.mu.Lock()
	defer h.sim.mu.Unlock()
	v, _, _ := h.find(file)
	if v == nil {
		return nil, 0, fs.ErrNotExist
	}
	if v.Blob == "" {
		return zeros(v.Used), v.Used, nil
	}
	b, err := h.sim.blobs.open(v.Blob)
	if err != nil {
		return nil, 0, err
	}
	return b, v.Used, nil
}

// zeros is a file of nothing.
type zeros int64

func (z zeros) ReadAt(p []byte, at int64) (int, error) {
	n := min(int64(len(p)), max(0, int64(z)-at))
	clear(p[:n])
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

func (zeros) Close() error { return nil }

// Put writes a file of a storage, in place of one that is there. Unlike an upload
// nobody looks whether it is what its name says.
func (h *Host) Put(file string, content io.Reader, mode fs.FileMode) error {
	s := h.sim
	s.mu.Lock()
	blob := s.newBlob()
	s.mu.Unlock()
	_, err := io.Copy(blob, content)
	if err == nil {
		err = blob.finish()
	}
	if err != nil {
		blob.discard()
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, _, f := h.find(file)
	if f == nil || blob.size > s.roomOf(f) {
		s.blobs.remove(blob.name)
		if f == nil {
			return fs.ErrPermission
		}
		return ErrNoRoom
	}
	if v != nil && mode == 0 {
		mode = fs.FileMode(v.Mode)
	}
	info := imageInfo{format: "raw", size: blob.size}
	if f.content == "import" && !f.ova {
		if info, err = s.probeBlob(blob.name, blob.size); err != nil {
			info = imageInfo{format: "raw", size: blob.size}
		}
	}
	s.putFile(f, blob.name, blob.size, info)
	if v, _, _ := h.find(file); v != nil {
		v.Mode = uint32(mode.Perm())
	}
	s.dirty()
	return nil
}

// ErrNoRoom says that a storage is full.
var ErrNoRoom = fmt.Errorf("No space left on device")

func (s *Sim) probeBlob(name string, size int64) (imageInfo, error) {
	r, err := s.blobs.open(name)
	if err != nil {
		return imageInfo{}, err
	}
	defer r.Close()
	return probeImage(r, size, "")
}

// Remove removes a file of a storage.
func (h *Host) Remove(file string) error {
	h.sim.mu.Lock()
	defer h.sim.mu.Unlock()
	v, sp, _ := h.find(file)
	if v == nil {
		return fs.ErrNotExist
	}
	h.sim.forget(sp, v)
	h.sim.dirty()
	return nil
}

// Chmod changes who may use a file of a storage.
func (h *Host) Chmod(file string, mode fs.FileMode) error {
	h.sim.mu.Lock()
	defer h.sim.mu.Unlock()
	v, _, _ := h.find(file)
	if v == nil {
		return fs.ErrNotExist
	}
	v.Mode = uint32(mode.Perm())
	h.sim.dirty()
	return nil
}

// Room returns how much fits where a file is: on its storage, or else on the node's own
// disk.
func (h *Host) Room(file string) (total, free int64) {
	h.sim.mu.Lock()
	defer h.sim.mu.Unlock()
	for _, st := range h.storages() {
		if strings.HasPrefix(file+"/", st.path()+"/") {
			sp := h.sim.space(st.ID, h.node)
			return sp.Total, sp.Free()
		}
	}
	return defaultSpace, defaultSpace
}

// VolumePath returns the path of a volume on the node.
func (h *Host) VolumePath(volid string) (string, error) {
	h.sim.mu.Lock()
	defer h.sim.mu.Unlock()
	if _, err := h.sim.parseVolID(volid); err != nil {
		return "", err
	}
	return h.sim.volumePath(volid), nil
}
