package robustness

import (
	"strings"
	"sync"

	"github.com/proxplane/proxplane/model"
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

// slow are the keys that are made of the password of guests, by the parts of their owners that matter.
var slow sync.Map

// hashed is the password of guests with the part of sealing it that takes long, as doors bring it: 25 ms of a CPU
// for each process that is started.
func hashed(o model.Owner) *model.Secret {
	s := model.PasswordSecret(guestSecret)
	salt := [3]string{o.Door, o.Set, o.Namespace}
	key, done := slow.Load(salt)
	if !done {
		key = string(model.Slow(o, s))
		slow.Store(salt, key)
	}
	s.Slow = key.(string)
	return &s
}
