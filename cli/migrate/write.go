package migrate

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// kindOfOurs is the resource that a machine becomes.
const kindOfOurs = "proxplane_virtual_machine"

// group are the machines of one resource: one, or those of count or for_each.
type group struct {
	label    string
	machines []machine
}

// groupsOf puts the machines of a resource together. There is a new label for each.
func groupsOf(list []machine) (groups []*group) {
	var labels []string
	for _, m := range list {
		at := slices.IndexFunc(groups, func(g *group) bool { return g.machines[0].resource() == m.resource() })
		if at < 0 {
			at, groups = len(groups), append(groups, &group{label: unused(m.label(), &labels)})
		}
		groups[at].machines = append(groups[at].machines, m)
	}
	return groups
}

// counted reports whether the machines are numbered from 0 on, as count does it.
func (g *group) counted() bool {
	for i, m := range g.machines {
		if m.index != i {
			return false
		}
	}
	return true
}

// single reports whether the resource has neither count nor for_each.
func (g *group) single() bool { return g.machines[0].index == nil }

// key is the index of a machine in the new resource.
func (g *group) key(m machine) string {
	switch {
	case g.single():
		return ""
	case g.counted():
		return indexText(m.index)
	}
	return indexText(fmt.Sprint(m.index))
}

// write adds the resource, what differs between its machines, and an import block for each.
func (g *group) write(body *hclwrite.Body) {
	comment(body, g.machines[0].resource())
	comment(body, g.remarks()...)
	for _, m := range g.machines {
		block := body.AppendNewBlock("import", nil).Body()
		block.SetAttributeRaw("to", expression(kindOfOurs+"."+g.label+g.key(m)))
		block.SetAttributeValue("id", cty.StringVal(strconv.Itoa(m.vmid)))
		body.AppendNewline()
	}
	if g.single() {
		resource := body.AppendNewBlock("resource", []string{kindOfOurs, g.label}).Body()
		for _, f := range g.machines[0].fields {
			resource.SetAttributeRaw(f.name, f.value)
		}
		body.AppendNewline()
		return
	}
	g.writeSeveral(body)
}

// writeSeveral adds a resource with count or for_each.
func (g *group) writeSeveral(body *hclwrite.Body) {
	names, differ := g.names()
	local, each := g.label+"_machines", "each.value."
	var items []hclwrite.Tokens
	var entries []hclwrite.ObjectAttrTokens
	for _, m := range g.machines {
		var own []hclwrite.ObjectAttrTokens
		for _, name := range names {
			if differ[name] {
				own = append(own, hclwrite.ObjectAttrTokens{Name: hclwrite.TokensForIdentifier(name), Value: m.value(name)})
			}
		}
		object := hclwrite.TokensForObject(own)
		items = append(items, object)
		entries = append(entries, hclwrite.ObjectAttrTokens{Name: hclwrite.TokensForValue(cty.StringVal(fmt.Sprint(m.index))), Value: object})
	}
	locals := body.AppendNewBlock("locals", nil).Body()
	body.AppendNewline()
	resource := body.AppendNewBlock("resource", []string{kindOfOurs, g.label}).Body()
	if g.counted() {
		locals.SetAttributeRaw(local, hclwrite.TokensForTuple(items))
		resource.SetAttributeRaw("count", expression("length(local."+local+")"))
		each = "local." + local + "[count.index]."
	} else {
		locals.SetAttributeRaw(local, hclwrite.TokensForObject(entries))
		resource.SetAttributeRaw("for_each", expression("local."+local))
	}
	for _, name := range names {
		if differ[name] {
			resource.SetAttributeRaw(name, expression(each+name))
			continue
		}
		resource.SetAttributeRaw(name, g.machines[0].value(name))
	}
	body.AppendNewline()
}

// names are the attributes of all machines, and which of them differ. The name and the VMID always do.
func (g *group) names() (names []string, differ map[string]bool) {
	differ = map[string]bool{"name": true, "vmid": true}
	for _, m := range g.machines {
		for _, f := range m.fields {
			if !slices.Contains(names, f.name) {
				names = append(names, f.name)
			}
		}
	}
	for _, name := range names {
		first := g.machines[0].value(name).Bytes()
		for _, m := range g.machines[1:] {
			differ[name] = differ[name] || !bytes.Equal(first, m.value(name).Bytes())
		}
	}
	return names, differ
}

// value is an attribute of a machine, or null.
func (m machine) value(name string) hclwrite.Tokens {
	at := slices.IndexFunc(m.fields, func(f field) bool { return f.name == name })
	if at < 0 {
		return hclwrite.TokensForValue(cty.NullVal(cty.DynamicPseudoType))
	}
	return m.fields[at].value
}

// remarks are what is said of the machines. What is said of some of them names these.
func (g *group) remarks() (lines []string) {
	of := map[string][]string{}
	for _, m := range g.machines {
		all := slices.Clone(m.remarks)
		for _, change := range m.changes {
			all = append(all, "It can't be described as it is; apply would "+change)
		}
		for _, line := range all {
			if of[line] == nil {
				lines = append(lines, line)
			}
			of[line] = append(of[line], strconv.Itoa(m.vmid))
		}
	}
	for i, line := range lines {
		if len(of[line]) < len(g.machines) {
			lines[i] = "VM " + strings.Join(of[line], ", ") + ": " + line
		}
	}
	return lines
}
