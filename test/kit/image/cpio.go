package image

import (
	"fmt"
	"io"
)

// archive writes a cpio archive in the form that the kernel unpacks as the
// root of its first file system.
type archive struct {
	out io.Writer
	n   int // bytes so far
	ino int
	err error
}

// Modes of entries.
const (
	modeDir  = 0o040755
	modeFile = 0o100755
	modeLink = 0o120777
)

// entry adds a directory, a file, or a link with its target as data.
func (a *archive) entry(name string, mode int, data []byte) {
	a.ino++
	links := 1
	if mode == modeDir {
		links = 2
	}
	a.write([]byte(fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		a.ino, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(name)+1, 0)))
	a.write([]byte(name + "\x00"))
	a.pad()
	a.write(data)
	a.pad()
}

func (a *archive) write(b []byte) {
	if a.err == nil {
		_, a.err = a.out.Write(b)
		a.n += len(b)
	}
}

// pad fills up to where the next part may begin.
func (a *archive) pad() { a.write(make([]byte, (4-a.n%4)%4)) }

// close ends the archive.
func (a *archive) close() error {
	a.entry("TRAILER!!!", 0, nil)
	return a.err
}
