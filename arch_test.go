// Package proxplane_test holds the rules about which part may import which.
package proxplane_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/proxplane/proxplane/"

// doors are the front doors. They never import each other.
var doors = []string{"cli", "operator", "karpenter", "machines", "cluster", "terraform"}

// mayImport says, for each top-level folder, which others it may import. A
// folder that isn't here may not exist. Folders below have the same rules, unless they
// are here themselves.
var mayImport = map[string][]string{
	"spec/export":    {"spec", "model", "plan", "pve/prop"},
	"manifest/draft": {"api", "spec", "model"},
	"pvesim/guestos": {},
	"pvesim/access":  {},
	"pvesim/world":   {},

	"model":      {},
	"plan":       {"model"},
	"plan/stage": {"model"},
	"status":     {"model", "plan"},
	"api":        {},
	"firstboot":  {"firstboot"},
	"spec":       {"spec/suggest", "model", "firstboot", "pve/schema", "pve/prop"},
	"manifest":   {"api", "spec", "model", "pve", "host/ssh"},
	"pve":        {"pve"},
	"pvesim":     {"pvesim", "pve/schema", "firstboot", "host/ssh/sshserver"},
	"leftover":   {"pve", "model"},
	"imagefile":  {"model"},
	"observe":    {"pve", "model", "leftover", "imagefile"},
	"act":        {"pve", "model", "leftover", "imagefile", "firstboot", "host/ssh", "privileges"},
	"privileges": {"plan", "plan/stage", "model", "pve/schema", "pve/prop"},
	"host/ssh":   {"host/ssh", "test/kit/need"}, // in its server for tests
	"host/hook":  {"firstboot"},                 // on hosts, where there is nothing else of ours
	"loadtest":   {"site", "engine", "spec", "status", "model", "pve"},
	"kube":       {"kube", "api", "manifest", "model"},
	"engine":     {"observe", "act", "plan", "privileges", "model"},
	"site":       {"engine", "observe", "act", "leftover", "imagefile", "plan", "model", "pve", "host/ssh"},
	"cmd":        append([]string{"host/hook"}, doors...),
	"examples":   {},
	"deploy":     {},
	"test":       {},
}

// starters are the only files of a door that import another one: commands that
// start it.
var starters = map[string]string{"cli/operator.go": "operator", "cli/machines.go": "machines", "cli/karpenter.go": "karpenter"}

// simUsers are the only files that ship and import the simulator.
var simUsers = []string{"cli/simulator/sim.go", "cli/simulator/qemu.go", "cli/simulator/ssh.go", "cli/simulator/demo.go"}

func init() {
	for _, d := range doors {
		mayImport[d] = []string{d, "site", "engine", "manifest", "spec", "plan", "status", "model", "firstboot", "api", "pve", "act", "observe", "privileges", "host/ssh", "host/hook", "examples", "deploy", "kube"}
	}
	mayImport["cli"] = append(mayImport["cli"], "loadtest")
	for folder, of := range commandLine {
		mayImport[folder] = slices.Concat(slices.DeleteFunc(slices.Clone(mayImport["cli"]), func(s string) bool { return s == "cli" }), of)
	}
}

// commandLine says which of its folders each folder of the command line may import. Only cli itself
// knows them all: it puts the commands together.
var commandLine = map[string][]string{
	"cli/ui":        {},
	"cli/command":   {"cli/ui"},
	"cli/version":   {"cli/ui", "cli/command"},
	"cli/contexts":  {"cli/ui"},
	"cli/login":     {"cli/ui"},
	"cli/progress":  {"cli/ui"},
	"cli/target":    {"cli/ui", "cli/command", "cli/contexts", "cli/login"},
	"cli/kinds":     {"cli/ui", "cli/command", "cli/target"},
	"cli/change":    {"cli/ui", "cli/command", "cli/target", "cli/progress", "cli/kinds", "cli/version"},
	"cli/inspect":   {"cli/ui", "cli/command", "cli/target"},
	"cli/hand":      {"cli/ui", "cli/command", "cli/target", "cli/progress", "cli/login", "cli/change", "cli/inspect"},
	"cli/doctor":    {"cli/ui", "cli/command", "cli/target"},
	"cli/importer":  {"cli/ui", "cli/command", "cli/target"},
	"cli/migrate":   {"cli/ui", "cli/command", "cli/target", "cli/importer"},
	"cli/setup":     {"cli/ui", "cli/command", "cli/target", "cli/contexts", "cli/login", "cli/kinds"},
	"cli/hook":      {"cli/ui", "cli/command", "cli/target", "cli/login"},
	"cli/loadtest":  {"cli/ui", "cli/command", "cli/target", "cli/inspect"},
	"cli/simulator": {"cli/ui", "cli/command"},
	"cli/cluster":   {"cli/ui", "cli/command", "cli/target", "cli/login", "cli/doctor", "cluster"},
	"cli/kubectl":   {"cli/ui", "cli/command", "cli/target", "cli/version", "cli/change", "cli/inspect", "cli/hand", "cli/doctor", "cli/importer"},
}

type goFile struct {
	path, pkg string
	tree      *ast.File
	imports   []string // of ours, without the module's path
	test      bool
	doc       bool
	others    []string // imports of others
	clock     bool     // it asks what time it is, or lets time pass
}

// sources are all Go files of this module but those at its root.
func sources(t *testing.T) []goFile {
	t.Helper()
	files, err := read()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no sources found")
	}
	return files
}

// read reads them, once for all tests.
var read = sync.OnceValues(func() (files []goFile, err error) {
	err = filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && p != "." || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() && p != "." {
			if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil {
				return fs.SkipDir // a module of its own
			}
		}
		if !strings.HasSuffix(p, ".go") || !strings.Contains(p, "/") {
			return nil
		}
		f, err := parseFile(filepath.ToSlash(p))
		files = append(files, f)
		return err
	})
	return files, err
})

func parseFile(p string) (goFile, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return goFile{}, err
	}
	f := goFile{path: p, pkg: path.Dir(p), test: strings.HasSuffix(p, "_test.go"), doc: tree.Doc != nil, tree: tree}
	for _, spec := range tree.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		if rest, ok := strings.CutPrefix(name, module); ok {
			f.imports = append(f.imports, rest)
		} else {
			f.others = append(f.others, name)
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			pkg, _ := sel.X.(*ast.Ident)
			f.clock = f.clock || pkg != nil && pkg.Name == "time" && slices.Contains(clockCalls, sel.Sel.Name)
		}
		return true
	})
	return f, nil
}

// clockCalls are what of the package time depends on when it is called.
var clockCalls = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

func top(p string) string { first, _, _ := strings.Cut(p, "/"); return first }

// rulesOf is what a package may import: by its own folder, or the nearest one around it.
func rulesOf(pkg string) (allowed []string, known bool) {
	for p := pkg; p != "."; p = path.Dir(p) {
		if allowed, known := mayImport[p]; known {
			return allowed, true
		}
	}
	return nil, false
}

func TestPartsImportOnlyWhatTheyMay(t *testing.T) {
	for _, f := range sources(t) {
		allowed, known := rulesOf(f.pkg)
		if !known {
			t.Errorf("%s: the folder %s isn't part of the design; say in this test what it may import", f.path, top(f.pkg))
			continue
		}
		if f.test || top(f.pkg) == "test" || top(f.pkg) == "examples" {
			continue
		}
		for _, imp := range f.imports {
			if top(imp) == "pvesim" && slices.Contains(simUsers, f.path) || imp == starters[f.path] {
				continue
			}
			if imp == f.pkg || !slices.ContainsFunc(allowed, func(a string) bool { return imp == a || strings.HasPrefix(imp, a+"/") }) {
				t.Errorf("%s imports %s; %s may import only %v", f.path, imp, f.pkg, allowed)
			}
		}
	}
}

// The page for people has the same table, but for what goes without saying: that
// folders may import their own, and what is there for tests.
func TestTheArchitecturePageHasTheseRules(t *testing.T) {
	page, err := os.ReadFile("docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z/]+)`")
	words := func(cell string) (list []string) {
		for _, m := range named.FindAllStringSubmatch(cell, -1) {
			list = append(list, m[1])
		}
		return list
	}
	told := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		for _, folder := range words(cells[1]) {
			told[folder] = true
			want := slices.DeleteFunc(slices.Clone(mayImport[folder]), func(s string) bool { return s == folder || top(s) == "test" || s == "spec/suggest" })
			got := words(cells[3])
			if _, of := commandLine[folder]; of {
				want = slices.Clone(commandLine[folder])
			}
			if slices.Contains(doors, folder) {
				continue // all but each other
			}
			if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
				t.Errorf("the page says that %s may import %v, the rule is %v", folder, got, want)
			}
		}
	}
	for folder := range mayImport {
		exists, _ := os.Stat(folder)
		if exists != nil && !told[folder] && folder != "cmd" && folder != "test" && folder != "examples" {
			t.Errorf("the page says nothing of %s", folder)
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	documented, files := map[string]bool{}, map[string]string{}
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		files[f.pkg] = f.path
		documented[f.pkg] = documented[f.pkg] || f.doc
	}
	for pkg := range files {
		if !documented[pkg] {
			t.Errorf("package %s has no package comment", pkg)
		}
	}
}

func TestPlanReadsNoClockAndNoDice(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || top(f.pkg) != "plan" && top(f.pkg) != "status" {
			continue
		}
		if f.clock {
			t.Errorf("%s reads a clock, but plans depend on nothing but their input", f.path)
		}
		for _, imp := range f.others {
			switch imp {
			case "math/rand", "math/rand/v2", "crypto/rand", "net", "net/http", "os", "context":
				t.Errorf("%s imports %s, but plans depend on nothing but their input", f.path, imp)
			}
		}
	}
}

// Doors that have no YAML, and no objects of Kubernetes, build specs too.
func TestSpecsNeedNoYAML(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || top(f.pkg) != "spec" {
			continue
		}
		for _, imp := range f.others {
			if strings.Contains(imp, "yaml") || strings.HasPrefix(imp, "k8s.io/") && imp != "k8s.io/apimachinery/pkg/api/resource" {
				t.Errorf("%s imports %s, but specs are plain Go values", f.path, imp)
			}
		}
	}
}

// Below test are suites, and in test/kit what several of them need. Nobody imports a suite.
func TestHelpersOfTestsAreInTheKit(t *testing.T) {
	for _, f := range sources(t) {
		for _, imp := range f.imports {
			parts := strings.Split(imp, "/")
			if parts[0] != "test" || len(parts) < 2 || parts[1] == "kit" || strings.HasPrefix(f.pkg+"/", "test/"+parts[1]+"/") {
				continue
			}
			t.Errorf("%s imports %s of another suite; what both need belongs into test/kit", f.path, imp)
		}
	}
}

// What is drawn by rapid is the same each time: else a change would fail now and
// then by chance, and not when it is wrong.
func TestRandomTestsCanBeRepeated(t *testing.T) {
	for _, f := range sources(t) {
		if f.test && slices.Contains(f.others, "pgregory.net/rapid") && f.pkg != "test/kit/chance" && !slices.Contains(f.imports, "test/kit/chance") {
			t.Errorf("%s imports rapid without test/kit/chance", f.path)
		}
	}
}

// What only tests need isn't linked into the program. The simulator is a part of it:
// sim and demo start it.
func TestTheProgramHasNothingThatOnlyTestsNeed(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", `{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}{{"\n"}}{{end}}`, "./cmd/proxplane").Output()
	if err != nil {
		t.Fatal(err)
	}
	// Others' packages that ship and import what is for tests.
	excused := []string{
		"github.com/coreos/butane/base/util testing", "github.com/coreos/butane/base/util github.com/stretchr/testify/assert",
		"k8s.io/client-go/gentype k8s.io/client-go/testing", "github.com/hashicorp/hcl/v2/hclwrite github.com/google/go-cmp/cmp",
	}
	only := regexp.MustCompile(`(^|/)(testing|testscript|testify|go-cmp|rapid|envtest|gomega|fake)(/|$)|^` + regexp.QuoteMeta(module) + `test/`)
	found := 0
	for line := range strings.Lines(string(out)) {
		from, imp, _ := strings.Cut(strings.TrimSpace(line), " ")
		if found++; only.MatchString(imp) && !only.MatchString(from) && !slices.Contains(excused, from+" "+imp) {
			t.Errorf("%s imports %s", from, imp)
		}
	}
	if found < 1000 {
		t.Errorf("only %d imports were found", found)
	}
}

// importedAs returns the name of a package of ours in a file; empty: the file doesn't import it.
func importedAs(f goFile, pkg string) string {
	for _, spec := range f.tree.Imports {
		if name, _ := strconv.Unquote(spec.Path.Value); name != module+pkg {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(pkg)
	}
	return ""
}

// All who work on a Proxmox cluster do so through a site, so that it is asked once for all of
// them. Doors in Kubernetes try a new login before it takes the place of another one.
func TestOnlySitesWorkOnClusters(t *testing.T) {
	tries := map[string]bool{"operator/providerlink.go": true, "machines/berth.go": true}
	for _, f := range sources(t) {
		if f.test || top(f.pkg) == "test" || f.pkg == "site" {
			continue
		}
		for _, maker := range []string{"engine", "observe", "act", "pve"} {
			name := importedAs(f, maker)
			if name == "." {
				t.Errorf("%s imports the names of %s into its own", f.path, maker)
			}
			ast.Inspect(f.tree, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok || sel.Sel.Name != "New" {
					return true
				}
				if pkg, ok := sel.X.(*ast.Ident); ok && name != "" && pkg.Name == name && !(maker == "pve" && tries[f.path]) {
					t.Errorf("%s makes a %s of its own", f.path, maker)
				}
				return true
			})
		}
	}
}

// What doors in Kubernetes share is in package kube, see docs/adr/0021: events, controllers, health. The exceptions are for the
// controllers of others that run in them.
func TestDoorsInKubernetesShareOnePiece(t *testing.T) {
	names := map[string][]string{
		"GetEventRecorder": nil, "GetEventRecorderFor": {"karpenter/run.go", "machines/quiet.go"}, "NewBroadcaster": nil,
		"NewManager": {"operator/operator.go", "karpenter/run.go"}, "AddReadyzCheck": nil, "AddHealthzCheck": nil, "RateLimiter": nil,
	}
	for _, f := range sources(t) {
		if f.test || !slices.Contains([]string{"operator", "karpenter", "machines"}, top(f.pkg)) {
			continue
		}
		for _, imp := range f.others {
			if imp == "sigs.k8s.io/controller-runtime/pkg/controller" || imp == "k8s.io/api/events/v1" {
				t.Errorf("%s imports %s: package kube has controllers and events of all doors", f.path, imp)
			}
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			if allowed, listed := names[id.Name]; listed && !slices.Contains(allowed, f.path) {
				t.Errorf("%s uses %s: package kube has that for all doors", f.path, id.Name)
			}
			return true
		})
	}
}
