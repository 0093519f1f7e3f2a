package proxplane_test

import (
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	mdFence   = regexp.MustCompile("(?ms)^(````?)[^`\n]*\n.*?^````?$")
	mdLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	mdHeading = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)
	notInSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	makeCall  = regexp.MustCompile("(?m)(?:^|`)make ([a-z]+(?:-[a-z]+)*)")
	makeRule  = regexp.MustCompile(`(?m)^([a-z-]+):.*?## `)
)

// pages are all Markdown files, by their path, without what git ignores.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (notOurs(path) || d.Name() == "testdata"):
			return fs.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		found[filepath.ToSlash(path)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if found["README.md"] == "" || found["docs/ARCHITECTURE.md"] == "" {
		t.Fatal("README.md or docs/ARCHITECTURE.md wasn't found")
	}
	return found
}

// notOurs reports whether a folder has what git keeps, or what make has built. In a worktree .git is a file.
func notOurs(path string) bool {
	return slices.Contains([]string{".git", "bin", "dist", ".cache"}, path)
}

// anchors are what links to a page's headings end with, as GitHub makes them.
func anchors(page string) []string {
	var out []string
	for _, m := range mdHeading.FindAllStringSubmatch(mdFence.ReplaceAllString(page, ""), -1) {
		slug := notInSlug.ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, strings.ReplaceAll(slug, " ", "-"))
	}
	return out
}

func TestLinksOfTheDocumentationLeadSomewhere(t *testing.T) {
	all := pages(t)
	checked := 0
	for name, text := range all {
		for _, m := range mdLink.FindAllStringSubmatch(mdFence.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			checked++
			file, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(name), file))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s leads nowhere", name, m[1])
			} else if anchor != "" && !slices.Contains(anchors(all[target]), anchor) {
				t.Errorf("%s: %s has no heading for %s; it has %v", name, target, m[1], anchors(all[target]))
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d links were found", checked)
	}
}

// Every page can be reached from README by links.
func TestREADMELeadsToEveryPage(t *testing.T) {
	all := pages(t)
	seen, next := map[string]bool{}, []string{"README.md"}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, m := range mdLink.FindAllStringSubmatch(all[name], -1) {
			file, _, _ := strings.Cut(m[1], "#")
			target := filepath.ToSlash(filepath.Join(filepath.Dir(name), file))
			for page := range all {
				if page == target || filepath.ToSlash(filepath.Dir(page)) == target {
					next = append(next, page)
				}
			}
		}
	}
	for name := range all {
		if !seen[name] {
			t.Errorf("no link leads from README.md to %s", name)
		}
	}
}

func TestTargetsOfMakeAreWhatTheDocumentationSays(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var targets, told []string
	for _, m := range makeRule.FindAllStringSubmatch(string(makefile), -1) {
		targets = append(targets, m[1])
	}
	for name, text := range pages(t) {
		for _, m := range makeCall.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(targets, m[1]) {
				t.Errorf("%s: there is no make %s", name, m[1])
			}
			if name == "CONTRIBUTING.md" {
				told = append(told, m[1])
			}
		}
	}
	for _, target := range targets {
		if target != "help" && !slices.Contains(told, target) {
			t.Errorf("CONTRIBUTING.md doesn't tell of make %s", target)
		}
	}
}

// What the documentation says is shown by a test has that test: a function, or a story or
// golden file.
func TestTestsThatTheDocumentationNamesAreThere(t *testing.T) {
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9]*|[a-z0-9-]+\\.txtar)`")
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9]+)\(`)
	there := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
			return err
		case strings.HasSuffix(path, ".txtar"):
			there[d.Name()] = true
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			for _, m := range declared.FindAllSubmatch(text, -1) {
				there[string(m[1])] = true
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for name, text := range pages(t) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if count++; !there[m[1]] {
				t.Errorf("%s: there is no %s", name, m[1])
			}
		}
	}
	if count < 30 {
		t.Errorf("only %d tests are named", count)
	}
}

// A reader follows the architecture page into the code: what it names as Type.Method or package.Name is there.
func TestNamesInTheArchitecturePageAreInTheCode(t *testing.T) {
	there := map[string]bool{}
	for _, f := range sources(t) {
		if f.test || top(f.pkg) == "test" {
			continue
		}
		pkg := f.tree.Name.Name
		for _, decl := range f.tree.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					there[receiver(d)+"."+d.Name.Name] = true
				} else {
					there[pkg+"."+d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						there[pkg+"."+s.Name.Name] = true
					case *ast.ValueSpec:
						for _, name := range s.Names {
							there[pkg+"."+name.Name] = true
						}
					}
				}
			}
		}
	}
	named := regexp.MustCompile("`([A-Za-z]+\\.[A-Za-z]+)`")
	count := 0
	for _, m := range named.FindAllStringSubmatch(pages(t)["docs/ARCHITECTURE.md"], -1) {
		switch filepath.Ext(m[1]) {
		case ".go", ".md", ".yaml":
			continue
		}
		if count++; !there[m[1]] {
			t.Errorf("there is no %s", m[1])
		}
	}
	if count < 30 {
		t.Errorf("only %d names were found", count)
	}
}
