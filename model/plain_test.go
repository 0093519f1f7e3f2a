package model

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// hidden are the fields and variables that aren't exported, each with the reason why it
// isn't state that nobody sees.
var hidden = map[string]string{
	"Observed.index":     "found from Guests and Tasks, and made anew from them",
	"guestIndex.byName":  "as Observed.index",
	"guestIndex.byOwner": "as Observed.index",
	"guestIndex.byVM":    "as Observed.index",
}

// TestEverythingIsPlainData: what is wanted is compared with what was wanted before, and
// what is observed is copied. Both mean something only for values that are nothing but
// what they show.
func TestEverythingIsPlainData(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no code: %v", err)
	}
	types := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE {
				continue
			}
			for _, s := range decl.Specs {
				spec := s.(*ast.TypeSpec)
				types++
				for _, problem := range unplain(spec.Name.Name, spec.Type) {
					t.Errorf("%s: %s", name, problem)
				}
			}
		}
	}
	if types < 40 {
		t.Errorf("only %d types were looked at", types)
	}
}

// unplain says what of a type isn't plain data.
func unplain(name string, typ ast.Expr) (problems []string) {
	ast.Inspect(typ, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncType:
			problems = append(problems, name+" has a func")
		case *ast.ChanType:
			problems = append(problems, name+" has a channel")
		case *ast.InterfaceType:
			if name != "Action" { // the actions, which are a closed set of types here
				problems = append(problems, name+" has an interface, which may hold anything")
			}
			return false
		case *ast.Ident:
			if n.Name == "any" || n.Name == "error" {
				problems = append(problems, name+" has "+n.Name+", which may hold anything")
			}
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && of.Name != "time" && of.Name != "netip" {
				problems = append(problems, name+" has "+of.Name+"."+n.Sel.Name+", which isn't known to be plain")
			}
			return false
		case *ast.Field:
			for _, field := range n.Names {
				if !field.IsExported() && hidden[name+"."+field.Name] == "" {
					problems = append(problems, name+" has the field "+field.Name+", which nobody else sees")
				}
			}
		}
		return true
	})
	return problems
}

// TestWhatIsNotPlainIsFound: the search finds each of the things that it is for.
func TestWhatIsNotPlainIsFound(t *testing.T) {
	for text, found := range map[string]bool{
		"func(int) error":                       true,
		"struct{ Make func(int) }":              true,
		"struct{ Seed struct{ Make func() } }":  true,
		"map[string][]func()":                   true,
		"struct{ C chan int }":                  true,
		"struct{ sync.Mutex }":                  true,
		"struct{ L *sync.RWMutex }":             true,
		"struct{ cache map[string]int }":        true,
		"struct{ V any }":                       true,
		"struct{ V interface{ String() } }":     true,
		"struct{ C context.Context }":           true,
		"struct{ At time.Time; D []string }":    false,
		"map[string]*struct{ N int; T []byte }": false,
	} {
		expr, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if problems := unplain("T", expr); (len(problems) > 0) != found {
			t.Errorf("%s: %v", text, problems)
		}
	}
}

// TestEqualDataAreEqual: the same walk by reflection, through all that is reached from what
// is wanted and observed, also in other packages' types.
func TestEqualDataAreEqual(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(path string, typ reflect.Type)
	walk = func(path string, typ reflect.Type) {
		if seen[typ] || typ == reflect.TypeFor[time.Time]() {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Interface:
			t.Errorf("%s is a %s", path, typ.Kind())
		case reflect.Map:
			walk(path+"[key]", typ.Key())
			walk(path+"[]", typ.Elem())
		case reflect.Slice, reflect.Array, reflect.Pointer:
			walk(path+"[]", typ.Elem())
		case reflect.Struct:
			for i := range typ.NumField() {
				walk(path+"."+typ.Field(i).Name, typ.Field(i).Type)
			}
		}
	}
	walk("Desired", reflect.TypeFor[Desired]())
	walk("Observed", reflect.TypeFor[Observed]())
	if !seen[reflect.TypeFor[Recipe]()] || !seen[reflect.TypeFor[Marker]()] {
		t.Error("the walk didn't get to the recipe and the marker")
	}
}
