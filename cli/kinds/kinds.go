// Package kinds has the commands about the kinds of manifests: explain, schema and validate.
package kinds

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/deploy/crds"
	"github.com/proxplane/proxplane/spec/suggest"
)

// names are the words that a kind goes by.
func names(d *crds.Definition) []string {
	n := d.Spec.Names
	words := append([]string{n.Kind, n.Singular, n.Plural}, n.ShortNames...)
	for _, w := range []string{n.Singular, n.Plural} {
		if short, ok := strings.CutPrefix(w, "vm"); ok {
			words = append(words, short)
		}
	}
	switch n.Kind {
	case "VirtualMachine":
		words = append(words, "vms")
	case "VMPlacementPolicy":
		words = append(words, "policy", "policies")
	}
	return words
}

// FindDefinition returns the kind that a word stands for.
func FindDefinition(word string) (*crds.Definition, error) {
	all, err := crds.All()
	if err != nil {
		return nil, err
	}
	var kinds, words []string
	for _, d := range all {
		if slices.ContainsFunc(names(d), func(n string) bool { return strings.EqualFold(n, word) }) {
			return d, nil
		}
		kinds, words = append(kinds, d.Kind()), append(words, names(d)...)
	}
	if near, ok := suggest.Nearest(word, words); ok {
		return nil, ui.Advise(fmt.Errorf("there is no kind %q", word), "Did you mean "+near+"?")
	}
	return nil, ui.Advise(fmt.Errorf("there is no kind %q", word), "Kinds are "+strings.Join(kinds, ", ")+".")
}
