package cli

import (
	"github.com/spf13/cobra"

	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/pve"
)

// contextFlag lets a context be named.
func (t *target) contextFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.context, "context", "", "`NAME` of the context to use, instead of the current one")
	markConnection(cmd.Flags(), "context")
	_ = cmd.RegisterFlagCompletionFunc("context", completeContexts)
}

// namedContext takes what the context says that --context or PROXPLANE_CONTEXT
// names. It comes before manifests and the rest of the environment; flags come
// before it.
func (t *target) namedContext(u *ui) error {
	name := t.context
	if name == "" {
		name = u.getenv("PROXPLANE_CONTEXT")
	}
	if name == "" || t.entry != nil || t.objects != nil {
		return nil
	}
	all, err := readContexts(u)
	if err != nil {
		return err
	}
	s, err := all.find(name)
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
func (t *target) currentContext(u *ui) error {
	if t.entry != nil || len(t.endpoints) > 0 || u.getenv("PVE_ENDPOINT") != "" || u.getenv("PROXMOX_VE_ENDPOINT") != "" {
		return nil
	}
	if _, err := contextsFile(u); err != nil {
		return nil //nolint:nilerr // without a home there is no context
	}
	all, err := readContexts(u)
	if err != nil || all.Current == "" {
		return err
	}
	s, err := all.find(all.Current)
	if err != nil {
		return err
	}
	t.entry = s
	t.takeFrom(s, u.getenv("PVE_CA_BUNDLE") == "" && u.getenv("PVE_INSECURE_SKIP_VERIFY") == "" && u.getenv("PROXMOX_VE_INSECURE") == "")
	return nil
}

// takeFrom puts what a context says where the flags say nothing.
func (t *target) takeFrom(s *contextEntry, trust bool) {
	if len(t.endpoints) == 0 {
		t.endpoints = s.Endpoints
	}
	if trust && !t.insecure && t.caFile == "" && len(t.fingerprints) == 0 {
		t.insecure, t.caFile, t.fingerprints = s.Insecure, s.path(s.CAFile), s.Fingerprints
	}
}

// contextLogin is who the context logs in as, unless the environment says otherwise.
func (t *target) contextLogin(u *ui) (pve.Credentials, error) {
	if t.entry == nil {
		return pve.Credentials{}, nil
	}
	if !t.named {
		for _, name := range []string{"PVE_TOKEN_ID", "PVE_TOKEN_SECRET", "PROXMOX_VE_API_TOKEN", "PVE_USERNAME", "PVE_PASSWORD", "PROXMOX_VE_USERNAME", "PROXMOX_VE_PASSWORD"} {
			if u.getenv(name) != "" {
				return pve.Credentials{}, nil
			}
		}
	}
	creds, err := t.entry.credentials()
	if err != nil || !creds.IsZero() {
		return creds, err
	}
	// Its secret is in no file: it is asked for.
	asked := target{tokenID: t.entry.TokenID, username: t.entry.Username}
	return asked.credentials(u)
}

// hasProvider reports whether manifests say themselves where Proxmox is.
func hasProvider(set *manifest.Set) bool {
	for _, k := range set.Keys() {
		if k.Kind == "Provider" {
			return true
		}
	}
	return false
}
