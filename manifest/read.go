package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxFile bounds what is read of one file.
const maxFile = 32 << 20

// Read reads manifests: from files, from all *.yaml, *.yml and *.json of a
// folder (not of folders inside), and from stdin where a path is "-". The error
// is of type [Errors] if what was read is wrong, and tells all of it.
func Read(paths []string, stdin io.Reader) (*Set, error) {
	r := &reader{}
	for _, path := range paths {
		if err := r.readPath(path, stdin); err != nil {
			return nil, err
		}
	}
	return r.set()
}

// ReadInstead is like [Read], with another text in place of one of the files.
func ReadInstead(paths []string, file string, text []byte) (*Set, error) {
	r := &reader{instead: map[string][]byte{file: text}}
	for _, path := range paths {
		if err := r.readPath(path, nil); err != nil {
			return nil, err
		}
	}
	return r.set()
}

// Parse reads the manifests in a text; the file's name is for errors.
func Parse(file string, data []byte) (*Set, error) {
	r := &reader{}
	r.parse(file, data)
	return r.set()
}

// reader collects documents and what is wrong with them.
type reader struct {
	docs  []*document
	errs  Errors
	notes []*Error
	nodes int // of the present document

	instead map[string][]byte // texts in the place of files
}

func (r *reader) fail(file string, line int, format string, args ...any) {
	r.errs = append(r.errs, &Error{File: file, Line: line, Text: fmt.Sprintf(format, args...)})
}

func (r *reader) readPath(path string, stdin io.Reader) error {
	if path == "-" {
		if stdin == nil {
			return errors.New("there is no standard input to read manifests from")
		}
		return r.readFrom("stdin", stdin)
	}
	info, err := os.Stat(path)
	if err != nil {
		return NotRead(path, err)
	}
	if !info.IsDir() {
		return r.readFile(path)
	}
	files, err := manifestsIn(path)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := r.readFile(f); err != nil {
			return err
		}
	}
	return nil
}

// Files returns the files that [Read] reads for a path; the standard input is an error,
// since it can be read only once.
func Files(path string) ([]string, error) {
	if path == "-" {
		return nil, errors.New("the standard input can be read only once: put the manifests into a file")
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, NotRead(path, err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	return manifestsIn(path)
}

// NotRead returns the error for a file that can't be read.
func NotRead(path string, err error) error {
	var cause *fs.PathError
	switch {
	case strings.Contains(path, "://"):
		return fmt.Errorf("%s isn't a file: fetch it first (curl -fsS %s)", path, path)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s isn't there: no such file or folder", path)
	case errors.As(err, &cause):
		return fmt.Errorf("%s can't be read: %w", path, cause.Err)
	}
	return fmt.Errorf("%s can't be read: %w", path, err)
}

// ErrNoManifests says that a folder has no manifests, whatever folders inside of it have.
var ErrNoManifests = errors.New("has no *.yaml, *.yml or *.json")

func manifestsIn(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, NotRead(folder, err)
	}
	var files []string
	for _, e := range entries {
		ext := strings.ToLower(filepath.Ext(e.Name()))
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && slices.Contains([]string{".yaml", ".yml", ".json"}, ext) {
			files = append(files, filepath.Join(folder, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("folder %s %w", folder, ErrNoManifests)
	}
	return files, nil
}

func (r *reader) readFile(path string) error {
	if text, ok := r.instead[path]; ok {
		r.parse(path, text)
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return NotRead(path, err)
	}
	defer f.Close()
	return r.readFrom(path, f)
}

func (r *reader) readFrom(name string, in io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return NotRead(name, err)
	}
	if len(data) > maxFile {
		return fmt.Errorf("%s is too large for manifests: more than %d MiB", name, maxFile>>20)
	}
	r.parse(name, data)
	return nil
}
