package proxplane_test

import (
	"go/ast"
	"go/types"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

// callsOfTests are calls that only tests make: what people do in Proxmox beside proxplane, and what programs need that use pve alone.
var callsOfTests = []string{
	"Task.Wait", "Agent.Ping", "Client.Probe", "Access.CreateRole", "Access.CreateToken", "Access.CreateUser", "Access.SetACL", "Access.SetRole",
	"HA.CreateGroup", "Storage.Alloc", "VM.Suspend",
}

// TestNothingOfTheClientIsUnused: each call of pve is one that something makes. What nothing calls grows stale.
func TestNothingOfTheClientIsUnused(t *testing.T) {
	calls, used := map[string]bool{}, map[string]bool{}
	for _, p := range usersOfTheClient(t) {
		for _, file := range p.Syntax {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if f, ok := p.TypesInfo.Defs[n.Name].(*types.Func); ok && p.PkgPath == module+"pve" && sends(f) {
						calls[pveName(f)] = true
					}
				case *ast.Ident:
					if f, ok := p.TypesInfo.Uses[n].(*types.Func); ok {
						used[pveName(f.Origin())] = true
					}
				}
				return true
			})
		}
	}
	if len(calls) < 60 {
		t.Fatalf("only these calls were found: %v", calls)
	}
	for call := range calls {
		if inTests := slices.Contains(callsOfTests, call); !used[call] && !inTests {
			t.Errorf("nothing makes the call %s of pve: remove it", call)
		} else if used[call] && inTests {
			t.Errorf("not only tests make the call %s", call)
		}
	}
	for _, call := range callsOfTests {
		if !calls[call] {
			t.Errorf("pve has no call %s", call)
		}
	}
}

// usersOfTheClient are pve, all doors, and the other packages that ship and import pve, or get a client from a site.
func usersOfTheClient(t *testing.T) []*packages.Package {
	t.Helper()
	list, err := loadUsers()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		for _, e := range p.Errors {
			t.Fatalf("%s: %v", p.PkgPath, e)
		}
	}
	return list
}

var loadUsers = sync.OnceValues(func() ([]*packages.Package, error) {
	files, err := read()
	if err != nil {
		return nil, err
	}
	patterns := map[string]bool{"./pve": true}
	for _, door := range append([]string{"loadtest", "kube"}, doors...) {
		if _, err := os.Stat(door); err == nil {
			patterns["./"+door+"/..."] = true
		}
	}
	for _, f := range files {
		if !f.test && top(f.pkg) != "test" && (slices.Contains(f.imports, "pve") || slices.Contains(f.imports, "site")) {
			patterns["./"+f.pkg] = true
		}
	}
	mode := packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedExportFile
	return packages.Load(&packages.Config{Mode: mode}, slices.Collect(maps.Keys(patterns))...)
})

// sends reports whether a method may send a request: it takes a context.
func sends(f *types.Func) bool {
	params := f.Signature().Params()
	return f.Exported() && f.Signature().Recv() != nil && params.Len() > 0 && params.At(0).Type().String() == "context.Context"
}
