// Package image builds the guests of the tests from Debian's packages and
// from Go: nothing is downloaded that isn't a package. What was built is kept
// in the user's cache folder, under names that change with all that it was
// made from, until something of another recipe takes its place.
package image

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Dir is where images are kept: $PROXPLANE_GUESTS, or the cache folder.
func Dir() (string, error) {
	dir := os.Getenv("PROXPLANE_GUESTS")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no cache folder (set PROXPLANE_GUESTS): %w", err)
		}
		dir = filepath.Join(cache, "proxplane", "guests")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// key is a short name for all that something is made from.
func key(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return fmt.Sprintf("%x", sum[:6])
}

// fileKey is the key of a file's bytes.
func fileKey(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:6]), nil
}

// once makes a file of the cache, unless it is there. Whoever comes while it
// is being made waits; what is half made never has the name.
func once(name string, build func(path string) error) (string, error) {
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	lock, err := os.OpenFile(path+lockMark, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := lockFile(lock); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	// When the lock was changed is when this was used last.
	if err := os.Chtimes(lock.Name(), time.Time{}, time.Now()); err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	part := path + partMark
	if err := os.RemoveAll(part); err != nil {
		return "", err
	}
	if err := build(part); err != nil {
		return "", errors.Join(err, os.RemoveAll(part))
	}
	if err := os.Rename(part, path); err != nil {
		return "", err
	}
	return path, prune(dir, name, time.Now())
}

// output runs a program and returns what it prints.
func output(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out, nil
}
