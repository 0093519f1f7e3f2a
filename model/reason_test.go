package model

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

func TestEveryReasonHasItsFacts(t *testing.T) {
	tree, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[Reason]bool{}
	ast.Inspect(tree, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		lit, ok := v.Values[0].(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		if found[Reason(text)] {
			t.Errorf("%s is there twice", text)
		}
		found[Reason(text)] = true
		if _, ok := reasons[Reason(text)]; !ok {
			t.Errorf("%s has no row", v.Names[0].Name)
		}
		return true
	})
	if len(found) != len(reasons) || len(found) < 30 {
		t.Errorf("there are %d reasons and %d rows", len(found), len(reasons))
	}
}

// What nobody has thought of isn't waited for in silence.
func TestAnUnknownReasonIsForPeople(t *testing.T) {
	if r := Reason("Moonlight"); !r.Blocks() || r.Passes() || !r.Concerns() {
		t.Error("a reason without facts passes by itself")
	}
}

func TestReasonsSayWhoEndsThem(t *testing.T) {
	for reason, want := range map[Reason]struct{ blocks, passes, concerns bool }{
		WaitTask:       {false, true, false},
		WaitFailed:     {false, true, false}, // the failure itself is told
		WaitSource:     {false, false, false},
		WaitRollout:    {false, false, false},
		WaitDependents: {false, false, true},
		WaitNode:       {false, true, true},
		WaitAway:       {false, true, true},
		WaitLogin:      {true, false, true},
		WaitPlace:      {true, false, true},
		WaitPaused:     {false, false, false}, // as somebody wants it
	} {
		if reason.Blocks() != want.blocks || reason.Passes() != want.passes || reason.Concerns() != want.concerns {
			t.Errorf("%s: blocks is %v, passes %v, concerns %v", reason, reason.Blocks(), reason.Passes(), reason.Concerns())
		}
	}
}
