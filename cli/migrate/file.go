package migrate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/proxplane/proxplane/manifest"
)

// address is where the provider is found, as [terraform.Address] has it.
const address = "terraform.local/proxplane/proxplane"

// head adds the blocks of the provider, but for what the configuration has already.
func head(body *hclwrite.Body, set string, conn manifest.Connection, has beside) {
	switch {
	case has.known:
	case has.requires != "":
		comment(body, fmt.Sprintf("Add to required_providers in %s: %s = { source = %q }", has.requires, ours, address))
		body.AppendNewline()
	default:
		providers := body.AppendNewBlock("terraform", nil).Body().AppendNewBlock("required_providers", nil).Body()
		providers.SetAttributeValue(ours, cty.ObjectVal(map[string]cty.Value{"source": cty.StringVal(address)}))
		body.AppendNewline()
	}
	if has.provider {
		return
	}
	comment(body, "The login comes from the environment: PVE_TOKEN_ID and PVE_TOKEN_SECRET, or PVE_USERNAME and PVE_PASSWORD.")
	provider := body.AppendNewBlock("provider", []string{ours}).Body()
	provider.SetAttributeValue("set", cty.StringVal(set))
	if len(conn.Endpoints) == 1 {
		provider.SetAttributeValue("endpoint", cty.StringVal(conn.Endpoints[0]))
	} else {
		provider.SetAttributeValue("endpoints", texts(conn.Endpoints))
	}
	if len(conn.TLS.Fingerprints) > 0 {
		provider.SetAttributeValue("fingerprint", cty.StringVal(conn.TLS.Fingerprints[0]))
	}
	if conn.TLS.Insecure {
		provider.SetAttributeValue("insecure_skip_verify", cty.True)
	}
	body.AppendNewline()
}

func texts(list []string) cty.Value {
	values := make([]cty.Value, len(list))
	for i, text := range list {
		values[i] = cty.StringVal(text)
	}
	return cty.ListVal(values)
}

// removed adds the blocks that take machines out of the old state, without destroying them. A resource of which some
// machines stay with their provider isn't among them: a block is for all of them.
func removed(body *hclwrite.Body, taken []machine, left []theirs) {
	var done []string
	if len(taken) > 0 {
		comment(body, "These take machines out of the old resources and destroy nothing. They need the block of the old provider: it can go after the apply.")
	}
	for _, m := range taken {
		from := withoutIndexes(m.resource())
		if slices.Contains(done, from) {
			continue
		}
		done = append(done, from)
		if slices.ContainsFunc(left, func(t theirs) bool { return withoutIndexes(t.resource()) == from }) {
			comment(body, "Not all machines of "+from+" are taken over. Take those that are out of the state by hand:")
			for _, m := range taken {
				if withoutIndexes(m.resource()) == from {
					comment(body, "terraform state rm '"+m.address()+"'")
				}
			}
			body.AppendNewline()
			continue
		}
		block := body.AppendNewBlock("removed", nil).Body()
		block.SetAttributeRaw("from", expression(from))
		block.AppendNewBlock("lifecycle", nil).Body().SetAttributeValue("destroy", cty.False)
		body.AppendNewline()
	}
}

// rest adds what isn't taken over, and why.
func rest(body *hclwrite.Body, left []theirs, others []string) {
	for _, t := range left {
		comment(body, fmt.Sprintf("%s isn't taken over: %s.", t.address(), t.trouble))
	}
	if len(left) > 0 {
		body.AppendNewline()
	}
	if len(others) > 0 {
		comment(body, "These stay with their provider:")
		for _, o := range slices.SortedFunc(slices.Values(others), cmp.Compare) {
			comment(body, "- "+o)
		}
	}
}
