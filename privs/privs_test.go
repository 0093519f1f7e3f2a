package privs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// A new action must say which calls it makes.
func TestEveryActionHasItsCalls(t *testing.T) {
	model, err := parser.ParseFile(token.NewFileSet(), "../model/action.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	calls, err := os.ReadFile("calls.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range model.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Name.Name != "action" || f.Recv == nil {
			continue
		}
		name := f.Recv.List[0].Type.(*ast.Ident).Name
		if !strings.Contains(string(calls), "case model."+name+":") {
			t.Errorf("calls.go doesn't know which calls the action %s makes", name)
		}
	}
}
