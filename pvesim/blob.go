package pvesim

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// blobInMemory is up to what size a blob is kept in memory.
const blobInMemory = 256 << 10

// blobStore keeps the bytes of uploaded and downloaded files: small ones in
// memory, others in files of a temporary directory. With a data directory
// all are files there, so that they outlive a restart.
type blobStore struct {
	mu     sync.Mutex
	keep   bool   // the directory is the data directory's
	dir    string // made when first needed
	parent string
	memory map[string][]byte
}

func (b *blobStore) init(dataDir string) {
	b.memory = map[string][]byte{}
	if dataDir == "" {
		return
	}
	b.keep, b.parent = true, dataDir
	// What was being received when an earlier run ended.
	parts, _ := filepath.Glob(filepath.Join(dataDir, "blobs", "*.part"))
	for _, p := range parts {
		_ = os.Remove(p)
	}
}

// close gives up what isn't to be kept.
func (b *blobStore) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.keep && b.dir != "" {
		_ = os.RemoveAll(b.dir)
		b.dir = ""
	}
	b.memory = map[string][]byte{}
}

// folder is the directory for files.
func (b *blobStore) folder() (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dir != "" {
		return b.dir, nil
	}
	if b.keep {
		dir := filepath.Join(b.parent, "blobs")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", fmt.Errorf("blob store: %w", err)
		}
		b.dir = dir
		return dir, nil
	}
	dir, err := os.MkdirTemp("", "pvesim-")
	if err != nil {
		return "", fmt.Errorf("blob store: %w", err)
	}
	b.dir = dir
	return dir, nil
}

// blobWriter takes the bytes of a new blob. It needs no lock of the
// simulator while it is being written.
type blobWriter struct {
	store *blobStore
	name  string
	size  int64
	buf   bytes.Buffer
	file  *os.File
}

// create starts a blob; finish or discard must be called on it.
func (b *blobStore) create(name string) *blobWriter { return &blobWriter{store: b, name: name} }

func (w *blobWriter) Write(p []byte) (int, error) {
	if w.file == nil && (w.store.keep || w.buf.Len()+len(p) > blobInMemory) {
		dir, err := w.store.folder()
		if err != nil {
			return 0, err
		}
		if w.file, err = os.Create(filepath.Join(dir, w.name+".part")); err != nil {
			return 0, fmt.Errorf("blob store: %w", err)
		}
		if _, err := w.buf.WriteTo(w.file); err != nil {
			return 0, fmt.Errorf("blob store: %w", err)
		}
	}
	var n int
	var err error
	if w.file != nil {
		n, err = w.file.Write(p)
	} else {
		n, err = w.buf.Write(p)
	}
	w.size += int64(n)
	return n, err
}

// finish makes the blob readable.
func (w *blobWriter) finish() error {
	if w.file == nil && !w.store.keep {
		w.store.mu.Lock()
		defer w.store.mu.Unlock()
		w.store.memory[w.name] = w.buf.Bytes()
		return nil
	}
	if w.file == nil { // kept, and empty
		if _, err := w.Write(nil); err != nil {
			return err
		}
	}
	if err := w.file.Close(); err != nil {
		return fmt.Errorf("blob store: %w", err)
	}
	part := w.file.Name()
	if err := os.Rename(part, strings.TrimSuffix(part, ".part")); err != nil {
		return fmt.Errorf("blob store: %w", err)
	}
	return nil
}

// discard gives up a blob that isn't finished.
func (w *blobWriter) discard() {
	if w.file != nil {
		_ = w.file.Close()
		_ = os.Remove(w.file.Name())
	}
}

// blobReader reads a blob, in order or anywhere.
type blobReader interface {
	io.Reader
	io.ReaderAt
	io.Closer
}

type memoryBlob struct{ *bytes.Reader }

func (memoryBlob) Close() error { return nil }

// open reads a blob.
func (b *blobStore) open(name string) (blobReader, error) {
	if filepath.IsAbs(name) {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		return f, nil
	}
	b.mu.Lock()
	data, ok := b.memory[name]
	b.mu.Unlock()
	if ok {
		return memoryBlob{bytes.NewReader(data)}, nil
	}
	dir, err := b.folder()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("blob store: %w", err)
	}
	return f, nil
}

// path is the file that a blob is in, for other programs.
func (b *blobStore) path(name string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	dir, err := b.folder()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.memory[name]
	if !ok {
		return path, nil
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return "", fmt.Errorf("blob store: %w", err)
	}
	delete(b.memory, name)
	return path, nil
}

// remove forgets a blob. Files of this host that aren't ours stay.
func (b *blobStore) remove(name string) {
	if name == "" || filepath.IsAbs(name) {
		return
	}
	b.mu.Lock()
	_, ok := b.memory[name]
	delete(b.memory, name)
	dir := b.dir
	if dir == "" && b.keep {
		dir = filepath.Join(b.parent, "blobs")
	}
	b.mu.Unlock()
	if !ok && dir != "" {
		_ = os.Remove(filepath.Join(dir, name))
	}
}

// duplicate copies a blob into a new one; "" has no bytes.
func (b *blobStore) duplicate(name string, start func() *blobWriter) (string, error) {
	if name == "" {
		return "", nil
	}
	r, err := b.open(name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	w := start()
	if _, err := io.Copy(w, r); err != nil {
		w.discard()
		return "", err
	}
	return w.name, w.finish()
}

// newBlob starts a blob under a name of its own.
func (s *Sim) newBlob() *blobWriter { return s.blobs.create(fmt.Sprintf("blob-%d", s.serial("blob"))) }

// volumeBytes reads up to limit bytes of a volume's file; volumes that were
// made without bytes read as nothing.
func (s *Sim) volumeBytes(v *Volume, limit int64) ([]byte, error) {
	if v.Blob == "" {
		return nil, nil
	}
	r, err := s.blobs.open(v.Blob)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, limit))
}
