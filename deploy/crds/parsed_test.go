package crds_test

import (
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/deploy/crds"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// TestParsedDefinitionsAreThoseOfTheFiles keeps parsed/definitions.json as the YAML files say.
func TestParsedDefinitionsAreThoseOfTheFiles(t *testing.T) {
	files, err := fs.Glob(crds.Files, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []*crds.Definition
	for _, name := range files {
		text, err := crds.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d := &crds.Definition{}
		if err := yaml.Unmarshal(text, d); err != nil {
			t.Fatal(name, err)
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *crds.Definition) int { return strings.Compare(a.Kind(), b.Kind()) })
	var lines strings.Builder
	for _, d := range all {
		line, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	golden.File(t, "parsed/definitions.json", lines.String())
}
