package proxplane_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/proxplane/proxplane/test/kit/need"
)

var firstLine = regexp.MustCompile(`^#!\s*\S*(/sh|/bash|env bash|env sh)\b`)

func TestShellcheckAcceptsEveryScript(t *testing.T) {
	program := need.Program(t, "shellcheck")
	var scripts []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && notOurs(path):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		line, _, _ := bytes.Cut(text, []byte("\n"))
		if firstLine.Match(line) {
			scripts = append(scripts, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(scripts) < 3 {
		t.Errorf("only %q were found", scripts)
	}
	if said, err := exec.Command(program, scripts...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
