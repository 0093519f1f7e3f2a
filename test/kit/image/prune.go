package image

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Files of the cache that aren't whole yet, and those that are locked in place of others.
const partMark, lockMark = ".part", ".lock"

// idle is how long something isn't used before it may go: others of this machine may have
// older recipes.
const idle = 24 * time.Hour

// prune removes what was made from other recipes for the same purpose, unless somebody
// uses it. The locks stay: somebody may be waiting for one.
func prune(dir, name string, now time.Time) error {
	locks, err := filepath.Glob(filepath.Join(dir, "*"+lockMark))
	if err != nil {
		return err
	}
	var errs []error
	for _, lock := range locks {
		path := strings.TrimSuffix(lock, lockMark)
		if other := filepath.Base(path); other != name && family(other) == family(name) {
			errs = append(errs, pruneOne(path, lock, now))
		}
	}
	return errors.Join(errs...)
}

func pruneOne(path, lock string, now time.Time) error {
	f, err := os.OpenFile(lock, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if free, err := tryLock(f); err != nil || !free {
		return err // or it is being made
	}
	used, err := f.Stat()
	if err != nil || now.Sub(used.ModTime()) < idle {
		return err
	}
	return errors.Join(os.RemoveAll(path), os.RemoveAll(path+partMark))
}

var (
	recipe  = regexp.MustCompile(`[0-9a-f]{12}`)
	version = regexp.MustCompile(`[0-9]+`)
)

// family is what the names of things for the same purpose have in common: all but what they
// were made from, and versions.
func family(name string) string {
	return version.ReplaceAllString(recipe.ReplaceAllString(name, "*"), "*")
}
