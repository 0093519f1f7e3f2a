package plan

import (
	"strings"

	"github.com/proxplane/proxplane/model"
)

// say adds a reason for the change of the configuration.
func (c *change) say(text string, e Effect) {
	c.why = append(c.why, text)
	if c.effect == "" || rank(e) > rank(c.effect) {
		c.effect = e
	}
}

// sayOf says what changes about an option or slot: at once, if the guest takes it,
// else from its next start on.
func (c *change) sayOf(key, text string, takes bool) {
	switch {
	case !c.running():
		c.say(text, Live)
	case cloudInitOption(key):
		c.late = append(c.late, text)
	case takes:
		c.say(text, Live)
	default:
		c.late, c.later = append(c.late, text), append(c.later, key)
	}
}

// sayOption says what changes about a plain option.
func (c *change) sayOption(key, text, have, want string) {
	if c.undoes(key, func(running *model.Config) bool { return running.Options[key] == want }) {
		c.say("drop the pending "+changed(key, want, have), Live)
		return
	}
	c.sayOf(key, text, c.takes(key, have, want))
}

// sayLater says what a guest that runs takes notice of at its next start, without
// having to be restarted for it.
func (c *change) sayLater(text string) {
	if c.running() {
		c.late = append(c.late, text)
		return
	}
	c.say(text, Live)
}

// sayData says when a guest takes notice of its new first-boot data.
func (c *change) sayData() {
	if c.v.Seed.Rerun {
		c.sayLater("other first-boot data, which is all done again")
		return
	}
	c.say("other first-boot data, for the next first boot", Live)
}

// sayDrive says that a drive comes or goes that is read at starts: it needs none because
// of it.
func (c *change) sayDrive(slot, text string) {
	if c.hotplugs(slot) {
		c.say(text, Live)
		return
	}
	c.sayLater(text)
}

// reasons are all that changes about the configuration, and when that takes effect.
func (c *change) reasons() (why string, e Effect) {
	now, later := strings.Join(c.why, ", "), strings.Join(c.late, ", ")
	switch {
	case later == "":
		return now, c.effect
	case now == "":
		return later, Later
	case c.effect == Live:
		return now + "; at the next start " + later, Partly
	}
	return now + "; at the next start " + later, c.effect
}
