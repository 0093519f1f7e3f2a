package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/machines"
)

// machinesFlags are the flags of `proxplane operator` for MachineDeployments.
type machinesFlags struct{ machines.Options }

func (f *machinesFlags) add(fs *pflag.FlagSet) {
	fs.BoolVar(&f.Beside, "machines-beside", false, "machine-controller runs, too: reconcile only Machines whose provider is proxmox, and leave MachineDeployments and MachineSets to it")
	fs.DurationVar(&f.JoinTimeout, "join-cluster-timeout", machines.DefaultJoinTimeout, "`TIME` after which a machine of a MachineDeployment that hasn't become a node is replaced; 0: never")
	fs.DurationVar(&f.SkipEvictionAfter, "skip-eviction-after", machines.DefaultSkipEvictionAfter, "`TIME` after which the drain of a node is skipped when its Machine is deleted")
	fs.StringVar(&f.APIServer, "join-api-server", "", "`URL` by which machines reach Kubernetes (default: that of the ConfigMap kube-public/cluster-info, or the operator's own)")
	fs.StringVar(&f.Releases, "kubelet-releases", machines.DefaultReleases, "`URL` where kubelets are published, to refuse versions that don't exist; empty: don't ask")
	fs.StringSliceVar(&f.ClusterDNS, "cluster-dns", nil, "`ADDRESS` of the cluster's name server, for kubelets (default: that of the Service kube-system/kube-dns)")
}

// setUp adds the door for MachineDeployments to the operator's process.
func (f *machinesFlags) setUp(ctx context.Context, mgr manager.Manager, o machines.Options) error {
	o.Beside, o.JoinTimeout, o.SkipEvictionAfter, o.APIServer, o.ClusterDNS, o.Releases = f.Beside, f.JoinTimeout, f.SkipEvictionAfter, f.APIServer, f.ClusterDNS, strings.TrimSuffix(f.Releases, "/")
	return machines.SetUp(ctx, mgr, o)
}

// check says what is wrong with the flags.
func (f *machinesFlags) check() error {
	if f.JoinTimeout < 0 || f.SkipEvictionAfter < 0 {
		return errors.New("--join-cluster-timeout and --skip-eviction-after: want a time such as 25m")
	}
	return nil
}

// machinesScheme adds the kinds of that door.
func machinesScheme(s *runtime.Scheme) error { return machines.Scheme(s) }

// machinesOptions are what the operator's process gives that door.
type machinesOptions = machines.Options

// newMachinesDoctor is the command that says what MachineDeployments need.
func newMachinesDoctor(u *ui.UI) *cobra.Command {
	var release, token string
	cmd := &cobra.Command{
		Use:   "machines FILE",
		Short: "Print the role that MachineDeployments need",
		Long: `Print the least privileges that the MachineDeployments of a file need over their
whole life, and the pveum commands that grant them to a token. No Proxmox is asked.

The privileges of machine-controller's page are compared with that: VM.Monitor, for
one, is gone in Proxmox VE 9.`,
		Example: `  proxplane doctor machines workers.yaml
  proxplane doctor machines workers.yaml --release 8.4 --token machines@pve!controller`,
		Args: command.Takes(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			major, err := strconv.Atoi(strings.SplitN(release, ".", 2)[0])
			if err != nil || major < 8 || major > 9 {
				return fmt.Errorf("--release %s: want 8.4 or 9", release)
			}
			if user, name, _ := strings.Cut(token, "!"); token != "" && (name == "" || !strings.Contains(user, "@")) {
				return fmt.Errorf("--token %s: want USER@REALM!NAME", token)
			}
			role, err := machines.RoleOf(text, major, token)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			u.Say("On a node of Proxmox VE %d, as root, these commands give %s exactly what is needed:", role.Release, role.Token)
			for _, line := range role.Commands {
				u.Say("  %s", line)
			}
			if len(role.Copies) > 0 {
				u.Say("")
				u.Say("Where a template is on local storage, and machines are placed on other nodes, it is copied there. That also takes")
				for _, g := range role.Copies {
					u.Say("  %s on %s", strings.Join(g.Names(), " "), g.Path)
				}
				u.Say("With copies: never in cloudProviderSpec nothing is copied.")
			}
			u.Say("")
			u.Say("The privileges of machine-controller's page:")
			for _, p := range role.Page {
				u.Say("  %s %s  %s", map[bool]string{true: "✓", false: "-"}[p.Needed], p.Name, p.Why)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&release, "release", "9", "`VERSION` of Proxmox VE: 8.4 or 9")
	cmd.Flags().StringVar(&token, "token", "", "`USER@REALM!NAME` of the token that the commands are for (default: userID in FILE, or else "+machines.DefaultToken+")")
	return cmd
}
