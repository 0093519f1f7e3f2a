package manifest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Folders returns a path and, if it is a folder, all folders below it that have manifests. Hidden
// ones are left out.
func Folders(path string) ([]string, error) {
	info, err := os.Stat(path)
	if path == "-" || err == nil && !info.IsDir() {
		return []string{path}, nil
	}
	if err != nil {
		return nil, NotRead(path, err)
	}
	list := []string{}
	err = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return NotRead(at, err)
		case !d.IsDir():
			return nil
		case at != path && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		}
		if files, err := manifestsIn(at); err == nil && len(files) > 0 {
			list = append(list, at)
		}
		return nil
	})
	if len(list) == 0 && err == nil {
		list = append(list, path) // reading it reports that it has no manifests
	}
	return list, err
}
