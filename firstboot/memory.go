package firstboot

import (
	"errors"
	"io"
	"io/fs"
)

// memory is a file in memory.
type memory struct {
	bytes []byte
	at    int64
}

func (m *memory) WriteAt(p []byte, off int64) (int, error) {
	if more := off + int64(len(p)) - int64(len(m.bytes)); more > 0 {
		m.bytes = append(m.bytes, make([]byte, more)...)
	}
	return copy(m.bytes[off:], p), nil
}

func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(m.bytes)) {
		return 0, io.EOF
	}
	n := copy(p, m.bytes[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (m *memory) Read(p []byte) (int, error) {
	n, err := m.ReadAt(p, m.at)
	m.at += int64(n)
	return n, err
}

func (m *memory) Seek(off int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		off += m.at
	case io.SeekEnd:
		off += int64(len(m.bytes))
	}
	if off < 0 {
		return 0, fs.ErrInvalid
	}
	m.at = off
	return off, nil
}

func (m *memory) Stat() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }
func (m *memory) Close() error               { return nil }
