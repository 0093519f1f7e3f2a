package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/proxplane/proxplane/model"
)

// selecting is the choice of machines by their labels.
type selecting struct{ selector string }

func (s *selecting) selectorFlag(cmd *cobra.Command, what string) {
	cmd.Flags().StringVarP(&s.selector, "selector", "l", "", what)
}

// parse reads the selector; nil: all are meant.
func (s *selecting) parse() (labels.Selector, error) {
	if s.selector == "" {
		return nil, nil
	}
	sel, err := labels.Parse(s.selector)
	if err != nil {
		return nil, advise(fmt.Errorf("-l %s: %w", s.selector, err), "Write app=web, app!=web, app, !app, or app in (web,db); several with commas between them.")
	}
	return sel, nil
}

// tagSet is a machine's tags as labels without a value.
func tagSet(tags []string) labels.Set {
	set := labels.Set{}
	for _, t := range tags {
		if !model.IsMark(t) {
			set[t] = ""
		}
	}
	return set
}
