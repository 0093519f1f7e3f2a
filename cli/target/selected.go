package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/model"
)

// SelectedUsage is the help of -l where it takes the place of names.
const SelectedUsage = "instead of names: machines with these `LABELS` of their manifests, such as app=web; without manifests, with these tags, such as web or '!web'"

// TakesNames returns the check of the arguments of commands that take machines by name or by -l.
func (s *Selection) TakesNames(cmd *cobra.Command, args []string) error {
	if s.Selector != "" {
		return nil
	}
	return command.Takes(1, 0)(cmd, args)
}

// Chosen returns the machines that a command is about: those that are named, or those that -l
// selects. Those of manifests are named as they are there.
func (s *Selection) Chosen(ctx context.Context, c *Site, names []string) ([]string, error) {
	sel, err := s.Parse()
	switch {
	case err != nil || sel == nil:
		return names, err
	case len(names) > 0:
		return nil, errors.New("either names or -l: not both")
	case len(c.Desired.VMs) > 0:
		return s.ofManifests(c.Desired.VMs, sel)
	}
	have, err := c.Look(ctx)
	if err != nil {
		return nil, err
	}
	var ids []int
	for id, g := range have.Guests {
		if !g.Template && !g.Container && sel.Matches(TagSet(g.Tags)) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("no machine has tags like %s", sel)
	}
	slices.Sort(ids)
	for _, id := range ids {
		names = append(names, strconv.Itoa(id))
	}
	return names, nil
}

// ofManifests are the machines of manifests that are selected.
func (s *Selection) ofManifests(vms []model.VM, sel labels.Selector) (names []string, err error) {
	for _, v := range vms {
		if sel.Matches(labels.Set(v.Labels)) {
			names = append(names, v.Owner.Name)
		}
	}
	if len(names) == 0 {
		err = fmt.Errorf("no machine of the manifests has labels like %s", sel)
	}
	return names, err
}
