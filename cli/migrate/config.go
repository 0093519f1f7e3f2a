package migrate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// config is a configuration of Terraform, of one folder.
type config struct {
	blocks []*hclsyntax.Block
	scope
}

// readConfig reads the machines of a configuration: a folder, or one file of it. What is only known to Terraform, such as
// an attribute of another resource, makes the machine one that can't be taken over.
func readConfig(source string) (f found, err error) {
	files := []string{source}
	if !strings.HasSuffix(source, ".tf") {
		if files, err = filepath.Glob(filepath.Join(source, "*.tf")); err != nil {
			return f, err
		}
		if len(files) == 0 {
			return f, errors.New("the folder has no *.tf")
		}
	}
	c, err := parse(files)
	if err != nil {
		return f, err
	}
	values, err := filepath.Glob(filepath.Join(filepath.Dir(files[0]), "*.tfvars"))
	if err != nil {
		return f, err
	}
	if err := c.variables(c.blocks, slices.DeleteFunc(values, unread)); err != nil {
		return f, err
	}
	c.locals(c.blocks)
	for _, b := range c.blocks {
		switch {
		case b.Type == "module":
			f.machines = append(f.machines, theirs{module: "module." + b.Labels[0], kind: "*", name: "*", trouble: "modules aren't read in configurations: give the state"})
		case b.Type == "resource" && len(b.Labels) == 2 && kinds[b.Labels[0]] != nil:
			f.machines = append(f.machines, c.machines(b)...)
		case b.Type == "resource" && strings.HasPrefix(b.Labels[0], "proxmox_"):
			f.others = append(f.others, strings.Join(b.Labels, "."))
		}
	}
	return f, nil
}

// unread reports whether Terraform doesn't read a file of values by itself.
func unread(name string) bool {
	return filepath.Base(name) != "terraform.tfvars" && !strings.HasSuffix(name, ".auto.tfvars")
}

// parse reads the blocks of files.
func parse(files []string) (*config, error) {
	c, parser := &config{scope: newScope()}, hclparse.NewParser()
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, diags := parser.ParseHCL(text, filepath.Base(name))
		if diags.HasErrors() {
			return nil, first(diags)
		}
		body, _ := file.Body.(*hclsyntax.Body)
		c.blocks = append(c.blocks, body.Blocks...)
	}
	return c, nil
}

// first is the first thing that is wrong, as one sentence.
func first(diags hcl.Diagnostics) error {
	d := diags.Errs()[0]
	var one *hcl.Diagnostic
	if errors.As(d, &one) && one.Subject != nil {
		return fmt.Errorf("%s:%d: %s", one.Subject.Filename, one.Subject.Start.Line, strings.TrimSuffix(one.Detail, "."))
	}
	return d
}

// machines are the instances of a resource.
func (c *config) machines(b *hclsyntax.Block) (list []theirs) {
	t := theirs{kind: b.Labels[0], name: b.Labels[1]}
	for _, meta := range []string{"count", "for_each"} {
		attribute := b.Body.Attributes[meta]
		if attribute == nil {
			continue
		}
		value, diags := attribute.Expr.Value(c.context())
		if diags.HasErrors() || !value.IsWhollyKnown() || value.IsNull() {
			t.trouble = fmt.Sprintf("%s isn't known from the configuration alone: give the state", meta)
			return []theirs{t}
		}
		if meta == "count" {
			return c.counted(b, t, value)
		}
		return c.each(b, t, value)
	}
	return []theirs{c.machine(b, t, nil)}
}

func (c *config) counted(b *hclsyntax.Block, t theirs, count cty.Value) (list []theirs) {
	n, ok := number(count)
	for i := 0; ok && i < n; i++ {
		t.index = i
		list = append(list, c.machine(b, t, map[string]cty.Value{"count": cty.ObjectVal(map[string]cty.Value{"index": cty.NumberIntVal(int64(i))})}))
	}
	return list
}

func (c *config) each(b *hclsyntax.Block, t theirs, all cty.Value) (list []theirs) {
	if !all.CanIterateElements() {
		t.trouble = "for_each is neither a map nor a set"
		return []theirs{t}
	}
	for key, value := range all.Elements() {
		if all.Type().IsSetType() {
			key = value
		}
		if key.Type() != cty.String {
			t.trouble = "for_each is neither a map nor a set of texts"
			return []theirs{t}
		}
		t.index = key.AsString()
		list = append(list, c.machine(b, t, map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})}))
	}
	return list
}

// machine is one instance: what its attributes say, as far as it is known.
func (c *config) machine(b *hclsyntax.Block, t theirs, more map[string]cty.Value) theirs {
	ctx := c.context()
	for name, value := range more {
		ctx.Variables[name] = value
	}
	t.said = said(b.Body, ctx)
	t.judge()
	if t.vmid == 0 && t.guest == "" && t.trouble == "" {
		t.trouble = "neither its VMID nor its name is known from the configuration alone: give the state"
	}
	return t
}

// said is what a body says, with blocks as lists.
func said(body *hclsyntax.Body, ctx *hcl.EvalContext) map[string]any {
	all := map[string]any{}
	for name, attribute := range body.Attributes {
		if value, diags := attribute.Expr.Value(ctx); !diags.HasErrors() && value.IsWhollyKnown() {
			all[name] = plain(value)
		}
	}
	for _, b := range body.Blocks {
		list, _ := all[b.Type].([]any)
		all[b.Type] = append(list, said(b.Body, ctx))
	}
	return all
}

// plain is a value as JSON would have it; nil: it is none that matters here.
func plain(v cty.Value) any {
	switch {
	case v.IsNull():
	case v.Type() == cty.String:
		return v.AsString()
	case v.Type() == cty.Bool:
		return v.True()
	case v.Type() == cty.Number:
		n, _ := v.AsBigFloat().Float64()
		return n
	}
	return nil
}
