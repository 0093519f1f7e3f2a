package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/login"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/cluster"
	"github.com/proxplane/proxplane/host/ssh"
)

// kubeconfigs is one call of kubeconfig.
type kubeconfigs struct {
	working
	file  string
	merge bool
	use   bool

	ssh     bool
	address string
	login   login.SSH
}

func newKubeconfig(u *ui.UI) *cobra.Command {
	k := &kubeconfigs{}
	cmd := &cobra.Command{
		Use:   "kubeconfig --cluster NAME",
		Short: "Get the kubeconfig of a cluster",
		Long: `Get the administrator's kubeconfig of a cluster from a control plane, through the guest
agent. It reaches the cluster through its VIP. Without -o and --merge it is printed.

Where the guest agent doesn't answer, --ssh reads it over SSH from the control plane
that holds the VIP, or from --address; the user needs sudo without a password.`,
		Example: `  proxplane cluster kubeconfig --cluster lab > lab.yaml
  proxplane cluster kubeconfig --cluster lab -o lab.yaml
  proxplane cluster kubeconfig --cluster lab --merge --set-context
  proxplane cluster kubeconfig --cluster lab --ssh -i ~/.ssh/id_ed25519 > lab.yaml`,
		Args: command.TakesNothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return k.run(cmd.Context(), u) },
	}
	k.clusterFlag(cmd)
	cmd.Flags().StringVarP(&k.file, "output", "o", "", "`FILE` to write (with --merge: KUBECONFIG, or ~/.kube/config)")
	cmd.Flags().BoolVar(&k.merge, "merge", false, "add it to the file, beside the clusters that are there")
	cmd.Flags().BoolVar(&k.use, "set-context", false, "make it the current context of the file")
	cmd.Flags().BoolVar(&k.ssh, "ssh", false, "read it over SSH instead of through the guest agent")
	cmd.Flags().StringVar(&k.address, "address", "", "`HOST[:PORT]` of a control plane, for --ssh (default: the VIP)")
	k.login.Flags(cmd.Flags(), "default: "+sshUser)
	return cmd
}

func (k *kubeconfigs) run(ctx context.Context, u *ui.UI) error {
	if k.use && !k.merge && k.file == "" {
		return ui.Advise(errors.New("--set-context is about a file"), "Add --merge, or name a file with -o.")
	}
	return k.look(ctx, u, func(c *cluster.Cluster) error {
		config, err := k.read(ctx, u, c)
		if err != nil {
			return err
		}
		if k.file == "" && !k.merge {
			text, err := clientcmd.Write(*config)
			if err != nil {
				return err
			}
			_, err = u.Out.Write(text)
			return err
		}
		file, err := k.path(u)
		if err != nil {
			return err
		}
		if k.merge {
			if config, err = merged(file, config, k.use); err != nil {
				return err
			}
		}
		text, err := clientcmd.Write(*config)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := ui.WriteWhole(file, text, 0o600); err != nil {
			return err
		}
		u.Say("Wrote %s. Try: kubectl --kubeconfig %s --context %s get nodes", file, ui.Quoted(file), c.Name)
		return nil
	})
}

// read gets the kubeconfig from a control plane.
func (k *kubeconfigs) read(ctx context.Context, u *ui.UI, c *cluster.Cluster) (*clientcmdapi.Config, error) {
	if !k.ssh {
		return c.Kubeconfig(ctx)
	}
	text, err := overSSH(ctx, u, &k.login, cmp.Or(k.address, c.Record.File.Provider.VIP), c.KubeconfigFile())
	if err != nil {
		return nil, err
	}
	return c.ParseKubeconfig(text)
}

// sshUser is who logs in to machines of Ubuntu's cloud image.
const sshUser = "ubuntu"

// overSSH reads a file that only root may read.
func overSSH(ctx context.Context, u *ui.UI, l *login.SSH, address, file string) (string, error) {
	config, err := l.Config(ctx, u, "")
	if err != nil {
		return "", err
	}
	config.User = cmp.Or(config.User, sshUser)
	conn, err := ssh.Dial(ctx, address, config)
	if err != nil {
		return "", l.Explain(u, err, address)
	}
	defer conn.Close()
	text, err := conn.Run(ctx, "sudo -n cat "+file, nil)
	if err != nil {
		return "", fmt.Errorf("read %s at %s: %w", file, address, err)
	}
	return text, nil
}

// path is the file to write.
func (k *kubeconfigs) path(u *ui.UI) (string, error) {
	if k.file != "" {
		return k.file, nil
	}
	if list := filepath.SplitList(u.Getenv("KUBECONFIG")); len(list) > 0 {
		return list[0], nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".kube", "config"), err
}

// merged is what a file has with a cluster on top.
func merged(file string, one *clientcmdapi.Config, use bool) (*clientcmdapi.Config, error) {
	all, err := clientcmd.LoadFromFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		all = clientcmdapi.NewConfig()
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	cluster.Merge(all, one, use)
	return all, nil
}
