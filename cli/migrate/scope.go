package migrate

import (
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// scope is what expressions of a configuration can name: its variables and its locals.
type scope struct{ vars, local map[string]cty.Value }

func newScope() scope { return scope{map[string]cty.Value{}, map[string]cty.Value{}} }

// context is the scope as expressions see it.
func (s scope) context() *hcl.EvalContext {
	return &hcl.EvalContext{Functions: functions, Variables: map[string]cty.Value{"var": cty.ObjectVal(s.vars), "local": cty.ObjectVal(s.local)}}
}

// variables reads the defaults of variables, and files that set them.
func (s scope) variables(blocks []*hclsyntax.Block, files []string) error {
	for _, b := range blocks {
		if b.Type != "variable" || b.Body.Attributes["default"] == nil {
			continue
		}
		if value, diags := b.Body.Attributes["default"].Expr.Value(nil); !diags.HasErrors() {
			s.vars[b.Labels[0]] = value
		}
	}
	parser := hclparse.NewParser()
	for _, name := range files {
		file, diags := parser.ParseHCLFile(name)
		if diags.HasErrors() {
			return first(diags)
		}
		all, diags := file.Body.JustAttributes()
		if diags.HasErrors() {
			return first(diags)
		}
		for variable, attribute := range all {
			if value, diags := attribute.Expr.Value(nil); !diags.HasErrors() {
				s.vars[variable] = value
			}
		}
	}
	return nil
}

// locals evaluates those that can be, in whatever order they need one another.
func (s scope) locals(blocks []*hclsyntax.Block) {
	open := map[string]hclsyntax.Expression{}
	for _, b := range blocks {
		if b.Type == "locals" {
			for name, attribute := range b.Body.Attributes {
				open[name] = attribute.Expr
			}
		}
	}
	for before := len(open) + 1; len(open) < before; {
		before = len(open)
		maps.DeleteFunc(open, func(name string, e hclsyntax.Expression) bool {
			value, diags := e.Value(s.context())
			if !diags.HasErrors() {
				s.local[name] = value
			}
			return !diags.HasErrors()
		})
	}
}

// number is a whole number.
func number(v cty.Value) (int, bool) {
	v, err := convert.Convert(v, cty.Number)
	if err != nil || v.IsNull() || !v.IsKnown() {
		return 0, false
	}
	n, _ := v.AsBigFloat().Int64()
	return int(n), true
}

// functions are those of Terraform that names, VMIDs and numbers of machines are made with.
var functions = map[string]function.Function{
	"abs": stdlib.AbsoluteFunc, "can": tryfunc.CanFunc, "ceil": stdlib.CeilFunc, "chunklist": stdlib.ChunklistFunc, "coalesce": stdlib.CoalesceFunc,
	"coalescelist": stdlib.CoalesceListFunc, "compact": stdlib.CompactFunc, "concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc,
	"distinct": stdlib.DistinctFunc, "element": stdlib.ElementFunc, "flatten": stdlib.FlattenFunc, "floor": stdlib.FloorFunc, "format": stdlib.FormatFunc,
	"formatlist": stdlib.FormatListFunc, "indent": stdlib.IndentFunc, "index": stdlib.IndexFunc, "join": stdlib.JoinFunc, "jsondecode": stdlib.JSONDecodeFunc,
	"jsonencode": stdlib.JSONEncodeFunc, "keys": stdlib.KeysFunc, "length": stdlib.LengthFunc, "lookup": stdlib.LookupFunc, "lower": stdlib.LowerFunc,
	"max": stdlib.MaxFunc, "merge": stdlib.MergeFunc, "min": stdlib.MinFunc, "parseint": stdlib.ParseIntFunc, "range": stdlib.RangeFunc,
	"regex": stdlib.RegexFunc, "regexall": stdlib.RegexAllFunc, "replace": stdlib.ReplaceFunc, "reverse": stdlib.ReverseListFunc, "setproduct": stdlib.SetProductFunc,
	"setunion": stdlib.SetUnionFunc, "slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "split": stdlib.SplitFunc, "strrev": stdlib.ReverseFunc,
	"substr": stdlib.SubstrFunc, "title": stdlib.TitleFunc, "tobool": stdlib.MakeToFunc(cty.Bool), "tolist": stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)),
	"tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)), "tonumber": stdlib.MakeToFunc(cty.Number), "toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
	"tostring": stdlib.MakeToFunc(cty.String), "trim": stdlib.TrimFunc, "trimprefix": stdlib.TrimPrefixFunc, "trimspace": stdlib.TrimSpaceFunc,
	"trimsuffix": stdlib.TrimSuffixFunc, "try": tryfunc.TryFunc, "upper": stdlib.UpperFunc, "values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,
}
