package proxplane_test

import (
	"go/ast"
	"slices"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// The facts of actions are in one table, see model.FactsOf. A type switch over actions is a
// second one: it skips what it doesn't name. Those that remain read the fields of an action;
// here is which actions each of them has to name, and why it needn't name all.
var switches = map[string]func(model.Facts) bool{
	"act/act.go do":                func(f model.Facts) bool { return !f.Inside },
	"act/inside.go inside":         func(f model.Facts) bool { return f.Inside },
	"act/act.go Words":             func(model.Facts) bool { return true },
	"act/act.go digestOf":          func(f model.Facts) bool { return f.Proof == model.ProofDigest },
	"act/storage.go namedStorage":  func(f model.Facts) bool { return f.Busy == model.BusyNamed },
	"leftover/leftover.go By":      func(f model.Facts) bool { return f.Leaves },
	"observe/done.go believe":      func(f model.Facts) bool { return f.Tells },
	"observe/done.go Check":        func(f model.Facts) bool { return f.Checked || f.Proved },
	"engine/progress.go copies":    func(f model.Facts) bool { return f.Makes }, // some of these copy, some don't
	"plan/foresee.go expectStep":   func(f model.Facts) bool { return f.Awaited },
	"plan/foresee.go changedBy":    func(f model.Facts) bool { return f.Awaited && (f.Changes == model.AspectConfig || f.Moves) },
	"privileges/calls.go changeOf": func(f model.Facts) bool { return slices.Contains(f.Calls, model.ConfigCall) },
	"privileges/calls.go reason": func(f model.Facts) bool {
		return slices.ContainsFunc(f.Calls, func(c model.Call) bool { return c.Why == "" && !c.Optional })
	},
	"privileges/look.go storagesOf": func(f model.Facts) bool { // disks that were left are seen by those who look for them
		return f.Changes != model.AspectLeft && (f.Busy == model.BusyNamed || f.Busy == model.BusyResize || f.Changes == model.AspectFiles)
	},
	"status/diff.go with": func(f model.Facts) bool { // the table has the power; snapshots and templates aren't settings
		return f.Makes || f.Destroys || f.Moves || f.Changes == model.AspectPool || f.Changes == model.AspectConfig && f.Busy != model.BusyGuest
	},
	"privileges/foreseen.go madeIn": func(f model.Facts) bool { return f.Makes },
	// No plan has what reaches into guests.
	"plan/stage/do.go Do": func(f model.Facts) bool { return !f.Inside },

	"privileges/calls.go made":       nil, // what isn't named makes all of its calls
	"privileges/calls.go parameters": nil, // a test there has it that none is missing
	"spec/export/fit.go avoid":       nil, // the settings that a manifest has fields for
}

func TestEveryActionHasItsFacts(t *testing.T) {
	kinds := actionKinds(t)
	for _, kind := range model.Kinds() {
		if !slices.Contains(kinds, kind) {
			t.Errorf("the table has facts of %s, which isn't an action", kind)
		}
	}
	for _, kind := range kinds {
		if !slices.Contains(model.Kinds(), kind) {
			t.Errorf("the table has no facts of the action %s", kind)
		}
	}
}

func TestSwitchesOverActionsMissNone(t *testing.T) {
	kinds := actionKinds(t)
	found := map[string]bool{}
	for _, f := range sources(t) {
		if f.test || top(f.pkg) == "test" {
			continue
		}
		for where, named := range actionSwitches(t, f, kinds) {
			wanted, listed := switches[where]
			if !listed {
				t.Errorf("%s has a type switch over actions: ask model.FactsOf instead, or say in this test which actions it has to name", where)
			}
			found[where] = true
			if wanted == nil {
				continue
			}
			for _, kind := range kinds {
				if should := wanted(model.FactsOfKind(kind)); should != slices.Contains(named, kind) {
					t.Errorf("%s: names %s: %v, by the table: %v", where, kind, !should, should)
				}
			}
		}
	}
	for where := range switches {
		if !found[where] {
			t.Errorf("%s has no type switch over actions any more", where)
		}
	}
}

// actionKinds are the names of all types in model that are actions.
func actionKinds(t *testing.T) (kinds []string) {
	t.Helper()
	for _, f := range sources(t) {
		if f.pkg != "model" || f.test {
			continue
		}
		for _, decl := range f.tree.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Name.Name == "action" && fn.Recv != nil {
				kinds = append(kinds, receiver(fn))
			}
		}
	}
	if len(kinds) < 20 {
		t.Fatalf("only these actions were found: %v", kinds)
	}
	return kinds
}

func receiver(fn *ast.FuncDecl) string {
	kind := fn.Recv.List[0].Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	switch of := kind.(type) { // of a type with parameters
	case *ast.IndexExpr:
		kind = of.X
	case *ast.IndexListExpr:
		kind = of.X
	}
	return kind.(*ast.Ident).Name
}

// actionSwitches are the actions that the type switches of a file name, by file and function.
func actionSwitches(t *testing.T, f goFile, kinds []string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, decl := range f.tree.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			s, ok := n.(*ast.TypeSwitchStmt)
			if !ok {
				return true
			}
			for _, c := range s.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					if kind := modelType(f, e); slices.Contains(kinds, kind) {
						where := f.path + " " + fn.Name.Name
						out[where] = append(out[where], kind)
					}
				}
			}
			return true
		})
	}
	return out
}

// modelType is the name of a type of model; empty: it is another type.
func modelType(f goFile, e ast.Expr) string {
	if id, ok := e.(*ast.Ident); ok && f.pkg == "model" {
		return id.Name
	}
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if pkg, ok := sel.X.(*ast.Ident); !ok || pkg.Name != "model" {
		return ""
	}
	return sel.Sel.Name
}
