package nodeos

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/proxplane/proxplane/host/ssh/sshserver"
	"github.com/proxplane/proxplane/pvesim"
)

// writeVolume opens a file that is on its storage when it is closed.
func (f *files) writeVolume(info pvesim.HostFile, there bool, name string, flag int) (sshserver.File, error) {
	switch {
	case there && flag&os.O_EXCL != 0:
		return nil, fs.ErrExist
	case !there && flag&os.O_CREATE == 0:
		return nil, fs.ErrNotExist
	}
	part, err := os.CreateTemp(f.node.parts, "")
	if err != nil {
		return nil, err
	}
	w := &volumeWriter{File: part, host: f.node.host, name: name, mode: info.Mode}
	if there && flag&os.O_TRUNC == 0 {
		err = w.copyOld(flag&os.O_APPEND != 0)
	}
	if err != nil {
		w.discard()
		return nil, err
	}
	return w, nil
}

// volumeWriter is a file of a storage that is being written.
type volumeWriter struct {
	*os.File
	host *pvesim.Host
	name string
	mode fs.FileMode
	done bool
}

func (w *volumeWriter) copyOld(add bool) error {
	r, size, err := w.host.Open(w.name)
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err = io.Copy(w.File, io.NewSectionReader(r, 0, size)); err == nil && !add {
		_, err = w.Seek(0, io.SeekStart)
	}
	return err
}

func (w *volumeWriter) discard() {
	_ = w.File.Close()
	_ = os.Remove(w.File.Name())
}

func (w *volumeWriter) Close() error {
	if w.done {
		return fs.ErrClosed
	}
	w.done = true
	defer w.discard()
	if _, err := w.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return w.host.Put(w.name, w.File, w.mode)
}

func (f *files) Mkdir(name string, perm fs.FileMode) error {
	switch {
	case !f.mayWrite(name):
		return fs.ErrPermission
	case f.dirs()[name]:
		return fs.ErrExist
	}
	if err := f.ensure(name); err != nil {
		return err
	}
	return f.node.root.Mkdir(inside(name), perm)
}

func (f *files) Remove(name string) error {
	if !f.mayWrite(name) {
		return fs.ErrPermission
	}
	if _, there, _ := f.node.host.Stat(name); there {
		return f.node.host.Remove(name)
	}
	if _, ok := f.node.host.Texts()[name]; ok || f.dirs()[name] {
		return fs.ErrPermission
	}
	return f.node.root.Remove(inside(name))
}

func (f *files) Rename(old, name string) error {
	if !f.mayWrite(old) || !f.mayWrite(name) {
		return fs.ErrPermission
	}
	_, fromVolume, _ := f.node.host.Stat(old)
	_, _, toVolume := f.node.host.Stat(name)
	if !fromVolume && !toVolume {
		if err := f.ensure(name); err != nil {
			return err
		}
		return f.node.root.Rename(inside(old), inside(name))
	}
	info, err := f.Stat(old)
	if err == nil && info.IsDir() {
		err = fs.ErrPermission
	}
	if err == nil {
		err = f.copy(old, name)
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(name, info.Mode().Perm()), f.Remove(old))
}

// copy copies a file.
func (f *files) copy(old, name string) error {
	from, err := f.OpenFile(old, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := f.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(&stream{File: to}, &stream{File: from})
	return errors.Join(err, to.Close())
}

func (f *files) Chmod(name string, mode fs.FileMode) error {
	if !f.mayWrite(name) {
		return fs.ErrPermission
	}
	if _, there, _ := f.node.host.Stat(name); there {
		return f.node.host.Chmod(name, mode)
	}
	if err := f.ensure(name); err != nil {
		return err
	}
	if f.dirs()[name] {
		return nil
	}
	return f.node.root.Chmod(inside(name), mode.Perm())
}
