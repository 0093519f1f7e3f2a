package proxplane_test

import (
	"go/ast"
	"go/token"
	"testing"
)

// TestNothingOfTheClientIsUnused: each call of pve is one that somebody makes, tests of other parts included, which
// do what people do. What nothing calls grows stale. It goes by the names of methods, so one that others share counts as
// used.
func TestNothingOfTheClientIsUnused(t *testing.T) {
	calls, used := map[string]string{}, map[string]bool{}
	for _, f := range sources(t) {
		if f.pkg == "pve" && f.test {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				used[sel.Sel.Name] = true
			}
			return true
		})
		if f.pkg != "pve" {
			continue
		}
		for _, decl := range f.tree.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if ok && fn.Recv != nil && fn.Name.IsExported() && sends(fn) {
				calls[receiver(fn)+"."+fn.Name.Name] = fn.Name.Name
			}
		}
	}
	if len(calls) < 60 {
		t.Fatalf("only these calls were found: %v", calls)
	}
	for call, name := range calls {
		if !used[name] {
			t.Errorf("nothing makes the call %s of pve: remove it", call)
		}
	}
}

// sends reports whether a function names a path of the Proxmox API.
func sends(fn *ast.FuncDecl) (found bool) {
	ast.Inspect(fn, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		found = found || ok && lit.Kind == token.STRING && len(lit.Value) > 2 && lit.Value[1] == '/'
		return !found
	})
	return found
}
