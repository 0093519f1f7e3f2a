//go:build !unix

package image

import (
	"errors"
	"os"
)

// Images of guests are made on Unix only.
var errNoLock = errors.New("this system has no flock")

func lockFile(*os.File) error { return errNoLock }

func tryLock(*os.File) (bool, error) { return false, errNoLock }
