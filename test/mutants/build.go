package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is what "go list" says of a package.
type listed struct {
	Dir, ImportPath, Name, Export string
	GoFiles                       []string
}

// list asks Go for packages and what they import, compiled.
func list(ctx context.Context, patterns ...string) ([]listed, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-export", "-deps", "-json=Dir,ImportPath,Name,Export,GoFiles"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(patterns, " "), err)
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("read what go list says: %w", err)
		}
		all = append(all, p)
	}
}

// mutatePackage writes a package with all its mutants into dir, and says in overlay which files stand for which.
func mutatePackage(p listed, exports map[string]string, dir string, next func() int, overlay map[string]string) ([]mutant, error) {
	fset := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		one, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", name, err)
		}
		parsed = append(parsed, one)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	if _, err := conf.Check(p.ImportPath, fset, parsed, info); err != nil {
		return nil, fmt.Errorf("check the types of %s: %w", p.ImportPath, err)
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var mutants []mutant
	for i, one := range parsed {
		if ast.IsGenerated(one) {
			continue
		}
		path := filepath.Join(p.Dir, p.GoFiles[i])
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		f := &file{here: here, fset: fset, info: info, text: text, start: one.FileStart, next: next}
		f.mutate(one)
		to := filepath.Join(dir, fmt.Sprintf("%s-%s", p.Name, p.GoFiles[i]))
		if err := os.WriteFile(to, f.mutated(), 0o600); err != nil {
			return nil, err
		}
		overlay[path] = to
		mutants = append(mutants, f.mutants...)
	}
	to := filepath.Join(dir, p.Name+"-mutant_support.go")
	overlay[filepath.Join(p.Dir, "mutant_support.go")] = to
	return mutants, os.WriteFile(to, fmt.Appendf(nil, support, p.Name), 0o600)
}

// compile builds the tests of a package with the mutants in it.
func compile(ctx context.Context, pkg, overlay, to string) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", to, pkg)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build the tests of %s with mutants: %w", pkg, err)
	}
	return nil
}
