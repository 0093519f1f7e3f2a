package target

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
)

// Complete completes the names of objects.
func (n *Namespace) Complete(prefix string, kinds ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if err := n.Connect(); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		objects, err := kube.Objects(cmd.Context(), n.Client, n.Name)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for _, o := range objects {
			if slices.Contains(kinds, manifest.KindOf(o)) {
				for _, name := range MachinesOf(o) {
					names = append(names, prefix+name)
				}
			}
		}
		model.SortNames(names)
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteFlags completes what the kubeconfig knows.
func (n *Namespace) CompleteFlags(cmd *cobra.Command) {
	_ = cmd.MarkPersistentFlagFilename("kubeconfig")
	_ = cmd.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		raw, err := n.loader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return model.NamesOf(raw.Contexts), cobra.ShellCompDirectiveNoFileComp
	})
}
