package spec

import (
	"crypto/rand"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Words that stand in texts, while they are put together and quoted, for what is known only
// when the guest is. Nobody can have written them: they are others in each process. What
// leaves this package has a [model.Text] instead.
var (
	ownVMID = rand.Text()
	ownSeed = rand.Text()
)

// textOf takes a text apart at these words.
func textOf(s string) (t model.Text) {
	add := func(p model.Part) {
		if p != (model.Part{}) {
			t = append(t, p)
		}
	}
	for {
		vmid, seed := strings.Index(s, ownVMID), strings.Index(s, ownSeed)
		switch {
		case vmid >= 0 && (seed < 0 || vmid < seed):
			add(model.Part{Fixed: s[:vmid]})
			add(model.Part{Own: model.OwnVMID})
			s = s[vmid+len(ownVMID):]
		case seed >= 0:
			add(model.Part{Fixed: s[:seed]})
			add(model.Part{Own: model.OwnSeed})
			s = s[seed+len(ownSeed):]
		default:
			add(model.Part{Fixed: s})
			return t
		}
	}
}

// own splits options into those that are the same for any guest, and those that depend on
// the VMID.
func own(all map[string]string) (options map[string]string, own map[string]model.Text) {
	options = make(map[string]string, len(all))
	for key, value := range all {
		if !strings.Contains(value, ownVMID) && !strings.Contains(value, ownSeed) {
			options[key] = value
			continue
		}
		if own == nil {
			own = map[string]model.Text{}
		}
		own[key] = textOf(value)
	}
	return options, own
}
