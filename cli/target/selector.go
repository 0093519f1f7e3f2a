package target

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
)

// Selection is the choice of machines by their labels.
type Selection struct{ Selector string }

func (s *Selection) SelectorFlag(cmd *cobra.Command, what string) {
	cmd.Flags().StringVarP(&s.Selector, "selector", "l", "", what)
}

// Parse reads the selector; nil: all are meant.
func (s *Selection) Parse() (labels.Selector, error) {
	if s.Selector == "" {
		return nil, nil
	}
	sel, err := labels.Parse(s.Selector)
	if err != nil {
		return nil, ui.Advise(fmt.Errorf("-l %s: %w", s.Selector, err), "Write app=web, app!=web, app, !app, or app in (web,db); several with commas between them.")
	}
	return sel, nil
}

// TagSet returns a machine's tags as labels without a value.
func TagSet(tags []string) labels.Set {
	set := labels.Set{}
	for _, t := range tags {
		if !model.IsMark(t) {
			set[t] = ""
		}
	}
	return set
}
