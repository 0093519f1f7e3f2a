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
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder; name a file", file)
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

// WriteWhole writes a file by putting a new one into its place.
func WriteWhole(file string, text []byte, mode os.FileMode) (err error) {
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
