package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// A mutant is one small change of a program that its tests should notice.
type mutant struct {
	n     int
	where token.Position
	what  string
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", m.where.Filename, m.where.Line, m.where.Column, m.what)
}

// A file is one source file that gets all its mutants at once: each is switched on by its number when the program runs, so that a
// package is compiled once and not once a mutant.
type file struct {
	here  string // what paths are relative to
	fset  *token.FileSet
	info  *types.Info
	text  []byte
	start token.Pos
	next  func() int

	mutants []mutant
	edits   []edit
	depth   int
}

// An edit replaces the bytes from offset by text. Edits at one offset are ordered: what closes comes before what opens, the inner
// of two expressions closes first and opens last.
type edit struct {
	offset, remove int
	text           string
	closes         bool
	other          int // the other end of what is wrapped
	depth          int // of several wraps of one expression
}

func (f *file) add(n ast.Node, format string, args ...any) int {
	m := mutant{n: f.next(), where: f.fset.Position(n.Pos()), what: fmt.Sprintf(format, args...)}
	if path, err := filepath.Rel(f.here, m.where.Filename); err == nil {
		m.where.Filename = path
	}
	f.mutants = append(f.mutants, m)
	return m.n
}

func (f *file) offset(p token.Pos) int { return int(p - f.start) }

func (f *file) source(n ast.Node) string { return string(f.text[f.offset(n.Pos()):f.offset(n.End())]) }

// short is the source of n on one line.
func (f *file) short(n ast.Node) string {
	s := strings.Join(strings.Fields(f.source(n)), " ")
	if r := []rune(s); len(r) > 60 {
		return string(r[:57]) + "..."
	}
	return s
}

func (f *file) wrap(n ast.Node, before, after string) {
	from, to := f.offset(n.Pos()), f.offset(n.End())
	f.edits = append(f.edits,
		edit{offset: from, text: before, other: to, depth: f.depth},
		edit{offset: to, text: after, closes: true, other: from, depth: f.depth})
	f.depth++
}

// mutated returns the file with all its mutants in it.
func (f *file) mutated() []byte {
	slices.SortStableFunc(f.edits, func(a, b edit) int {
		if a.offset != b.offset {
			return cmp.Compare(a.offset, b.offset)
		}
		if a.closes != b.closes {
			if a.closes {
				return -1
			}
			return 1
		}
		if a.closes {
			return cmp.Or(cmp.Compare(b.other, a.other), cmp.Compare(b.depth, a.depth))
		}
		return cmp.Or(cmp.Compare(b.other, a.other), cmp.Compare(a.depth, b.depth))
	})
	var out []byte
	at := 0
	for _, e := range f.edits {
		out = append(out, f.text[at:e.offset]...)
		out = append(out, e.text...)
		at = e.offset + e.remove
	}
	return append(out, f.text[at:]...)
}

// mutate looks for everything in the file that can be changed.
func (f *file) mutate(root *ast.File) {
	for _, decl := range root.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
			ast.Inspect(fn.Body, f.node)
		}
	}
}

func (f *file) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		return f.call(n)
	case *ast.GenDecl:
		return n.Tok != token.CONST
	case *ast.BinaryExpr:
		return f.binary(n)
	case *ast.IfStmt:
		f.condition(n.Cond)
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
	case *ast.CommClause:
		f.statements(n.Body)
	}
	return true
}

// call reports whether all of a call is looked at. How much room is made for what comes makes no difference to anybody.
func (f *file) call(e *ast.CallExpr) bool {
	name, ok := e.Fun.(*ast.Ident)
	if !ok || name.Name != "make" || len(e.Args) < 2 {
		return true
	}
	_, isSlice := f.info.TypeOf(e).Underlying().(*types.Slice)
	if isSlice && len(e.Args) >= 2 {
		ast.Inspect(e.Args[1], f.node)
	}
	return false
}

// binary reports whether operands are looked at as well: those of constants aren't. A mutant asks whether it is on only where that
// makes a difference to the expression: a test that never gets there can't notice it, and isn't run.
func (f *file) binary(e *ast.BinaryExpr) bool {
	if v, known := f.info.Types[e]; !known || v.Value != nil {
		return false
	}
	switch e.Op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		f.comparison(e)
	case token.LAND:
		n := f.add(e, "%s: without %s", f.short(e), f.short(e.Y))
		f.wrap(e.Y, "(", fmt.Sprintf(" || mutant.Is(%d))", n))
		n = f.add(e, "%s: without %s", f.short(e), f.short(e.X))
		f.wrap(e.X, "(", fmt.Sprintf(" || mutant.Is(%d))", n))
	case token.LOR:
		n := f.add(e, "%s: without %s", f.short(e), f.short(e.Y))
		f.wrap(e.Y, "((", fmt.Sprintf(") && !mutant.Is(%d))", n))
		n = f.add(e, "%s: without %s", f.short(e), f.short(e.X))
		f.wrap(e.X, "((", fmt.Sprintf(") && !mutant.Is(%d))", n))
	case token.ADD, token.SUB, token.MUL, token.QUO:
		f.arithmetic(e)
	}
	return true
}

func (f *file) comparison(e *ast.BinaryExpr) {
	n := f.add(e, "%s: negated", f.short(e))
	f.wrap(e, "((", fmt.Sprintf(") != mutant.Is(%d))", n))
	if !simple(e.X) || !simple(e.Y) {
		return
	}
	at := func(n int) string {
		equal := fmt.Sprintf("(%s) == (%s)", f.source(e.X), f.source(e.Y))
		if calls(e.X) || calls(e.Y) { // once more only in the mutant, they may do something
			return fmt.Sprintf("mutant.Is(%d) && %s", n, equal)
		}
		return fmt.Sprintf("%s && mutant.Is(%d)", equal, n)
	}
	switch e.Op {
	case token.LSS, token.GTR:
		f.wrap(e, "(", fmt.Sprintf(" || %s)", at(f.add(e, "%s: or equal", f.short(e)))))
	case token.LEQ, token.GEQ:
		f.wrap(e, "(", fmt.Sprintf(" && !(%s))", at(f.add(e, "%s: and not equal", f.short(e)))))
	}
}

// simple reports whether e may be written a second time.
func simple(e ast.Expr) bool {
	return !contains(e, func(n ast.Node) bool { _, is := n.(*ast.FuncLit); return is })
}

// calls reports whether e calls anything but len.
func calls(e ast.Expr) bool {
	return contains(e, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		if !is {
			return false
		}
		name, is := call.Fun.(*ast.Ident)
		return !is || name.Name != "len"
	})
}

func contains(e ast.Expr, is func(ast.Node) bool) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		found = found || is(n)
		return !found
	})
	return found
}

var opposite = map[token.Token]struct{ function, sign string }{
	token.ADD: {"mutant.Plus", "-"},
	token.SUB: {"mutant.Minus", "+"},
	token.MUL: {"mutant.Times", "/"},
	token.QUO: {"mutant.Over", "*"},
}

func (f *file) arithmetic(e *ast.BinaryExpr) {
	basic, ok := f.info.TypeOf(e).Underlying().(*types.Basic)
	if !ok || basic.Info()&types.IsNumeric == 0 || basic.Info()&types.IsComplex != 0 {
		return
	}
	with := opposite[e.Op]
	n := f.add(e, "%s: %s", f.short(e), with.sign)
	f.wrap(e, fmt.Sprintf("%s(%d, ", with.function, n), ")")
	f.edits = append(f.edits, edit{offset: f.offset(e.OpPos), remove: len(e.Op.String()), text: ","})
}

// condition negates what an if asks, where that isn't an operator of its own.
func (f *file) condition(e ast.Expr) {
	if _, operator := e.(*ast.BinaryExpr); operator {
		return
	}
	if v := f.info.Types[e]; v.Value != nil || !types.Identical(v.Type, types.Typ[types.Bool]) {
		return
	}
	n := f.add(e, "if %s: negated", f.short(e))
	f.wrap(e, "((", fmt.Sprintf(") != mutant.Is(%d))", n))
}

// statements leaves out what is done for its effect alone, one at a time.
func (f *file) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok {
				if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "panic" {
					continue
				}
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || blank(s.Lhs) {
				continue
			}
		case *ast.IncDecStmt:
		default:
			continue
		}
		n := f.add(s, "%s: left out", f.short(s))
		f.wrap(s, fmt.Sprintf("if !mutant.Is(%d) { ", n), " }")
	}
}

func blank(list []ast.Expr) bool {
	for _, e := range list {
		if name, ok := e.(*ast.Ident); !ok || name.Name != "_" {
			return false
		}
	}
	return true
}
