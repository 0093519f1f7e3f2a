package plan

import (
	"slices"

	"github.com/proxplane/proxplane/model"
)

// say adds what changes about the configuration.
func (c *change) say(e Effect, list ...model.Difference) {
	for _, d := range list {
		d.Effect = e
		c.diff = append(c.diff, d)
	}
}

// sayOf says what changes about an option or slot: at once, if the guest takes it,
// else from its next start on.
func (c *change) sayOf(key string, takes bool, list ...model.Difference) {
	switch {
	case !c.running():
		c.say(Live, list...)
	case cloudInitOption(key):
		c.say(Later, list...)
	case takes && !c.stuck(key):
		c.say(Live, list...)
	default:
		c.say(Restart, list...)
		c.later = append(c.later, key)
	}
}

// sayOption says what changes about a plain option.
func (c *change) sayOption(d model.Difference, have, want string) {
	key := d.Field
	if c.undoes(key, func(running *model.Config) bool { return running.Options[key] == want }) {
		d = differs(key, have, want)
		d.Verb = model.VerbUndo
		c.say(Live, d)
		return
	}
	c.sayOf(key, c.takes(key, have, want), d)
}

// sayLater says what a guest that runs takes notice of at its next start, without
// having to be restarted for it.
func (c *change) sayLater(list ...model.Difference) {
	if c.running() {
		c.say(Later, list...)
		return
	}
	c.say(Live, list...)
}

// sayData says when a guest takes notice of its new first-boot data.
func (c *change) sayData() {
	if c.v.Seed.Rerun {
		c.sayLater(model.Difference{Verb: model.VerbRerun, Field: model.FieldFirstBoot})
		return
	}
	c.say(Live, model.Difference{Verb: model.VerbSet, Field: model.FieldFirstBoot})
}

// sayDrive says that a drive comes or goes that is read at starts: it needs none because
// of it.
func (c *change) sayDrive(slot string, d model.Difference) {
	if c.hotplugs(slot) {
		c.say(Live, d)
		return
	}
	c.sayLater(d)
}

// effectOf returns when what changes about the configuration takes effect, and what is lost.
func effectOf(list []model.Difference) Effect {
	e := Live
	now, later := false, false
	for _, d := range list {
		if d.Waits() {
			later = true
			continue
		}
		now = true
		if rank(d.Effect) > rank(e) {
			e = d.Effect
		}
	}
	switch {
	case later && !now:
		return Later
	case later && e == Live:
		return Partly
	}
	return e
}

// applied returns the differences that a restart applies: those of options with what the running
// guest has and what it gets.
func (c *change) applied(keys []string) []model.Difference {
	var list []model.Difference
	for _, k := range keys {
		planned := slices.IndexFunc(c.diff, func(d model.Difference) bool {
			slot, _ := d.Slot()
			return d.Effect == Restart && (d.Field == k || slot == k)
		})
		switch {
		case planned >= 0:
			for _, d := range c.diff {
				if slot, _ := d.Slot(); d.Effect == Restart && (d.Field == k || slot == k) {
					list = append(list, d)
				}
			}
		default:
			was := ""
			if c.have.Running != nil {
				was = c.have.Running.Options[k]
			}
			list = append(list, one(differs(k, was, c.have.Options[k]), Restart)...)
		}
	}
	return list
}
