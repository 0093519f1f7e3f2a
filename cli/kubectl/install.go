package kubectl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/ui"
)

// New returns the command `proxplane kubectl`.
func New(u *ui.UI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kubectl install|uninstall",
		Short: "Install proxplane as a kubectl plugin",
		Long: `Make proxplane a plugin of kubectl: kubectl proxplane shows the state of the objects
of a namespace, their plans and their drift, and kubectl create vmsnapshot makes snapshots.`,
		Example: `  proxplane kubectl install
  kubectl proxplane plan`,
	}
	command.NeedsSubcommand(cmd)
	cmd.AddCommand(newKubectlInstall(u), newKubectlUninstall(u))
	return cmd
}

// pluginFolder is where the plugins are.
type pluginFolder struct{ dir string }

func (p *pluginFolder) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.dir, "dir", "", "`FOLDER` of the plugins (default: the one that proxplane is in)")
	_ = cmd.MarkFlagDirname("dir")
}

func newKubectlInstall(u *ui.UI) *cobra.Command {
	p := &pluginFolder{}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Link proxplane where kubectl finds its plugins",
		Long: `Put links to this program where kubectl finds them, under the names that plugins of
kubectl have. kubectl looks in all folders of PATH. Files that are something else are
left alone. kubectl create vmsnapshot needs kubectl 1.29 or later.`,
		Example: `  proxplane kubectl install
  proxplane kubectl install --dir ~/.local/bin`,
		Args: command.TakesNothing,
		RunE: func(*cobra.Command, []string) error { return p.install(u) },
	}
	p.flags(cmd)
	return cmd
}

func newKubectlUninstall(u *ui.UI) *cobra.Command {
	p := &pluginFolder{}
	cmd := &cobra.Command{
		Use:     "uninstall",
		Short:   "Remove these links",
		Long:    "Remove the links that kubectl finds. Files that are something else are left alone.",
		Example: `  proxplane kubectl uninstall`,
		Args:    command.TakesNothing,
		RunE:    func(*cobra.Command, []string) error { return p.uninstall(u) },
	}
	p.flags(cmd)
	return cmd
}

// program is this program, and the folder of its plugins.
func (p *pluginFolder) program() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if p.dir == "" {
		p.dir = filepath.Dir(self)
	}
	p.dir, err = filepath.Abs(p.dir)
	return self, err
}

// path is where a plugin is.
func (p *pluginFolder) path(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(p.dir, name)
}

func (p *pluginFolder) install(u *ui.UI) error {
	self, err := p.program()
	if err != nil {
		return err
	}
	for _, name := range pluginNames {
		if err := p.link(self, p.path(name)); err != nil {
			return ui.Advise(fmt.Errorf("install %s: %w", name, err), "Choose another folder with --dir, such as ~/.local/bin.")
		}
		u.Say("%s", p.path(name))
	}
	if !slices.ContainsFunc(filepath.SplitList(u.Getenv("PATH")), func(dir string) bool { return sameFile(dir, p.dir) }) {
		u.Note("%s isn't in PATH, so kubectl doesn't find them yet", p.dir)
	}
	return nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// link makes a link, in the place of one that was ours.
func (p *pluginFolder) link(self, path string) error {
	if err := p.remove(self, path); err != nil {
		return err
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	if runtime.GOOS == "windows" {
		return os.Link(self, path) // symbolic ones need rights there
	}
	return os.Symlink(self, path)
}

// remove removes a link, if it is there. What isn't a link isn't ours.
func (p *pluginFolder) remove(self, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink == 0 && !sameFile(self, path):
		return fmt.Errorf("%s is there already, and is no link", path)
	}
	return os.Remove(path)
}

func (p *pluginFolder) uninstall(u *ui.UI) error {
	self, err := p.program()
	if err != nil {
		return err
	}
	removed := 0
	for _, name := range pluginNames {
		_, missing := os.Lstat(p.path(name))
		if err := p.remove(self, p.path(name)); err != nil {
			return fmt.Errorf("uninstall %s: %w", name, err)
		}
		if missing == nil {
			removed++
		}
	}
	if removed == 0 {
		u.Say("There are no links of proxplane in %s; --dir names another folder.", p.dir)
		return nil
	}
	u.Say("Removed from %s.", p.dir)
	return nil
}
