package ui

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// errNoHome: there is no place for files of the person.
var errNoHome = errors.New("HOME isn't set")

// ConfigFile returns a file of proxplane's in the person's folder for settings.
func (u *UI) ConfigFile(name string) (string, error) {
	dir := u.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		home := u.Getenv("HOME")
		if home == "" {
			return "", errNoHome
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "proxplane", name), nil
}

// CheckWritable reports why WriteWhole couldn't write a file, for those who would do a lot before.
func CheckWritable(file string) error {
	file, through, err := behind(file)
	if err != nil || through {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	return errors.Join(tmp.Close(), os.Remove(tmp.Name()))
}

// behind follows symbolic links, so that a new file takes the place of what they lead to and the links stay. through
// means that nothing can take its place: it is a device or a pipe, and is written to.
func behind(file string) (at string, through bool, err error) {
	info, err := os.Stat(file)
	switch {
	case err != nil: // there is none yet, or making it says why there can't be one
		return file, false, nil //nolint:nilerr // see above
	case info.IsDir():
		return file, false, fmt.Errorf("%s is a folder; name a file", file)
	case !info.Mode().IsRegular():
		return file, true, nil
	}
	at, err = filepath.EvalSymlinks(file)
	return at, false, err
}

// WriteWhole writes a file by putting a new one into its place.
func WriteWhole(file string, text []byte, mode os.FileMode) (err error) {
	file, through, err := behind(file)
	if err != nil {
		return err
	}
	if through {
		return os.WriteFile(file, text, mode)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Chmod(mode), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}
