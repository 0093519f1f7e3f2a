package pvesim

import (
	_ "embed"
	"strings"
	"sync"
)

// applyMacro checks that a rule's settings go with its macro.
func (k *ruleCheck) applyMacro(rule FirewallRule) {
	m := macros().byName[k.macro]
	rules := m.rules
	if k.version == 6 && m.rules6 != nil {
		rules = m.rules6
	}
	if k.version != 0 && m.only != 0 && m.only != k.version {
		return
	}
	for _, template := range rules {
		for _, key := range sortedKeys(template) {
			if have := rule[key]; have != "" && have != template[key] {
				k.add(key, "parameter '%s' already define in macro (value = '%s')", key, template[key])
			}
		}
	}
}

// macro is a set of rules with a name.
type macro struct {
	about  string
	only   int // the IP version that it is about; 0: any
	rules  []map[string]string
	rules6 []map[string]string // with IPv6 addresses, if different
}

type macroTable struct {
	byName   map[string]*macro
	spelling map[string]string // by name in lower case
}

//go:embed facts/macros.txt
var macroText string

// macros are those that Proxmox has.
var macros = sync.OnceValue(func() *macroTable {
	t := &macroTable{byName: map[string]*macro{}, spelling: map[string]string{}}
	for line := range strings.Lines(macroText) {
		parts := strings.Split(strings.TrimSpace(line), " | ")
		if strings.HasPrefix(line, "#") || len(parts) < 3 {
			continue
		}
		name, version := parts[0], parts[1]
		m := t.byName[name]
		if m == nil {
			m = &macro{}
			t.byName[name], t.spelling[strings.ToLower(name)] = m, name
		}
		var rules []map[string]string
		for rule := range strings.SplitSeq(parts[2], "; ") {
			settings := map[string]string{}
			for _, pair := range strings.Fields(rule) {
				key, value, _ := strings.Cut(pair, "=")
				settings[key] = value
			}
			rules = append(rules, settings)
		}
		if version == "v6" {
			m.rules6 = rules
			continue
		}
		m.rules, m.only = rules, atoi(version)
		if m.about = name; len(parts) > 3 {
			m.about = parts[3]
		}
	}
	return t
})

func listMacros(*call) (any, error) {
	list := []map[string]any{}
	for _, name := range sortedKeys(macros().byName) {
		list = append(list, map[string]any{"macro": name, "descr": macros().byName[name].about})
	}
	return list, nil
}
