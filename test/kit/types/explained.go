package types

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"
)

// Explained fails if a field of the package in the working directory has no comment: they are the reference that
// people read, also as part of the CRDs. There are at least so many fields.
func Explained(t *testing.T, least int) {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	fields := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") || strings.HasPrefix(f.Name(), "zz_") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					checkField(t, spec.Name.Name, field)
					fields++
				}
			}
			return true
		})
	}
	if fields < least {
		t.Errorf("only %d fields looked at", fields)
	}
}

func checkField(t *testing.T, typ string, field *ast.Field) {
	t.Helper()
	if len(field.Names) == 0 || field.Names[0].Name == "Spec" && field.Doc == nil {
		return // embedded, or what an object is all about
	}
	name := field.Names[0].Name
	tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json")
	key, rest, _ := strings.Cut(tag, ",")
	if field.Doc == nil || !strings.HasPrefix(field.Doc.Text(), name) {
		t.Errorf("%s.%s has no comment that begins with its name", typ, name)
		return
	}
	if !strings.EqualFold(key, name) {
		t.Errorf("%s.%s is called %s", typ, name, key)
	}
	optional := false
	for _, c := range field.Doc.List {
		optional = optional || c.Text == "// +optional"
	}
	if optional != strings.Contains(rest, "omitempty") {
		t.Errorf("%s.%s: +optional and omitempty disagree", typ, name)
	}
}
