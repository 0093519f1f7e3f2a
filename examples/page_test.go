package examples_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/manifest"
)

// page are the YAML blocks of the page that this API comes from.
func page(t *testing.T) []txtar.File {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/page-blocks.txtar")
	if err != nil {
		t.Fatal(err)
	}
	return archive.Files
}

// Blocks without a kind are parts of an object; these are the files that have
// them, and the place in the object.
var parts = map[string]struct{ file, path string }{
	"03.yaml": {"seed/insecure/provider.yaml", ""},
	"08.yaml": {"seed/nodes/provider.yaml", "spec.runtime"},
	"12.yaml": {"seed/static-ip/static-ip.yaml", "spec"},
	"15.yaml": {"seed/full-clone/web-clone.yaml", ""},
	"17.yaml": {"seed/nodes/provider.yaml", "spec.runtime"},
}

// abridged is the block that leaves something out, for readers. The files have the whole of it.
const abridged = "05.yaml"

func isAbridged(t *testing.T, files map[string][]byte, block []byte) {
	t.Helper()
	for i, name := range []string{"seed/reconfigure/web-server.yaml", "seed/reconfigure/large.yaml"} {
		doc := bytes.Split(block, []byte("\n---\n"))[i]
		if !contains(t, tree(t, files[name]), tree(t, doc)) {
			t.Errorf("%s doesn't say what the page does:\n%s", name, doc)
		}
	}
}

// What isn't for Proxmox.
var forKubernetes = map[string]string{
	"18.yaml": "this has neither apiVersion nor kind",
	"19.yaml": "NetworkPolicy of networking.k8s.io/v1 isn't for Proxmox",
	"20.yaml": "NetworkPolicy of networking.k8s.io/v1 isn't for Proxmox",
	"24.yaml": "Deployment of apps/v1 isn't for Proxmox",
}

func TestEveryBlockOfThePageIsHereToTheLetter(t *testing.T) {
	files := map[string][]byte{}
	paths, err := filepath.Glob("seed/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if files[p], err = os.ReadFile(p); err != nil {
			t.Fatal(err)
		}
	}
	blocks := page(t)
	if len(blocks) != 25 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for _, block := range blocks {
		part, isPart := parts[block.Name]
		reason, notOurs := forKubernetes[block.Name]
		_, err := manifest.Parse(block.Name, block.Data)
		switch {
		case block.Name == abridged:
			isAbridged(t, files, block.Data)
		case isPart:
			if !contains(t, at(tree(t, files[part.file]), part.path), tree(t, block.Data)) {
				t.Errorf("%s isn't part of %s", block.Name, part.file)
			}
		case notOurs:
			if err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s: %v, want %q", block.Name, err, reason)
			}
		case len(tree(t, block.Data)) == 0:
			if err != nil {
				t.Errorf("%s says nothing, and yet: %v", block.Name, err)
			}
		case !slices.ContainsFunc(slices.Collect(maps.Values(files)), func(b []byte) bool { return bytes.Equal(b, block.Data) }):
			t.Errorf("no file is the same as %s", block.Name)
		case err != nil:
			t.Errorf("%s: %v", block.Name, err)
		}
	}
}

// In the source of the page, blocks in a list are indented.
func TestIndentedBlocksAreTakenToo(t *testing.T) {
	for _, block := range page(t)[:2] {
		text := "   " + strings.ReplaceAll(strings.TrimRight(string(block.Data), "\n"), "\n", "\n   ") + "\n"
		if _, err := manifest.Parse(block.Name, []byte(text)); err != nil {
			t.Errorf("%s: %v", block.Name, err)
		}
	}
}

func tree(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func at(v map[string]any, path string) any {
	for _, name := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' }) {
		v, _ = v[name].(map[string]any)
	}
	return v
}

// contains reports whether all of part is in whole; elements of lists may have
// others beside them.
func contains(t *testing.T, whole, part any) bool {
	t.Helper()
	switch p := part.(type) {
	case map[string]any:
		w, ok := whole.(map[string]any)
		for k, v := range p {
			ok = ok && contains(t, w[k], v)
		}
		return ok
	case []any:
		w, ok := whole.([]any)
		for _, v := range p {
			ok = ok && slices.ContainsFunc(w, func(e any) bool { return contains(t, e, v) })
		}
		return ok
	}
	return reflect.DeepEqual(whole, part)
}

// TestThePageAboutFirstBootShowsTheExamples: each block of YAML there is part of an
// example, to the letter.
func TestThePageAboutFirstBootShowsTheExamples(t *testing.T) {
	text, err := os.ReadFile("../docs/first-boot.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("first-boot/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("\n")
		all.Write(b)
	}
	blocks := strings.Split(string(text), "```yaml\n")[1:]
	if len(blocks) < len(files) {
		t.Errorf("%d blocks and %d examples", len(blocks), len(files))
	}
	for _, b := range blocks {
		block, _, _ := strings.Cut(b, "```")
		if !strings.Contains(all.String(), "\n"+block) {
			t.Errorf("this is in no example:\n%s", block)
		}
	}
}
