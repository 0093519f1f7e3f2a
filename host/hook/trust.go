//go:build linux

package hook

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Trusted is what nobody but root can change. Where the hook runs as somebody
// else, that is who can do no more than itself.

func trusted(info fs.FileInfo) error {
	stat := info.Sys().(*syscall.Stat_t)
	switch {
	case stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("it belongs to user %d, not to root", stat.Uid)
	case info.Mode()&fs.ModeSymlink != 0: // all of them have all rights, which mean nothing
	case info.Mode().Perm()&0o022 != 0 && (!info.IsDir() || info.Mode()&fs.ModeSticky == 0):
		// In a sticky directory nobody replaces what belongs to another.
		return fmt.Errorf("others than root may write to it (mode %04o)", info.Mode().Perm())
	}
	return nil
}

// trustedPath resolves a path, and checks all that it leads through, from base on: every
// directory, and every link. So nobody but root can change where it leads, neither by what
// is there nor by a link to something else of root's.
func trustedPath(base, path string) (string, error) {
	base = filepath.Join(base, "/")
	at, err := filepath.EvalSymlinks(base)
	if err != nil {
		return "", err
	}
	rest, err := filepath.Rel(base, path)
	if err != nil {
		return "", err
	}
	if !filepath.IsLocal(rest) {
		at, rest = "/", path
	}
	if err := trustedAt(at); err != nil {
		return "", err
	}
	const maxLinks = 40 // as the kernel has it
	for links := 0; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(strings.TrimLeft(rest, "/"), "/")
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if err := trustedAt(next); err != nil {
			return "", err
		}
		to, err := os.Readlink(next)
		if err != nil { // it is no link
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s: %w", path, syscall.ELOOP)
		}
		if filepath.IsAbs(to) {
			at = "/"
			if err := trustedAt(at); err != nil {
				return "", err
			}
		}
		rest = to + "/" + rest
	}
	return at, nil
}

// trustedAt checks what lies at a path itself.
func trustedAt(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if err := trusted(info); err != nil {
		return fmt.Errorf("%s isn't trusted: %w", path, err)
	}
	return nil
}

// readTrusted reads a file that only root can have written, up to a size.
func readTrusted(base, path string, limit int64) ([]byte, error) {
	real, err := trustedPath(base, path)
	if err != nil {
		return nil, err
	}
	f, err := openPlain(real)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// What was opened counts, not what lay there before.
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := trusted(info); err != nil {
		return nil, fmt.Errorf("%s isn't trusted: %w", path, err)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", path, info.Size(), limit)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// openPlain opens a plain file: no link, no device, no pipe that blocks.
func openPlain(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no plain file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// privateDir makes a directory that is ours alone, or checks that it is.
func (h *Host) privateDir(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no directory", path)
	}
	_, err = trustedPath(h.Root, path)
	return err
}

// openShare opens a directory on the way to which there is no link, so that
// what was allowed is what is shared.
func openShare(path string) (*os.File, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	switch err {
	case nil:
		return os.NewFile(uintptr(fd), path), nil
	case unix.ELOOP:
		return nil, fmt.Errorf("share %s: a symbolic link is on the way; name the real path", path)
	case unix.ENOENT:
		return nil, fmt.Errorf("share %s: there is no such directory", path)
	case unix.ENOTDIR:
		return nil, fmt.Errorf("share %s: that is no directory", path)
	}
	return nil, fmt.Errorf("share %s: %w", path, err)
}
