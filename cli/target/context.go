package target

import (
	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/cli/command"
	"github.com/proxplane/proxplane/cli/contexts"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/pve"
)

// contextFlag lets a context be named.
func (t *Target) contextFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.context, "context", "", "`NAME` of the context to use, instead of the current one")
	command.MarkConnection(cmd.Flags(), "context")
	_ = cmd.RegisterFlagCompletionFunc("context", contexts.Complete)
}

// namedContext takes what the context says that --context or PROXPLANE_CONTEXT
// names. It comes before manifests and the rest of the environment; flags come
// before it.
func (t *Target) namedContext(u *ui.UI) error {
	name := t.context
	if name == "" {
		name = u.Getenv("PROXPLANE_CONTEXT")
	}
	if name == "" || t.entry != nil || t.Objects != nil {
		return nil
	}
	all, err := contexts.Read(u)
	if err != nil {
		return err
	}
	s, err := all.Find(name)
	if err != nil {
		return err
	}
	t.entry, t.named = s, true
	t.takeFrom(s, true)
	return nil
}

// currentContext takes what the current context says, where nothing else says which
// Proxmox is meant: no flag, no Provider, no variable. It is taken as a whole, so that
// a secret never goes to a host that it isn't for.
func (t *Target) currentContext(u *ui.UI) error {
	if t.entry != nil || len(t.Endpoints) > 0 || u.Getenv("PVE_ENDPOINT") != "" || u.Getenv("PROXMOX_VE_ENDPOINT") != "" {
		return nil
	}
	if _, err := contexts.FileName(u); err != nil {
		return nil //nolint:nilerr // without a home there is no context
	}
	all, err := contexts.Read(u)
	if err != nil || all.Current == "" {
		return err
	}
	s, err := all.Find(all.Current)
	if err != nil {
		return err
	}
	t.entry = s
	t.takeFrom(s, u.Getenv("PVE_CA_BUNDLE") == "" && u.Getenv("PVE_INSECURE_SKIP_VERIFY") == "" && u.Getenv("PROXMOX_VE_INSECURE") == "")
	return nil
}

// takeFrom puts what a context says where the flags say nothing.
func (t *Target) takeFrom(s *contexts.Entry, trust bool) {
	if len(t.Endpoints) == 0 {
		t.Endpoints = s.Endpoints
	}
	if trust && !t.Insecure && t.CAFile == "" && len(t.Fingerprints) == 0 {
		t.Insecure, t.CAFile, t.Fingerprints = s.Insecure, s.Path(s.CAFile), s.Fingerprints
	}
}

// contextLogin is who the context logs in as, unless the environment says otherwise.
func (t *Target) contextLogin(u *ui.UI) (pve.Credentials, error) {
	if t.entry == nil {
		return pve.Credentials{}, nil
	}
	if !t.named {
		for _, name := range []string{"PVE_TOKEN_ID", "PVE_TOKEN_SECRET", "PROXMOX_VE_API_TOKEN", "PVE_USERNAME", "PVE_PASSWORD", "PROXMOX_VE_USERNAME", "PROXMOX_VE_PASSWORD"} {
			if u.Getenv(name) != "" {
				return pve.Credentials{}, nil
			}
		}
	}
	creds, err := t.entry.Credentials()
	if err != nil || !creds.IsZero() {
		return creds, err
	}
	// Its secret is in no file: it is asked for.
	asked := Target{TokenID: t.entry.TokenID, Username: t.entry.Username}
	return asked.Credentials(u)
}

// HasProvider reports whether manifests say themselves where Proxmox is.
func HasProvider(set *manifest.Set) bool {
	for _, k := range set.Keys() {
		if k.Kind == "Provider" {
			return true
		}
	}
	return false
}
