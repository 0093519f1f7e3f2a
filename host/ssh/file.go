package ssh

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/pkg/sftp"
)

// partMark begins the suffix of files that are being written.
const partMark = ".proxplane-part-"

// stale is the age at which the remains of a write belong to nobody any more.
const stale = time.Hour

// sftp is the connection's file service, started when first needed.
func (c *Conn) sftp() (*sftp.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files != nil {
		return c.files, nil
	}
	var err error
	c.files, err = sftp.NewClient(c.client, sftp.UseConcurrentWrites(true))
	if err != nil {
		return nil, fmt.Errorf("start SFTP: %w", explain(err))
	}
	return c.files, nil
}

// do runs a file operation, and says what it was about.
func (c *Conn) do(ctx context.Context, what, name string, operation func(*sftp.Client) error) error {
	stop := c.guard(ctx)
	defer stop()
	files, err := c.sftp()
	if err == nil {
		err = operation(files)
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("%s %s on %s: %w", what, name, c.host, explain(err))
}

// WriteFile writes a file atomically: no reader sees a part of it. After a failure nothing
// is left behind; if the connection broke, a second one cleans up.
func (c *Conn) WriteFile(ctx context.Context, name string, data []byte, mode fs.FileMode) error {
	// Whoever opens a file before its mode is set reads all that is written into it later:
	// so it is written in a folder that nobody else may look into.
	folder := path.Join(path.Dir(name), "."+path.Base(name)+partMark+rand.Text()[:8])
	part := path.Join(folder, path.Base(name))
	err := c.do(ctx, "write", name, func(files *sftp.Client) error {
		if err := private(files, folder); err != nil {
			return withRoom(files, folder, 1, err)
		}
		if err := writePart(ctx, files, part, data, mode); err != nil {
			return err
		}
		if err := files.PosixRename(part, name); err != nil {
			return err
		}
		_ = files.RemoveDirectory(folder) // or a later write sweeps it
		sweep(files, name, folder)
		return nil
	})
	if err != nil {
		err = errors.Join(err, c.discard(ctx, part))
	}
	return err
}

// private makes a folder that nobody else may look into.
func private(files *sftp.Client, folder string) error {
	if err := files.Mkdir(folder); err != nil {
		return err
	}
	return files.Chmod(folder, 0o700)
}

func writePart(ctx context.Context, files *sftp.Client, part string, data []byte, mode fs.FileMode) error {
	f, err := files.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return withRoom(files, part, len(data), err)
	}
	defer f.Close()
	// Before there is anything to read.
	if err := f.Chmod(0o600); err != nil {
		return err
	}
	const chunk = 1 << 20
	for at := 0; at < len(data); at += chunk {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, err := f.Write(data[at:min(at+chunk, len(data))]); err != nil {
			return withRoom(files, part, len(data)-at, err)
		}
	}
	if _, ok := files.HasExtension("fsync@openssh.com"); ok {
		if err := f.Sync(); err != nil {
			return withRoom(files, part, 1, err)
		}
	}
	if err := f.Chmod(mode.Perm()); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return withRoom(files, part, 1, err)
	}
	return nil
}

// withRoom finds out whether an error means that the disk is full: most servers
// don't say it.
func withRoom(files *sftp.Client, part string, need int, err error) error {
	sure, maybe := noRoom(err)
	if maybe && !sure {
		disk, serr := files.StatVFS(path.Dir(part))
		sure = serr == nil && (disk.FreeSpace() < uint64(need) || disk.Files > 0 && disk.Favail == 0)
	}
	if sure {
		return fmt.Errorf("%w in %s", ErrNoSpace, path.Dir(part))
	}
	return err
}

// sweep removes what writes of the same file left that were killed. How old it
// is, the other side's clock says.
func sweep(files *sftp.Client, name, folder string) {
	own, err := files.Stat(name)
	if err != nil {
		return
	}
	list, err := files.ReadDir(path.Dir(name))
	if err != nil {
		return
	}
	for _, f := range list {
		if strings.HasPrefix(f.Name(), "."+path.Base(name)+partMark) && f.Name() != path.Base(folder) && own.ModTime().Sub(f.ModTime()) > stale {
			left := path.Join(path.Dir(name), f.Name())
			_ = files.Remove(path.Join(left, path.Base(name)))
			_ = files.Remove(left)
		}
	}
}

// discard removes what a failed write left, over a new connection if this one is
// of no use any more.
func (c *Conn) discard(ctx context.Context, part string) error {
	remove := func(c *Conn) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.config.Timeout)
		defer cancel()
		if err := c.Remove(ctx, part); err != nil {
			return err
		}
		return c.Remove(ctx, path.Dir(part))
	}
	if remove(c) == nil {
		return nil
	}
	again, err := Dial(context.WithoutCancel(ctx), c.host, c.config)
	if err == nil {
		err = remove(again)
		_ = again.Close()
	}
	if err != nil {
		return fmt.Errorf("part of it may be left: %w", err)
	}
	return nil
}

// Remove removes a file, if it exists.
func (c *Conn) Remove(ctx context.Context, name string) error {
	return c.do(ctx, "remove", name, func(files *sftp.Client) error {
		if err := files.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// ReadFile reads a whole file.
func (c *Conn) ReadFile(ctx context.Context, name string) (data []byte, err error) {
	err = c.do(ctx, "read", name, func(files *sftp.Client) error {
		f, err := files.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		data, err = io.ReadAll(f)
		return err
	})
	return data, err
}

// Stat describes a file.
func (c *Conn) Stat(ctx context.Context, name string) (info fs.FileInfo, err error) {
	err = c.do(ctx, "look at", name, func(files *sftp.Client) error {
		info, err = files.Stat(name)
		return err
	})
	return info, err
}

// MkdirAll creates a directory with its parents, each with the mode. Existing ones stay as
// they are.
func (c *Conn) MkdirAll(ctx context.Context, name string, mode fs.FileMode) error {
	return c.do(ctx, "make directory", name, func(files *sftp.Client) error { return mkdirAll(files, path.Clean(name), mode) })
}

func mkdirAll(files *sftp.Client, name string, mode fs.FileMode) error {
	for at := 1; at <= len(name); at++ {
		if at < len(name) && name[at] != '/' {
			continue
		}
		dir := name[:at]
		switch info, err := files.Stat(dir); {
		case err == nil && info.IsDir():
			continue
		case err == nil:
			return fmt.Errorf("%s is no directory", dir)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if err := files.Mkdir(dir); err != nil {
			return err
		}
		if err := files.Chmod(dir, mode); err != nil {
			return err
		}
	}
	return nil
}
