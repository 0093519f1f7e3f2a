package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
)

func newCompletion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a script that completes commands in your shell",
		Long: `Print a script that completes proxplane's commands, flags and the names of
machines in your shell.`,
		Example: `  source <(proxplane completion bash)
  proxplane completion bash > /etc/bash_completion.d/proxplane
  proxplane completion zsh > "${fpath[1]}/_proxplane"
  proxplane completion fish > ~/.config/fish/completions/proxplane.fish`,
		ValidArgs:             []string{"bash", "zsh", "fish", "powershell"},
		Args:                  command.TakesOneOf("bash", "zsh", "fish", "powershell"),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(out, true)
			case "zsh":
				return cmd.Root().GenZshCompletion(out)
			case "fish":
				return cmd.Root().GenFishCompletion(out, true)
			case "powershell":
				return cmd.Root().GenPowerShellCompletionWithDesc(out)
			}
			return fmt.Errorf("no completion for %q", args[0])
		},
	}
}
