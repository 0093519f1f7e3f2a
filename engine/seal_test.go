package engine_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/firstboot"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
)

// secretive are machines with a password and with first-boot data of each kind.
func secretive(password string) []model.VM {
	own := machine("own")
	own.Options = maps.Clone(own.Options)
	own.Options["ciuser"], own.Options[model.Password] = "ann", password
	secret := model.PasswordSecret(password)
	secret.Slow = "slow " + password
	own.Secret = &secret
	cloud, once := machine("cloud"), machine("once")
	for _, vm := range []*model.VM{&cloud, &once} {
		files := map[string][]byte{"user-data": []byte("#cloud-config\npassword: " + password + "\n"), "meta-data": []byte("instance-id: " + vm.Name + "\n")}
		sum := firstboot.Digest(files)
		vm.Seed = &model.Seed{Storage: "local", Secret: model.Secret{Kind: model.FirstBoot, Sum: sum, Slow: "slow " + password, Plain: sum}, Files: files, Once: vm.Name == "once"}
	}
	return []model.VM{own, cloud, once}
}

// earlier has the notes and tags of machines look as earlier versions have left them:
// with digests that have no key.
func (l *lab) earlier(vms []model.VM) {
	l.t.Helper()
	l.sim.Do(func(s *pvesim.State) {
		for _, g := range s.VMs {
			text, m, ok := model.ParseDescription(g.Conf["description"])
			i := slices.IndexFunc(vms, func(v model.VM) bool { return v.Name == g.Conf["name"] })
			if !ok || i < 0 {
				continue
			}
			for n, mark := range m.Managed {
				if _, ok := strings.CutPrefix(mark, "cipassword:"); ok {
					m.Managed[n] = "cipassword:" + model.PasswordSecret(vms[i].Options[model.Password]).Plain
				}
				if _, ok := strings.CutPrefix(mark, "seed:"); ok {
					m.Managed[n] = "seed:" + vms[i].Seed.Secret.Plain
				}
			}
			g.Conf["description"] = model.Describe(text, m.Bare())
			g.Conf["tags"] = model.Tag + ";" + model.StateTag(m.Owner, "abcdefgh")
		}
	})
}

// TestTheMarksOfSecretsChangeOverWithoutTouchingGuests: from those of earlier versions, to a
// key, to another key, to none, with a key that is lost. Nothing restarts, nothing is
// uploaded or replaced, and each time it is at rest afterwards.
func TestTheMarksOfSecretsChangeOverWithoutTouchingGuests(t *testing.T) {
	inLab(t, labWorld(1), func(t *testing.T, l *lab) {
		vms := secretive("summer26")
		l.mustConverge(desired(vms...))
		l.earlier(vms)
		first, second, third := testKeys[0], []byte(strings.Repeat("s", model.MinKey)), []byte(strings.Repeat("t", model.MinKey))
		for _, step := range []struct {
			reason string
			keys   model.Keys
			writes bool
			noted  string // by what the marks begin with then; empty: with a digest that took long
		}{
			{"no key, after an earlier version", nil, true, ""},
			{"a key for the first time", model.Keys{first}, true, keyID(first)},
			{"rotation", model.Keys{second, first}, true, keyID(second)},
			{"the old key is taken out", model.Keys{second}, false, keyID(second)},
			{"somebody who has no key", nil, false, keyID(second)},
			{"somebody who has another key", model.Keys{third}, false, keyID(second)},
			{"the key is lost", model.Keys{third, []byte("lost " + keyID(second))}, true, keyID(third)},
		} {
			l.keys = step.keys
			before := l.booted()
			at := len(l.requests(0))
			l.mustConverge(desired(vms...))
			asked := l.requests(at)
			if got := writes(asked) > 0; got != step.writes {
				t.Errorf("%s: there were %d writes", step.reason, writes(asked))
			}
			for _, r := range asked {
				if strings.Contains(r, "/status/") && strings.HasPrefix(r, "POST") || strings.Contains(r, "upload") || strings.Contains(r, "/clone") {
					t.Errorf("%s: %s", step.reason, r)
				}
			}
			if after := l.booted(); !maps.Equal(before, after) {
				t.Errorf("%s: machines were restarted or made anew: %v, %v", step.reason, before, after)
			}
			for name, mark := range l.marksOf() {
				if model.MarkKey(mark) != step.noted {
					t.Errorf("%s: the mark of %s is %q", step.reason, name, mark)
				}
			}
			at = len(l.requests(0))
			if l.mustConverge(desired(vms...)); writes(l.requests(at)) > 0 {
				t.Errorf("%s: it isn't at rest afterwards: %q", step.reason, l.requests(at))
			}
		}
		// What changes for real is noticed as ever.
		l.keys = model.Keys{third}
		rep := l.converge(desired(secretive("winter26")...))
		if text := describe(rep); !strings.Contains(text, "Ignition") {
			t.Errorf("another Ignition config isn't noticed:\n%s", text)
		}
	})
}

// keyID is how marks name a key.
func keyID(key []byte) string {
	return model.MarkKey(model.Keys{key}.Seal(model.Owner{}, model.Secret{Slow: "x"}).Mark)
}

// booted is since when machines run, by their VMIDs.
func (l *lab) booted() map[int]string {
	out := map[int]string{}
	l.sim.Do(func(s *pvesim.State) {
		for id, g := range s.VMs {
			if g.Run != nil {
				out[id] = g.Run.Started.String()
			}
		}
	})
	return out
}

// marksOf are the marks of secrets in the notes of machines, by name and kind.
func (l *lab) marksOf() map[string]string {
	out := map[string]string{}
	for _, conf := range l.ours() {
		_, m, _ := model.ParseDescription(conf["description"])
		for _, mark := range m.Managed {
			for _, prefix := range []string{"cipassword:", "seed:"} {
				if rest, ok := strings.CutPrefix(mark, prefix); ok {
					out[conf["name"]+" "+prefix] = rest
				}
			}
		}
	}
	return out
}
