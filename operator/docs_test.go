package operator

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// Scripts go by reasons, so there is a list of all of them.
func TestEveryReasonIsExplained(t *testing.T) {
	text, err := os.ReadFile("../docs/operator.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z]\\w+)` \\|").FindAllStringSubmatch(string(text), -1) {
		told = append(told, m[1])
	}
	all := slices.Concat(constants(t, "../model", "Reason"), constants(t, "../model", "Wait"))
	slices.Sort(told)
	slices.Sort(all)
	if !slices.Equal(told, all) {
		t.Errorf("docs/operator.md explains\n%v\nbut there are\n%v", told, all)
	}
}

// constants are the values of all constants of a package whose names begin with a
// word, and have another one after it.
func constants(t *testing.T, dir, word string) (list []string) {
	t.Helper()
	name := regexp.MustCompile("^" + word + "[A-Z]")
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) == 0 || !name.MatchString(v.Names[0].Name) {
				return true
			}
			if lit, ok := v.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				value, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, value)
			}
			return true
		})
	}
	if len(list) == 0 {
		t.Fatalf("%s has no constants %s…", dir, word)
	}
	return list
}
