package engine

import (
	"slices"

	"github.com/proxplane/proxplane/model"
)

// seal adds to each wanted secret the mark that stands for it in Proxmox.
func (e *Engine) seal(want model.Desired) model.Desired {
	keys := e.actor.Keys()
	want.VMs = slices.Clone(want.VMs)
	for i := range want.VMs {
		v := &want.VMs[i]
		if v.Deleted {
			continue
		}
		if password := v.Options[model.Password]; password != "" {
			secret := v.Secret
			if secret == nil {
				s := model.PasswordSecret(password)
				secret = &s
			}
			v.Password = keys.Seal(v.Owner, *secret)
		}
		if v.Seed != nil && v.Seed.Secret != (model.Secret{}) {
			seed, seal := *v.Seed, keys.Seal(v.Owner, v.Seed.Secret)
			seed.Digest, seed.Also = seal.Mark, seal.Also
			v.Seed = &seed
		}
	}
	return want
}
