package proxplane_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The core knows no door: what people can do, and why something is done that they have asked for,
// are codes there, see model.Advice and model.Whys. Package status has the words.
func TestTheCoreHasNoWordsOfADoor(t *testing.T) {
	words := regexp.MustCompile(`kubectl|virtrigaud|\b[mM]anifests?\b|(^|[\s(])proxplane [a-z]+|--[a-z]|\b(spec|metadata)\.[a-z]`)
	proxmox := regexp.MustCompile(`\b(qm|pvesm|pveum|ha-manager) [a-z]+ [^;,]*--[a-z]+`) // its own commands have flags, too
	plain := regexp.MustCompile(`^proxplane (key id|marker|cipassword)`)                 // what is hashed
	fields := fieldsOfDoors(t)
	for _, text := range textsOf(t, "model", "plan", "observe", "act", "engine", "site") {
		bare := proxmox.ReplaceAllString(text.text, "")
		if words.MatchString(bare) && !plain.MatchString(text.text) {
			t.Errorf("%s: %q has words that belong into package status", text.path, text.text)
		}
		if name := fields.FindString(bare); name != "" {
			t.Errorf("%s: %q has %s, a field or kind of a door: package status has the words for that", text.path, text.text, name)
		}
	}
}

// Package spec names objects and fields by names that each door puts into words, see spec.Message.
func TestSpecHasNoWordsOfADoor(t *testing.T) {
	fields := fieldsOfDoors(t)
	place := regexp.MustCompile(`\bspec\.[a-z]|\b[mM]anifests?\b`)
	for _, text := range textsOf(t, "spec") {
		if !strings.Contains(text.text, " ") {
			continue // the path of a field, which is spec's own name for it
		}
		for _, found := range []string{fields.FindString(text.text), place.FindString(text.text)} {
			if found != "" {
				t.Errorf("%s: %q has %s: name it by a spec.Name or a field, so that each door has its own words for it", text.path, text.text, found)
			}
		}
	}
}

// Comments are in the words of this field, see docs of Go and Kubernetes: predicates report whether,
// what failed is retried.
func TestCommentsAreInTheWordsOfThisField(t *testing.T) {
	words := regexp.MustCompile(`^// \w+ tells (whether|that|what|which|how|who|of|about) |(?i)\b(forgiv(es?|en|ing)|stumbl(es?|ed)|blam(es?|ed)|glances?|wish(es|ed)?|flies)\b`)
	for _, f := range sources(t) {
		if f.test || top(f.pkg) == "test" {
			continue
		}
		for _, group := range f.tree.Comments {
			for _, c := range group.List {
				if found := words.FindString(c.Text); found != "" {
					t.Errorf("%s: %q in %q", f.path, found, c.Text)
				}
			}
		}
	}
}

// Doc comments begin with the name and a verb, as those of Go do: "Plan returns the plan", not "Plan is the plan".
func TestDocCommentsBeginWithTheNameAndAVerb(t *testing.T) {
	seen := 0
	for _, f := range sources(t) {
		if f.test || top(f.pkg) == "test" || strings.Contains(f.path, "zz_generated") {
			continue
		}
		for _, d := range f.tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() || fn.Doc == nil {
				continue
			}
			seen++
			switch words := append(strings.Fields(fn.Doc.Text()), "", "", "", ""); {
			case words[0] != fn.Name.Name:
				t.Errorf("%s: the doc comment of %s begins with %q", f.path, fn.Name.Name, words[0])
			case (words[1] == "is" || words[1] == "are") && words[2] != "like":
				t.Errorf("%s: %q: say what it does or returns", f.path, strings.Join(words[:4], " "))
			}
		}
	}
	if seen < 500 {
		t.Errorf("only %d doc comments were read", seen)
	}
}

// ownWords are metaphors of our own: readers with another mother tongue don't find them in the
// documentation of Proxmox or Kubernetes. Each has a word of this field.
var ownWords = regexp.MustCompile(`(?i)\b(forgiv(es?|en|ing)|stumbl(es?|ed|ing)|blam(es?|ed)|glances?|wish(es|ed)?|flies|lands|landed|told|tells? whether|makes? it so|pull(s|ed)? the plug|plug (is|was) pulled|(nobody|somebody) can tell|leave (it|one of them|that) away)\b`)

// What people read has the words of this field, too: retry and back off, reconcile, report, stop by force,
// "isn't known". The history of decisions and of what tests have found keeps its words.
func TestDocumentationAndMessagesAreInTheWordsOfThisField(t *testing.T) {
	read := 0
	for name, text := range pages(t) {
		if name == "CHANGELOG.md" || strings.HasPrefix(name, "docs/adr/") || strings.HasPrefix(name, "test/") {
			continue
		}
		read++
		for line := range strings.Lines(mdFence.ReplaceAllString(text, "")) {
			if found := ownWords.FindString(line); found != "" {
				t.Errorf("%s: %q in %q", name, found, line)
			}
		}
	}
	if read < 20 {
		t.Errorf("only %d pages were read", read)
	}
	var shipping []string
	for _, f := range sources(t) {
		if !f.test && top(f.pkg) != "test" && top(f.pkg) != "pvesim" && !strings.HasPrefix(f.pkg, "host/ssh/") {
			shipping = append(shipping, f.pkg)
		}
	}
	slices.Sort(shipping)
	for _, text := range textsOf(t, slices.Compact(shipping)...) {
		if found := ownWords.FindString(text.text); found != "" && strings.Contains(text.text, " ") {
			t.Errorf("%s: %q in %q", text.path, found, text.text)
		}
	}
}

// kindsOfCore are kinds of objects that the core itself goes by: they are part of keys.
var kindsOfCore = []string{"VirtualMachine", "VMClone", "VMImage", "VMSnapshot"}

// fieldsOfDoors matches the names of fields in package api that are no ordinary words, such as
// powerState, and its kinds, where they stand in a sentence.
func fieldsOfDoors(t *testing.T) *regexp.Regexp {
	t.Helper()
	var names []string
	camel := regexp.MustCompile(`[a-z][A-Z]`)
	err := filepath.WalkDir("api", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				if n.Tag != nil {
					tag, _ := strconv.Unquote(n.Tag.Value)
					name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
					if camel.MatchString(name) {
						names = append(names, name)
					}
				}
			case *ast.TypeSpec:
				if kind, ok := strings.CutSuffix(n.Name.Name, "List"); ok {
					names = append(names, kind)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, known := range []string{"powerState", "staticIP", "Provider", "VMClass"} {
		if !slices.Contains(names, known) {
			t.Fatalf("%s isn't among the names that were found: %q", known, names)
		}
	}
	slices.Sort(names)
	return regexp.MustCompile(`\b(` + strings.Join(slices.Compact(names), "|") + `)\b`)
}

// said is a text in the code.
type said struct{ path, text string }

// textsOf are the strings in some packages, but for those that are just the name of a kind.
func textsOf(t *testing.T, packages ...string) (list []said) {
	t.Helper()
	for _, f := range sources(t) {
		if !slices.Contains(packages, f.pkg) || f.test {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				return n.Tag == nil
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && !slices.Contains(kindsOfCore, text) {
					list = append(list, said{f.path, text})
				}
			}
			return true
		})
	}
	return list
}
