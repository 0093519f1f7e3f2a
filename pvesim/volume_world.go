package pvesim

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// takeFile gives a volume the bytes of a file of this host.
func (v *Volume) takeFile(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	v.Blob, v.Used = path, info.Size()
	v.Size = max(v.Size, v.Used)
	if v.Content == "images" || v.Content == "import" {
		image, err := probeImage(f, info.Size(), "")
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		v.Size = image.size
	}
	return nil
}

// addWorldVolume puts a file onto a storage: "iso/x.iso", "import/x.qcow2",
// "snippets/x.yaml", or a disk ("9000/vm-9000-disk-0.qcow2"). An image's
// Size is that of the disk inside it.
func (s *Sim) addWorldVolume(node, storage string, w WorldVolume) error {
	st := s.state.Storages[storage]
	if st == nil {
		return fmt.Errorf("storage %q isn't there", storage)
	}
	n, err := st.parseName(w.Name)
	if err != nil {
		return err
	}
	sp := s.space(storage, node)
	if st.Shared() && sp.Volumes[n.key()] != nil {
		return nil // the same on all nodes, and placed once for each
	}
	v := &Volume{Name: n.key(), Content: n.kind, Format: n.format, VMID: n.vmid, Parent: n.base, CTime: s.now()}
	v.Size, v.Used = int64(w.Size), int64(w.Size)
	if w.Text != "" {
		blob := s.newBlob()
		if _, err := io.Copy(blob, strings.NewReader(w.Text)); err != nil {
			blob.discard()
			return err
		}
		if err := blob.finish(); err != nil {
			return err
		}
		v.Blob, v.Used = blob.name, blob.size
		v.Size = max(v.Size, v.Used)
	}
	if w.File != "" {
		if err := v.takeFile(w.File); err != nil {
			return err
		}
	}
	if n.kind == "images" || n.kind == "import" {
		v.System = w.System
	}
	if n.kind == "images" {
		v.Size = st.rounded(v.Size)
		v.Used = st.written(n.format, v.Size, v.Used)
	}
	sp.put(v)
	return nil
}

// PutFile puts a small file onto a storage of a node, as somebody does who has a
// shell there: "local:snippets/user.yaml".
func (s *Sim) PutFile(node, volid string, content []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	storage, name, _ := strings.Cut(volid, ":")
	if s.state.Storages[storage] != nil {
		if v, sp := s.volume(node, volid); v != nil {
			s.forget(sp, v)
		}
	}
	defer s.dirty()
	return s.addWorldVolume(node, storage, WorldVolume{Name: name, Text: string(content)})
}
