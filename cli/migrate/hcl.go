package migrate

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/proxplane/proxplane/manifest/draft"
)

// tokensOf writes a value of a draft in Terraform's language. Keys are names of fields, unless they are people's own.
func tokensOf(value any, owned bool) hclwrite.Tokens {
	switch v := value.(type) {
	case *draft.Mapping:
		var all []hclwrite.ObjectAttrTokens
		for key, item := range v.All() {
			name := hclwrite.TokensForIdentifier(draft.Attribute(key))
			if owned {
				name = hclwrite.TokensForValue(cty.StringVal(key))
			}
			all = append(all, hclwrite.ObjectAttrTokens{Name: name, Value: tokensOf(item, draft.Owned(key))})
		}
		return hclwrite.TokensForObject(all)
	case []any:
		var all []hclwrite.Tokens
		for _, item := range v {
			all = append(all, tokensOf(item, false))
		}
		return hclwrite.TokensForTuple(all)
	}
	return hclwrite.TokensForValue(scalarOf(value))
}

func scalarOf(value any) cty.Value {
	switch v := value.(type) {
	case string:
		return cty.StringVal(v)
	case bool:
		return cty.BoolVal(v)
	case int:
		return cty.NumberIntVal(int64(v))
	case float64:
		return cty.NumberFloatVal(v)
	}
	return cty.NullVal(cty.DynamicPseudoType)
}

// expression is an expression as it is written.
func expression(text string) hclwrite.Tokens {
	return hclwrite.Tokens{{Type: hclsyntax.TokenIdent, Bytes: []byte(text)}}
}

// quoted is a text in quotes, in which nothing is a template.
func quoted(text string) string { return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes()) }

// comment adds lines of a comment.
func comment(body *hclwrite.Body, lines ...string) {
	for _, line := range lines {
		text := strings.TrimRight("# "+strings.Join(strings.Fields(line), " "), " ") + "\n"
		body.AppendUnstructuredTokens(hclwrite.Tokens{{Type: hclsyntax.TokenComment, Bytes: []byte(text)}})
	}
}
