// Package contexts reads and writes the file with the Proxmox clusters that somebody works with.
package contexts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/spec/suggest"
)

// File is the file with the clusters that somebody works with. It holds no
// secrets: it names the files that do.
type File struct {
	Current string   `json:"currentContext,omitempty"`
	All     []*Entry `json:"contexts"`

	Path string `json:"-"`
}

// Entry is a context: the connection to one Proxmox. Relative paths are below the folder of
// the contexts' file.
type Entry struct {
	Name         string   `json:"name"`
	Endpoints    []string `json:"endpoints"`
	TokenID      string   `json:"tokenID,omitempty"`
	TokenFile    string   `json:"tokenFile,omitempty"`
	Username     string   `json:"username,omitempty"`
	PasswordFile string   `json:"passwordFile,omitempty"`
	CAFile       string   `json:"caFile,omitempty"`
	Fingerprints []string `json:"fingerprints,omitempty"`
	Insecure     bool     `json:"insecure,omitempty"`

	folder string
}

// FileName returns the path of the file with the contexts.
func FileName(u *ui.UI) (string, error) {
	if file := u.Getenv("PROXPLANE_CONFIG"); file != "" {
		return file, nil
	}
	file, err := u.ConfigFile("config.yaml")
	if err != nil {
		return "", ui.Advise(fmt.Errorf("no place for the contexts: %w", err), "Name their file with PROXPLANE_CONFIG.")
	}
	return file, nil
}

// secretKey is how people write secrets into the file, which isn't meant for them.
var secretKey = regexp.MustCompile(`(?im)^[\s-]*(tokenSecret|token|secret|password|apiToken)\s*:`)

// Read reads the file. One that isn't there has none.
func Read(u *ui.UI) (*File, error) {
	file, err := FileName(u)
	if err != nil {
		return nil, err
	}
	c := &File{Path: file}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, manifest.NotRead(file, err)
	}
	if m := secretKey.FindStringSubmatch(string(text)); m != nil {
		return nil, ui.Advise(fmt.Errorf("%s has a secret in it (%s)", file, m[1]),
			"Don't put secrets into this file: put it into a file of its own that only you can read, and name that with tokenFile or passwordFile.")
	}
	if err := yaml.UnmarshalStrict(text, c); err != nil {
		return nil, ui.Advise(fmt.Errorf("%s can't be read: %w", file, err), "proxplane context add writes it; docs/cli.md has its fields.")
	}
	for i, s := range c.All {
		if s == nil || s.Name == "" || len(s.Endpoints) == 0 {
			return nil, fmt.Errorf("%s: context %d has no name or no endpoints", file, i+1)
		}
		s.folder = filepath.Dir(file)
	}
	return c, nil
}

// Write saves the file so that only its owner can read it, and never half of it.
func (c *File) Write() error {
	text, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	return ui.WriteWhole(c.Path, append([]byte("# Written by proxplane context and proxplane init. Secrets are in files of their own.\n"), text...), 0o600)
}

func (c *File) Names() []string {
	var names []string
	for _, s := range c.All {
		names = append(names, s.Name)
	}
	return names
}

// Find returns the context with a name.
func (c *File) Find(name string) (*Entry, error) {
	for _, s := range c.All {
		if s.Name == name {
			return s, nil
		}
	}
	err := fmt.Errorf("there is no context %q in %s", name, c.Path)
	if near, ok := suggest.Nearest(name, c.Names()); ok {
		return nil, ui.Advise(err, "Did you mean "+near+"?")
	}
	if len(c.All) == 0 {
		return nil, ui.Advise(err, "proxplane init makes the first one, proxplane context add further ones.")
	}
	return nil, ui.Advise(err, ui.Sentence(ui.ThereAre(c.Names())))
}

// Put adds a context, or replaces the one of the same name.
func (c *File) Put(s *Entry) {
	s.folder = filepath.Dir(c.Path)
	for i, old := range c.All {
		if old.Name == s.Name {
			c.All[i] = s
			return
		}
	}
	c.All = append(c.All, s)
}

func (c *File) Remove(name string) {
	c.All = slices.DeleteFunc(c.All, func(s *Entry) bool { return s.Name == name })
	if c.Current == name {
		c.Current = ""
	}
}

// Path returns the path of a file that the context names.
func (s *Entry) Path(file string) string {
	if file == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(s.folder, file)
}

// Who returns the user or token of the context.
func (s *Entry) Who() string {
	if s.Username != "" {
		return s.Username
	}
	return s.TokenID
}

// Credentials reads the secret. A file that others can read is refused.
func (s *Entry) Credentials() (pve.Credentials, error) {
	file := s.TokenFile
	if s.Username != "" {
		file = s.PasswordFile
	}
	if file == "" {
		return pve.Credentials{}, nil // the environment has it, or the person
	}
	file = s.Path(file)
	info, err := os.Stat(file)
	if err != nil {
		return pve.Credentials{}, fmt.Errorf("context %s: %w", s.Name, manifest.NotRead(file, err))
	}
	if info.Mode().Perm()&0o077 != 0 {
		return pve.Credentials{}, ui.Advise(fmt.Errorf("context %s: others can read the secret in %s (mode %04o)", s.Name, file, info.Mode().Perm()), "Keep it to yourself:", "  chmod 600 "+file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return pve.Credentials{}, fmt.Errorf("context %s: %w", s.Name, manifest.NotRead(file, err))
	}
	secret := strings.TrimSpace(string(text))
	switch {
	case secret == "":
		return pve.Credentials{}, fmt.Errorf("context %s: %s is empty", s.Name, file)
	case s.Username != "":
		return pve.Password(s.Username, secret), nil
	case strings.Contains(secret, "="):
		return pve.ParseToken(secret)
	case s.TokenID == "":
		return pve.Credentials{}, fmt.Errorf("context %s: %s has only a secret, and there is no tokenID", s.Name, file)
	}
	return pve.Token(s.TokenID, secret), nil
}

// Complete completes names of contexts.
func Complete(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	all, err := Read(ui.New(nil, cmd.OutOrStdout(), cmd.ErrOrStderr()))
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return all.Names(), cobra.ShellCompDirectiveNoFileComp
}
