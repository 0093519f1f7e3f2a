package robustness

import (
	"strings"
)

// secrets are what must be seen nowhere: ours, those of guests, and the tickets
// that Proxmox gives us.
var secrets = []string{ourSecret, ourPassword, guestSecret, userDataText, theirSecret, "PVE:root@pam:"}

// Write takes what we write anywhere: logs, events, reports, plans.
func (r *run) Write(b []byte) (int, error) {
	text := string(b)
	for _, s := range secrets {
		if strings.Contains(text, s) {
			r.fail("a secret was written: %s", strings.TrimSpace(text))
		}
	}
	return len(b), nil
}

// noSecretAsked checks that no secret was sent where Proxmox logs it.
func (r *run) noSecretAsked() {
	for _, e := range r.trace.entries {
		for _, s := range secrets {
			if e.ours && strings.Contains(e.path+"?"+e.query, s) {
				r.fail("a secret is in a URL: %s", e)
			}
		}
	}
}
