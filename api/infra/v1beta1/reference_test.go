package v1beta1

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/test/kit/golden"
)

// TestTheReferenceSaysWhatTheTypesSay keeps docs/reference.md true: it is made
// from the types and their comments.
func TestTheReferenceSaysWhatTheTypesSay(t *testing.T) {
	const file = "../../../docs/reference.md"
	want := reference(t)
	have, err := os.ReadFile(file)
	if err == nil && bytes.Equal(have, want) {
		return
	}
	if !*golden.Update {
		t.Fatalf("%s isn't what the types say; run go test ./api/... -update", file)
	}
	if err := os.WriteFile(file, want, 0o644); err != nil {
		t.Fatal(err)
	}
}

type docType struct {
	text   string
	fields *ast.StructType
}

func reference(t *testing.T) []byte {
	types := map[string]docType{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, s := range gen.Specs {
				spec := s.(*ast.TypeSpec)
				if st, ok := spec.Type.(*ast.StructType); ok {
					types[spec.Name.Name] = docType{plainDoc(gen.Doc), st}
				}
			}
		}
	}
	var out bytes.Buffer
	out.WriteString("# Reference of manifests\n\nAPI group `infra.virtrigaud.io/v1beta1`. Made from the types; don't edit.\n")
	for _, kind := range []string{"Provider", "VirtualMachine", "VMClass", "VMImage", "VMSnapshot", "VMClone", "VMPlacementPolicy"} {
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n| field | type | meaning |\n|---|---|---|\n", kind, types[kind].text)
		writeFields(&out, types, kind+"Spec", "spec", nil)
		writeFields(&out, types, statusOf(types[kind]), "status", nil)
	}
	return out.Bytes()
}

// statusOf is the type of a kind's status, which Kubernetes has.
func statusOf(kind docType) string {
	for _, f := range kind.fields.Fields.List {
		if len(f.Names) == 1 && f.Names[0].Name == "Status" {
			return typeName(f.Type)
		}
	}
	return ""
}

// writeFields writes a line a field, those of structs below their own.
func writeFields(out *bytes.Buffer, types map[string]docType, name, path string, above []string) {
	if slices.Contains(above, name) {
		return
	}
	above = append(slices.Clone(above), name)
	for _, f := range types[name].fields.Fields.List {
		typ := typeName(f.Type)
		inner := strings.Trim(typ, "[]*")
		if len(f.Names) == 0 {
			writeFields(out, types, inner, path, above)
			continue
		}
		key, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		at := path + "." + key
		if strings.HasPrefix(typ, "[]") {
			at += "[]"
		}
		_, nested := types[inner]
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", at, yamlType(typ, nested), strings.ReplaceAll(plainDoc(f.Doc), "|", "\\|"))
		if nested {
			writeFields(out, types, inner, at, above)
		}
	}
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.ArrayType:
		return "[]" + typeName(e.Elt)
	case *ast.MapType:
		return "map of " + typeName(e.Value)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

func yamlType(typ string, nested bool) string {
	list := strings.HasPrefix(typ, "[]")
	inner := strings.TrimPrefix(typ, "[]")
	switch {
	case nested:
		inner = "object"
	case inner == "Condition":
		inner = "object"
	case inner == "Time":
		inner = "time"
	case inner == "IntOrString":
		inner = "number or text"
	case inner == "Quantity":
		inner = "quantity"
	case inner == "bool":
		inner = "true or false"
	case inner == "int", inner == "int64":
		inner = "number"
	case !strings.HasPrefix(inner, "map of"):
		inner = "text"
	}
	if list {
		return "list of " + inner
	}
	return inner
}

// plainDoc is a comment without the markers of generators, on one line.
func plainDoc(c *ast.CommentGroup) string {
	if c == nil {
		return ""
	}
	var words []string
	for line := range strings.Lines(c.Text()) {
		if !strings.HasPrefix(line, "+") {
			words = append(words, strings.Fields(line)...)
		}
	}
	return strings.Join(words, " ")
}
