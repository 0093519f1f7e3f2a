package plan

import (
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// What a guest got of secrets can't be read back, so its marker keeps marks that stand for
// them (see [model.Seal]). A mark may be of an earlier version, of another key of ours, or
// of a time without a key: then it is replaced, and nothing else changes. One that was made
// with a key that isn't here can't be compared: the guest counts as up to date, and the mark
// stays for those who have the key.

// Prefixes of marks.
const (
	seedPrefix     = "seed:"
	passwordPrefix = "cipassword:"
)

// markOf returns the mark behind a prefix; empty: there is none.
func markOf(m *model.Marker, prefix string) string {
	for _, mark := range m.Managed {
		if rest, ok := strings.CutPrefix(mark, prefix); ok {
			return rest
		}
	}
	return ""
}

// recognise makes a guest keep its first-boot data and its password where these are the wanted ones.
func (p *planner) recognise(o *Object, v model.VM, g *model.Guest) model.VM {
	have := g.Config
	if mark := markOf(have.Marker, seedPrefix); mark != "" && v.Seed != nil {
		if match := v.Seed.Seal().Match(mark); match != model.OtherSecret {
			seed := *v.Seed
			if kept, ok := seed.At(have.Marker.Seed); ok {
				seed = kept
			}
			seed.Digest, seed.Also = p.markFor(o, have, seed.Seal(), mark, match, model.FirstBoot), []string{mark}
			v.Seed = &seed
		}
	}
	v.Seed = doneWith(have.Marker, v.Seed)
	if mark := markOf(have.Marker, passwordPrefix); mark != "" && v.Password.Mark != "" {
		if match := v.Password.Match(mark); match != model.OtherSecret {
			v.Password = model.Seal{Mark: p.markFor(o, have, v.Password, mark, match, model.GuestPassword), Also: []string{mark}}
		}
	}
	return v
}

// markFor returns the mark for a guest that has the secret already.
func (p *planner) markFor(o *Object, have *model.Config, seal model.Seal, mark string, match model.Match, what string) string {
	switch {
	case match == model.NoKeyFor:
		o.note("its %s can't be compared with what is declared and counts as unchanged: the digest in its notes was made with the key %s, which isn't here; "+
			"add that key, or the line \"lost %[2]s\" to the keys if nobody has it any more", what, model.MarkKey(mark))
		return mark
	case have.Signed == model.OtherKey:
		return mark // whoever has that key would replace it again
	}
	return seal.Mark
}

// canonical returns the guest with the names of files that follow from what is wanted, as a
// fingerprint has them: no list shows under which ones they are kept.
func (c *change) canonical() model.VM {
	v := c.v
	if v.Seed == nil || v.Seed.Kept+v.Seed.Leased == "" {
		return v
	}
	seed := *v.Seed
	seed.Kept, seed.Leased = "", ""
	named := strings.NewReplacer(v.Seed.Name(c.g.VMID), seed.Name(c.g.VMID))
	v.Seed, v.Description = &seed, named.Replace(v.Description)
	if custom, said := v.Options[snippetsOption]; said {
		v.Options = withOption(v.Options, snippetsOption, named.Replace(custom))
	}
	return v
}

// passwordKnown reports whether the password was set before. The marker of a clone names from its creation
// what will be set.
func (c *change) passwordKnown() bool {
	mark := markOf(c.have.Marker, passwordPrefix)
	return !fresh(c.have) && mark != "" && slices.Contains(append(c.v.Password.Also, c.v.Password.Mark), mark)
}
