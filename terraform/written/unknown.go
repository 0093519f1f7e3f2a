package written

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/proxplane/proxplane/spec/suggest"
)

// Schema is what blocks of a provider can have.
type Schema struct {
	Name     string           // the provider's
	Provider Shape            // its block
	Blocks   map[string]Shape // by the type of the block and that of the resource: resource.proxplane_image
}

// Finding is a name that Terraform drops silently.
type Finding struct {
	Where string // file and line
	Path  string // such as proxplane_virtual_machine.web: class.cpuss
	Hint  string // which name was meant
	// Sure says that the name stands in the block of the resource itself. Others stand in locals that may be for something
	// else, too, or in calls of modules, which are their authors' business.
	Sure bool
}

func (f Finding) String() string { return fmt.Sprintf("%s: %s: %s", f.Where, f.Path, f.Hint) }

// Unknown finds the names in objects of a configuration, the root module of which is in a folder, that the schema hasn't.
// Names that aren't written as such, but computed, aren't seen.
func Unknown(dir string, schema Schema) []Finding {
	r := &reader{schema: schema, dirs: installed(dir), seen: map[string]bool{}}
	r.module("", dir)
	return r.found
}

// reader goes through the modules of a configuration.
type reader struct {
	schema Schema
	dirs   map[string]string // of modules
	seen   map[string]bool   // folders
	found  []Finding
}

// module goes through a module, and those that it calls. It reports whether it has something of the provider.
func (r *reader) module(key, dir string) (ours bool) {
	f, known := open(dir), r.seen[filepath.Clean(dir)]
	r.seen[filepath.Clean(dir)] = true
	for _, b := range f.blocks {
		shape, is := r.shape(b)
		if ours = ours || is; is && !known {
			r.block(f, b, shape, true)
		}
	}
	for _, call := range f.of("module") {
		name := strings.TrimPrefix(key+"."+call.Labels[0], ".")
		to, there := r.dirs[name]
		if !there || !r.module(name, to) {
			continue
		}
		if ours = true; !known {
			r.block(f, call, variables(open(to)), false)
		}
	}
	return ours
}

// shape is that of a block of the provider.
func (r *reader) shape(b *hcl.Block) (Shape, bool) {
	if b.Type == "provider" {
		return r.schema.Provider, b.Labels[0] == r.schema.Name
	}
	if len(b.Labels) < 2 {
		return Shape{}, false
	}
	s, ok := r.schema.Blocks[b.Type+"."+b.Labels[0]]
	return s, ok
}

// variables are the arguments of a module.
func variables(f folder) Shape {
	s := Shape{Fields: map[string]Shape{}}
	for _, b := range f.of("variable") {
		if a := attributes(b)["type"]; a != nil {
			if t, _, diags := typeexpr.TypeConstraintWithDefaults(a.Expr); !diags.HasErrors() {
				s.Fields[b.Labels[0]] = shapeOf(t)
			}
		}
	}
	return s
}

// block looks at the attributes of a block. Those that it hasn't are Terraform's to refuse.
func (r *reader) block(f folder, b *hcl.Block, shape Shape, sure bool) {
	labels := b.Labels
	if b.Type != "resource" {
		labels = append([]string{b.Type}, labels...)
	}
	in := place{reader: r, folder: f, of: strings.Join(labels, ".") + ": ", sure: sure}
	all := attributes(b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		in.expression(all[name].Expr, shape.Fields[name], name)
	}
}

// place is where expressions stand.
type place struct {
	*reader
	folder folder
	of     string // the block
	sure   bool
	depth  int // of locals that stand for locals
}

// expression looks for names that objects of a shape haven't, as far as an expression says what it is.
func (p place) expression(e hcl.Expression, shape Shape, path string) {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		p.expression(e.Expression, shape, path)
		return
	case *hclsyntax.ConditionalExpr:
		p.expression(e.TrueResult, shape, path)
		p.expression(e.FalseResult, shape, path)
		return
	case *hclsyntax.ForExpr:
		if shape.Item != nil {
			p.expression(e.ValExpr, *shape.Item, path+"[]")
		}
		return
	case *hclsyntax.FunctionCallExpr:
		if e.Name == "merge" || e.Name == "concat" {
			for _, a := range e.Args {
				p.expression(a, shape, path)
			}
		}
		return
	case *hclsyntax.ScopeTraversalExpr:
		p.local(e.Traversal, shape, path)
		return
	}
	if pairs, diags := hcl.ExprMap(e); !diags.HasErrors() {
		for _, pair := range pairs {
			p.pair(pair, shape, path)
		}
	} else if items, diags := hcl.ExprList(e); !diags.HasErrors() && shape.Item != nil {
		for i, item := range items {
			p.expression(item, *shape.Item, fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

// local follows a name to what it stands for.
func (p place) local(t hcl.Traversal, shape Shape, path string) {
	const most = 10 // one that stands for itself is Terraform's to refuse
	if p.depth++; len(t) != 2 || t.RootName() != "local" || p.depth > most {
		return
	}
	step, is := t[1].(hcl.TraverseAttr)
	if e := p.folder.locals[step.Name]; is && e != nil {
		p.sure = false
		p.expression(e, shape, path)
	}
}

// pair looks at a name of an object, and its value.
func (p place) pair(pair hcl.KeyValuePair, shape Shape, path string) {
	key, diags := pair.Key.Value(nil)
	if diags.HasErrors() || key.Type() != cty.String || key.IsNull() || !key.IsKnown() {
		return
	}
	name := key.AsString()
	if path += "." + name; shape.Item != nil {
		p.expression(pair.Value, *shape.Item, path)
		return
	}
	if shape.Fields == nil {
		return
	}
	field, there := shape.Fields[name]
	if there {
		p.expression(pair.Value, field, path)
		return
	}
	at := pair.Key.Range()
	p.found = append(p.found, Finding{
		Where: fmt.Sprintf("%s:%d", at.Filename, at.Start.Line), Path: p.of + path, Sure: p.sure,
		Hint: suggest.DidYouMean(name, slices.Sorted(maps.Keys(shape.Fields))),
	})
}
