package written

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
)

// folder is the configuration of a module: all files of a folder together.
type folder struct {
	blocks hcl.Blocks
	locals map[string]hcl.Expression
}

// parts are the blocks that are read.
var parts = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "resource", LabelNames: []string{"type", "name"}},
	{Type: "data", LabelNames: []string{"type", "name"}},
	{Type: "ephemeral", LabelNames: []string{"type", "name"}},
	{Type: "provider", LabelNames: []string{"name"}},
	{Type: "module", LabelNames: []string{"name"}},
	{Type: "variable", LabelNames: []string{"name"}},
	{Type: "locals"},
}}

// open reads a folder. What can't be read is left out: Terraform says what is wrong with it.
func open(dir string) folder {
	f, parser := folder{locals: map[string]hcl.Expression{}}, hclparse.NewParser()
	for _, name := range files(dir) {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		parse := parser.ParseHCL
		if strings.HasSuffix(name, ".json") {
			parse = parser.ParseJSON
		}
		file, diags := parse(text, name)
		if diags.HasErrors() || file == nil {
			continue
		}
		content, _, _ := file.Body.PartialContent(parts)
		f.blocks = append(f.blocks, content.Blocks...)
	}
	for _, b := range f.of("locals") {
		for name, a := range attributes(b) {
			f.locals[name] = a.Expr
		}
	}
	return f
}

// files are the files of a folder's configuration. OpenTofu reads x.tofu in place of x.tf.
func files(dir string) (list []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	tofu := map[string]bool{}
	for _, e := range entries {
		if before, is := strings.CutSuffix(strings.TrimSuffix(e.Name(), ".json"), ".tofu"); is {
			tofu[before] = true
		}
	}
	for _, e := range entries {
		plain := strings.TrimSuffix(e.Name(), ".json")
		before, terraform := strings.CutSuffix(plain, ".tf")
		if !e.IsDir() && !strings.HasPrefix(plain, ".") && (strings.HasSuffix(plain, ".tofu") || terraform && !tofu[before]) {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list
}

// of are the blocks of a type.
func (f folder) of(kind string) (list hcl.Blocks) {
	return slices.DeleteFunc(slices.Clone(f.blocks), func(b *hcl.Block) bool { return b.Type != kind })
}

// attributes are those of a block, whatever else it has.
func attributes(b *hcl.Block) hcl.Attributes {
	all, _ := b.Body.JustAttributes()
	return all
}

// installed are the folders of modules, by the names of their calls: web.disk for one in another.
func installed(dir string) map[string]string {
	var list struct {
		Modules []struct{ Key, Dir string }
	}
	dirs := map[string]string{}
	data := cmp.Or(os.Getenv("TF_DATA_DIR"), ".terraform")
	if !filepath.IsAbs(data) {
		data = filepath.Join(dir, data)
	}
	text, err := os.ReadFile(filepath.Join(data, "modules", "modules.json"))
	if err != nil || json.Unmarshal(text, &list) != nil {
		return dirs
	}
	for _, m := range list.Modules {
		if dirs[m.Key] = m.Dir; !filepath.IsAbs(m.Dir) {
			dirs[m.Key] = filepath.Join(dir, m.Dir)
		}
	}
	return dirs
}
