package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// configure plans the changes of the configuration: all in one call, which fails if the config was
// changed since it was read.
func (c *change) configure(uploads []int, after ...int) int {
	act := model.Configure{Target: c.target(), Digest: c.have.Digest, Set: map[string]string{}}
	uploading := len(uploads) > 0
	c.options(&act, uploading)
	c.agent(&act)
	c.noteKept()
	c.disks(&act)
	c.drives(&act, uploading)
	c.nics(&act)
	c.marks(&act)
	if len(c.diff) == 0 {
		if act.Description == nil && act.Tags == nil {
			return 0
		}
		verb := model.VerbSet
		if c.unsigned() {
			verb = model.VerbSign
		}
		c.say(Live, model.Difference{Verb: verb, Field: model.FieldMarker})
	}
	act.Slow = len(act.Disks) > 0
	return c.o.step(Step{Action: act, What: fmt.Sprintf("configure VM %d", c.g.VMID), Diff: c.diff, Effect: effectOf(c.diff)}, append(after, uploads...)...)
}

// options compares the plain options.
func (c *change) options(act *model.Configure, uploading bool) {
	for _, k := range slices.Sorted(keysOf(c.v.Options)) {
		want, have := c.v.Options[k], c.have.Options[k]
		if k == snippetsOption && c.snippets() && !c.attachable(uploading) {
			continue // Proxmox reads them as soon as the option names them
		}
		if want == have || c.means(k, want, have) {
			continue
		}
		c.sayOption(differs(k, have, want), have, want)
		if want == "" {
			act.Delete = append(act.Delete, k)
		} else {
			act.Set[k] = want
		}
	}
	if c.v.Name != "" && c.have.Options["name"] != c.v.Name {
		c.say(Live, differs("name", c.have.Options["name"], c.v.Name))
		act.Set["name"] = c.v.Name
	}
	for _, k := range c.have.Marker.Managed {
		_, wanted := c.v.Options[k]
		if have, there := c.have.Options[k]; there && !wanted && !c.v.Inherits(k) {
			c.sayOption(unset(k, have), have, "")
			act.Delete = append(act.Delete, k)
		}
	}
}

// unset returns an option that no manifest names any more.
func unset(key, have string) model.Difference {
	d := differs(key, have, "")
	d.Verb, d.To = model.VerbUnset, ""
	return d
}

// noteKept adds notes about options that the manifest named before and that stay although it no longer does.
func (c *change) noteKept() {
	for _, k := range slices.Sorted(keysOf(c.have.Options)) {
		if _, wanted := c.v.Options[k]; !wanted && c.managed(model.KeptMark(k)) && !c.v.Inherits(k) {
			c.o.note("%s stays %s, though it is no longer declared: a machine may not boot without it; name the value that you want", k, model.Shortened(c.have.Options[k]))
			c.still = append(c.still, model.KeptMark(k))
		}
	}
}

// means reports whether the spelling of an option differs from the wanted one but means the same.
func (c *change) means(key, want, have string) bool {
	switch key {
	case model.Password:
		return c.passwordKnown()
	case "machine":
		return sameMachine(want, have)
	case "vcpus":
		return want == "" && have == itoa(allCPUs(c.v.Options))
	}
	// A size that the config leaves out is Proxmox' own: setting it would change nothing, and
	// wait for a restart.
	own := model.DefaultSizes[key]
	return cmp.Or(want, own) == cmp.Or(have, own)
}

// sameMachine reports whether a guest has the wanted machine type: Proxmox pins the version for some
// systems.
func sameMachine(want, have string) bool {
	switch want {
	case "q35":
		return strings.HasPrefix(have, "pc-q35-")
	case "", "pc":
		return strings.HasPrefix(have, "pc-i440fx-")
	}
	return false
}

// allCPUs returns how many CPUs a guest has when all are plugged in.
func allCPUs(options map[string]string) int {
	number := func(key string) int {
		n, err := strconv.Atoi(options[key])
		if err != nil {
			return 1
		}
		return n
	}
	return number("cores") * number("sockets")
}

// marks plans the changes of description, tags and marker.
func (c *change) marks(act *model.Configure) {
	seed := intendedSeed(c.v, c.g.VMID)
	if c.alone && c.v.Inherits(model.InheritedSeed) {
		seed = c.have.Marker.Seed
	}
	want := marker(c.v, c.g.VMID, seed)
	want.Old = c.leftSeeds(seed)
	was := c.have.Marker
	want.Source, want.From, want.Image, want.Reverts, want.Adopted, want.Home, want.Away = was.Source, was.From, was.Image, was.Reverts, was.Adopted, was.Home, was.Away // these can't change
	want.Dropped = was.Dropped && (c.v.Seed == nil || c.done())
	want.Retain = c.v.Keeps(was)
	want.Disks = c.volumes()
	if c.leavesHA() {
		c.kept = append(c.kept, "ha") // until it isn't under HA any more
	}
	c.kept = append(c.kept, c.leavesPools()...) // until it isn't in them any more
	want.Managed = slices.Sorted(slices.Values(slices.Concat(want.Managed, c.kept, c.still)))
	c.sayText(c.have.Text, strings.TrimRight(c.v.Description, "\n"))
	if seed != "" && was.Seed != seed {
		c.sayData()
	}
	text := model.Describe(c.v.Description, want)
	if model.Describe(c.have.Text, was.Bare()) != text || c.unsigned() {
		act.Description = &text
	}
	tags := tagsFor(c.v, c.have, c.stamp(want))
	if slices.Equal(tags, c.have.Tags) {
		return
	}
	if !slices.Equal(visible(tags), visible(c.have.Tags)) {
		c.say(Live, differs("tags", strings.Join(visible(c.have.Tags), ";"), strings.Join(visible(tags), ";")))
	}
	act.Tags = &tags
}

// sayText adds the differences of the description: in what people wrote, or in what the hook of the
// node reads.
func (c *change) sayText(have, want string) {
	plain := func(text string) string { return strings.TrimRight(strings.Replace(text, hookPart(text), "", 1), "\n") }
	if hookPart(have) != hookPart(want) {
		c.sayLater(model.Difference{Verb: model.VerbSet, Field: model.FieldHook})
	}
	if plain(have) != plain(want) {
		c.say(Live, differs("description", plain(have), plain(want)))
	}
}

// hookPart returns the part of a description that the hook reads.
func hookPart(text string) string {
	const fence, open = "```", "```proxplane\n"
	_, rest, ok := strings.Cut(text, open)
	if !ok {
		return ""
	}
	block, _, closed := strings.Cut(rest, fence)
	if !closed {
		return open + rest
	}
	return open + block + fence
}

// unfinished is the fingerprint of a guest that isn't up to date in ways that
// the list of guests doesn't show: it makes the next plan read its config.
const unfinished = "unfinished"

// stamp returns the fingerprint that the guest may carry once this configuration is
// applied: the real one only if nothing then remains but what the list shows.
func (c *change) stamp(m model.Marker) string {
	if len(c.kept) > 0 || len(c.o.Refused) > 0 || len(c.pending()) > 0 || len(m.Old) > 0 || c.resizes() || len(c.misplaced()) > 0 || c.haUnfinished() || c.v.Seed != nil && !c.done() && !c.attached() && !c.intended() {
		return unfinished
	}
	return c.canonical().Fingerprint()
}

// marker returns the proof of ownership that a guest carries.
func marker(v model.VM, vmid int, seed string) model.Marker {
	m := model.Marker{Owner: v.Owner, VMID: vmid, Seed: seed, Source: v.Source.Name(), Group: v.Group, Retain: v.Retain}
	first := v.Seed
	v = v.Alone()
	v.Seed = first
	m.Managed = append(append(m.Managed, v.Managed...), model.KeptMarks(v.Options)...)
	for _, t := range v.Tags {
		m.Managed = append(m.Managed, "tag:"+t)
	}
	for _, d := range v.Disks {
		if !d.Root() && !firmware(d.Slot) {
			m.Managed = append(m.Managed, "disk:"+diskName(d))
		}
		m.Managed = append(m.Managed, diskOptionMarks(d)...)
	}
	for _, n := range v.NICs {
		m.Managed = append(m.Managed, "nic:"+n.Slot)
	}
	if v.Password.Mark != "" {
		m.Managed = append(m.Managed, passwordPrefix+v.Password.Mark)
	}
	if v.Seed != nil && v.Seed.Digest != "" {
		m.Managed = append(m.Managed, seedPrefix+v.Seed.Digest)
	}
	for _, name := range v.Shares {
		m.Managed = append(m.Managed, sharePrefix+name)
	}
	if v.HA != nil {
		m.Managed = append(m.Managed, "ha")
	}
	if v.Firewall != nil {
		m.Managed = append(m.Managed, firewallMark)
	}
	if v.Pool != "" {
		m.Managed = append(m.Managed, model.PoolMark(v.Pool))
	}
	m.Addresses = v.Claims()
	return m
}

// firmware reports whether a slot holds the state of UEFI or of a TPM. Such a disk stays when the new
// class of a machine doesn't mention it: the guest couldn't boot without it.
func firmware(slot string) bool { return slot == "efidisk0" || slot == "tpmstate0" }

// tagsFor returns the tags that a guest is to have: the wanted ones, our marks, and those that others have
// added.
func tagsFor(v model.VM, have *model.Config, stamp string) []string {
	tags := append([]string{model.Tag, model.StateTag(v.Owner, stamp)}, v.Tags...)
	if have != nil && !fresh(have) {
		for _, t := range have.Tags {
			if !model.IsMark(t) && !slices.Contains(have.Marker.Managed, "tag:"+t) {
				tags = append(tags, t)
			}
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// fresh reports whether no configuration was applied to a guest yet, so that it has what its source had.
// Its tags don't show that, since people change them.
func fresh(have *model.Config) bool { return have.Marker.Fresh }

// visible returns tags without our marks.
func visible(tags []string) []string {
	return slices.DeleteFunc(slices.Clone(tags), model.IsMark)
}

// plainOptions returns the options with a value, without those that are to be absent.
func plainOptions(options map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range options {
		if v != "" {
			out[k] = v
		}
	}
	return out
}
