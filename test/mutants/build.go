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
	"strconv"
	"strings"
)

// listed is what "go list" says of a package.
type listed struct {
	Dir, ImportPath, Name, Export string
	GoFiles                       []string
	TestGoFiles, XTestGoFiles     []string
}

// list asks Go for packages and what they import, compiled.
func list(ctx context.Context, patterns ...string) ([]listed, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-export", "-deps", "-json=Dir,ImportPath,Name,Export,GoFiles,TestGoFiles,XTestGoFiles"}, patterns...)...)
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
		if len(f.mutants) == 0 {
			continue
		}
		name := f.offset(one.Name.End())
		f.edits = append(f.edits, edit{offset: name, text: "; import mutant " + strconv.Quote(activePath)})
		to := filepath.Join(dir, fmt.Sprintf("%s-%s", p.Name, p.GoFiles[i]))
		if err := os.WriteFile(to, f.mutated(), 0o600); err != nil {
			return nil, err
		}
		overlay[path] = to
		mutants = append(mutants, f.mutants...)
	}
	return mutants, nil
}

const activePath = "github.com/proxplane/proxplane/test/mutants/active"

// driverName is what the tests that drive others are called, see active.Drive.
const driverName = "TestMutantsDrive"

// addDrivers adds tests to a package that run its other ones, those inside of it and those outside, and returns the names of all,
// and how many such tests there are.
func addDrivers(p listed, dir string, overlay map[string]string) (all []string, drivers int, err error) {
	for _, part := range []struct {
		where, pkg string
		files      []string
	}{{"Inside", p.Name, p.TestGoFiles}, {"Outside", p.Name + "_test", p.XTestGoFiles}} {
		var names []string
		for _, name := range part.files {
			one, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				return nil, 0, fmt.Errorf("parse %s: %w", name, err)
			}
			for _, decl := range one.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name != "TestMain" && strings.HasPrefix(fn.Name.Name, "Test") {
					names = append(names, fn.Name.Name)
				}
			}
		}
		if len(names) == 0 {
			continue
		}
		var text strings.Builder
		fmt.Fprintf(&text, "package %s\n\nimport (\n\t\"testing\"\n\n\tmutant %q\n)\n\n", part.pkg, activePath)
		fmt.Fprintf(&text, "func %s%s(t *testing.T) {\n\tmutant.Drive(t, map[string]func(*testing.T){\n", driverName, part.where)
		for _, name := range names {
			fmt.Fprintf(&text, "\t\t%q: %s,\n", name, name)
		}
		text.WriteString("\t})\n}\n")
		file := fmt.Sprintf("%s-drive%s_test.go", p.Name, part.where)
		overlay[filepath.Join(p.Dir, file)] = filepath.Join(dir, file)
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text.String()), 0o600); err != nil {
			return nil, 0, err
		}
		all = append(all, names...)
		drivers++
	}
	return all, drivers, nil
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
