package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

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
	if k.file == "-" { // the standard output
		k.file = ""
	}
	if k.use && !k.merge && k.file == "" {
		return ui.Advise(errors.New("--set-context is about a file"), "Add --merge, or name a file with -o.")
	}
	file, err := k.path(u)
	if err == nil { // before anybody is asked
		err = k.check(file)
	}
	if err != nil {
		return err
	}
	return k.look(ctx, u, func(c *cluster.Cluster) error {
		config, err := k.read(ctx, u, c)
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
		if file == "" {
			_, err = u.Out.Write(text)
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

// path is the file to write; empty: it is printed.
func (k *kubeconfigs) path(u *ui.UI) (string, error) {
	if k.file != "" || !k.merge {
		return k.file, nil
	}
	if list := filepath.SplitList(u.Getenv("KUBECONFIG")); len(list) > 0 {
		return list[0], nil
	}
	home := u.Getenv("HOME")
	if home == "" {
		return "", ui.Advise(errors.New("there is no ~/.kube/config: HOME isn't set"), "Name a file with -o.")
	}
	return filepath.Join(home, ".kube", "config"), nil
}

// check refuses a file that is something else.
func (k *kubeconfigs) check(file string) error {
	switch {
	case file == "":
		return nil
	case k.merge:
		_, err := readKubeconfig(file)
		return err
	}
	return mayReplace(file, k.cluster)
}

// mayReplace refuses to put a kubeconfig into the place of something else: the contexts of other clusters, or a file
// that is none.
func mayReplace(file, name string) error {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil //nolint:nilerr // whoever writes it finds out
	}
	all, err := readKubeconfig(file)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(all.Contexts)), func(c string) bool { return c == name })
	if len(others) > 0 {
		return ui.Advise(fmt.Errorf("%s has other contexts, which would be lost: %s", file, strings.Join(others, ", ")), "Add --merge to keep them, or name another file.")
	}
	return nil
}

// readKubeconfig reads a file that is to be written again. What is something else is left alone.
func readKubeconfig(file string) (*clientcmdapi.Config, error) {
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(bytes.TrimSpace(text)) == 0:
		return clientcmdapi.NewConfig(), nil
	case err != nil:
		return nil, err
	}
	var is struct {
		Kind string `json:"kind"`
	}
	none := fmt.Errorf("%s is there, and isn't a kubeconfig", file)
	if yaml.Unmarshal(text, &is) == nil && is.Kind == "Config" {
		all, err := clientcmd.Load(text)
		if err == nil {
			return all, nil
		}
		none = fmt.Errorf("%w: %w", none, err)
	}
	return nil, ui.Advise(none, "Name another file with -o, or repair this one.")
}

// merged is what a file has with a cluster on top.
func merged(file string, one *clientcmdapi.Config, use bool) (*clientcmdapi.Config, error) {
	all, err := readKubeconfig(file)
	if err != nil {
		return nil, err
	}
	cluster.Merge(all, one, use)
	return all, nil
}
