package terraform_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/proxplane/proxplane/terraform"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// TestRegistryPages: the pages that registries show are those of the schema. The folder docs has them in the layout
// that registries expect.
func TestRegistryPages(t *testing.T) {
	server, err := providerserver.NewProtocol6WithError(terraform.New("dev")())()
	if err != nil {
		t.Fatal(err)
	}
	all, err := server.GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil || len(all.Diagnostics) > 0 {
		t.Fatal(err, all.Diagnostics)
	}
	pages := map[string]string{"index.md": page(t, terraform.Name+" Provider", "provider", all.Provider)}
	for name, s := range all.ResourceSchemas {
		of := "resources/" + short(name)
		pages[of+".md"] = page(t, name+" (Resource)", of, s)
	}
	for name, s := range all.DataSourceSchemas {
		of := "data-sources/" + short(name)
		pages[of+".md"] = page(t, name+" (Data Source)", of, s)
	}
	for name, s := range all.EphemeralResourceSchemas {
		of := "ephemeral-resources/" + short(name)
		pages[of+".md"] = page(t, name+" (Ephemeral Resource)", of, s)
	}
	for name, f := range all.Functions {
		pages["functions/"+name+".md"] = functionPage(t, name, f)
	}
	pages["index.md"] += contents(slices.Sorted(maps.Keys(pages)))
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		file := filepath.Join("docs", name)
		if *golden.Update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		golden.File(t, file, pages[name])
	}
	_ = filepath.WalkDir("docs", func(file string, d os.DirEntry, err error) error {
		if name, _ := filepath.Rel("docs", file); err == nil && !d.IsDir() && pages[filepath.ToSlash(name)] == "" {
			t.Errorf("%s is of nothing that the provider has: remove it", file)
		}
		return err
	})
}

// contents leads from the first page to all others.
func contents(names []string) string {
	var b strings.Builder
	b.WriteString("\n## Pages\n\n")
	for _, name := range names {
		if folder, page, ok := strings.Cut(strings.TrimSuffix(name, ".md"), "/"); ok {
			fmt.Fprintf(&b, "- %s: [%s](%s)\n", strings.TrimSuffix(strings.ReplaceAll(folder, "-", " "), "s"), page, name)
		}
	}
	return b.String()
}

func short(name string) string { return strings.TrimPrefix(name, terraform.Name+"_") }

func begin(title, about string) string {
	first, _, _ := strings.Cut(about, "\n")
	return fmt.Sprintf("---\npage_title: %q\ndescription: %q\n---\n\n# %s\n\n%s\n", title, first, title, about)
}

func page(t *testing.T, title, of string, s *tfprotov6.Schema) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(begin(title, s.Block.Description))
	b.WriteString(example(t, of))
	b.WriteString("\n## Schema\n\n")
	attributes(&b, s.Block.Attributes, "")
	if text, err := os.ReadFile(filepath.Join("examples", of, "import.tf")); err == nil {
		fmt.Fprintf(&b, "\n## Import\n\n```terraform\n%s```\n", text)
	}
	return b.String()
}

// example is how something is used. Package test/terraform applies the examples.
func example(t *testing.T, of string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("examples", of, "example.tf"))
	if err != nil {
		t.Error(err)
	}
	return fmt.Sprintf("\n## Example Usage\n\n```terraform\n%s```\n", text)
}

// attributes lists attributes, those that are needed first.
func attributes(b *strings.Builder, list []*tfprotov6.SchemaAttribute, indent string) {
	list = slices.Clone(list)
	rank := func(a *tfprotov6.SchemaAttribute) int {
		switch {
		case a.Required:
			return 0
		case a.Optional:
			return 1
		}
		return 2
	}
	slices.SortFunc(list, func(a, b *tfprotov6.SchemaAttribute) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Name, b.Name))
	})
	for _, a := range list {
		facts := []string{typeOf(a), []string{"required", "optional", "read-only"}[rank(a)]}
		if a.Sensitive {
			facts = append(facts, "sensitive")
		}
		if a.WriteOnly {
			facts = append(facts, "write-only")
		}
		fmt.Fprintf(b, "%s- `%s` (%s)", indent, a.Name, strings.Join(facts, ", "))
		if text := strings.Join(strings.Fields(a.Description), " "); text != "" {
			b.WriteString(" " + text)
		}
		b.WriteString("\n")
		if a.NestedType != nil {
			attributes(b, a.NestedType.Attributes, indent+"  ")
		}
	}
}

func typeOf(a *tfprotov6.SchemaAttribute) string {
	if n := a.NestedType; n != nil {
		return map[tfprotov6.SchemaObjectNestingMode]string{
			tfprotov6.SchemaObjectNestingModeSingle: "object", tfprotov6.SchemaObjectNestingModeList: "list of objects", tfprotov6.SchemaObjectNestingModeMap: "map of objects",
		}[n.Nesting]
	}
	return strings.ToLower(strings.NewReplacer("tftypes.", "", "[", " of ", "]", "").Replace(a.Type.String()))
}

func functionPage(t *testing.T, name string, f *tfprotov6.Function) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(begin(name+" (Function)", f.Description))
	b.WriteString(example(t, "functions/"+name))
	parameters, names := f.Parameters, []string{}
	for _, p := range parameters {
		names = append(names, p.Name)
	}
	if v := f.VariadicParameter; v != nil {
		parameters, names = append(slices.Clone(parameters), v), append(names, v.Name+"...")
	}
	fmt.Fprintf(&b, "\n## Signature\n\n```text\nprovider::%s::%s(%s)\n```\n\n## Arguments\n\n", terraform.Name, name, strings.Join(names, ", "))
	for _, p := range parameters {
		fmt.Fprintf(&b, "- `%s` %s\n", p.Name, p.Description)
	}
	return b.String()
}
