package pvesim

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/proxplane/proxplane/pve/schema"
	"github.com/proxplane/proxplane/pvesim/access"
)

// dcObjects are the options of datacenter.cfg that are shown taken apart.
var dcObjects = []string{"crs", "ha", "migration", "next-id", "notify", "replication", "tag-style", "u2f", "user-tag-access", "webauthn"}

// macPrefix is what generated MAC addresses begin with.
const macPrefix = "BC:24:11"

func clusterOptions(c *call) (any, error) {
	out := map[string]any{}
	audit := c.has(c.who, "/", "Sys.Audit")
	for k, v := range c.state.Options {
		if audit || k == "console" || k == "tag-style" {
			out[k] = c.shownOption(k, v)
		}
	}
	if audit {
		setMissing(out, "mac_prefix", macPrefix)
		setMissing(out, "description", "")
	}
	out["allowed-tags"] = append([]string{}, slices.Sorted(maps.Keys(c.allowedTags(c.who)))...)
	return out, nil
}

// shownOption is an option of datacenter.cfg as it is read back.
func (s *Sim) shownOption(k, v string) any {
	p := s.schema.Lookup("PUT", "/cluster/options").Param(k)
	switch {
	case k == "registered-tags":
		return strings.Split(v, ";")
	case p == nil || !slices.Contains(dcObjects, k):
		if p != nil && p.Type == "boolean" {
			return flagInt(perlBool(v))
		}
		return v
	}
	obj := map[string]any{}
	props, err := p.ParseProps(k, v)
	if err != nil {
		return obj
	}
	for _, key := range props.Keys() {
		value := props.Get(key)
		switch sub := p.FormatProps.Key(key); {
		case sub != nil && sub.Type == "boolean":
			obj[key] = flagInt(perlBool(value))
		case key == "user-allow-list":
			obj[key] = strings.Split(value, ";")
		default:
			obj[key] = value
		}
	}
	return obj
}

func setMissing(m map[string]any, k string, v any) {
	if _, ok := m[k]; !ok {
		m[k] = v
	}
}

// setClusterOptions writes datacenter.cfg.
func setClusterOptions(c *call) (any, error) {
	conf := maps.Clone(c.state.Options)
	for k := range c.params {
		if k != "delete" {
			conf[k] = c.params.Str(k)
		}
	}
	for _, k := range c.params.List("delete") {
		delete(conf, k)
	}
	if text, ok := conf["next-id"]; ok {
		if lower, upper := nextIDRange(text); lower > upper {
			return nil, die("lower (%d) <= upper (%d) boundary rule broken", lower, upper)
		}
	}
	if unsecure, ok := conf["migration_unsecure"]; ok && conf["migration"] == "" {
		conf["migration"] = "secure"
		if perlBool(unsecure) {
			conf["migration"] = "insecure"
		}
		delete(conf, "migration_unsecure")
	}
	if conf["console"] == "applet" {
		conf["console"] = "html5"
	}
	if strings.EqualFold(conf["mac_prefix"], macPrefix) {
		delete(conf, "mac_prefix")
	}
	// The description is kept as comments, line by line.
	if text := strings.TrimRight(conf["description"], "\n"); text != "" {
		conf["description"] = text + "\n"
	} else {
		delete(conf, "description")
	}
	for _, k := range []string{"crs", "registered-tags"} {
		if conf[k] == "" {
			delete(conf, k)
		}
	}
	c.state.Options = conf
	return nil, nil
}

// nextIDRange is where free VMIDs are looked for: the lower end is in it, the
// upper isn't.
func nextIDRange(option string) (lower, upper int) {
	lower, upper = 100, 1000000
	if v, ok := property(option, "lower", ""); ok {
		lower, _ = strconv.Atoi(v)
	}
	if v, ok := property(option, "upper", ""); ok {
		upper, _ = strconv.Atoi(v)
	}
	return lower, upper
}

// nextID finds a free VMID, or reports whether the one asked for is free.
func nextID(c *call) (any, error) {
	if c.params.Has("vmid") {
		vmid := c.params.Int("vmid")
		if c.state.taken(vmid) {
			return nil, badParam("vmid", "VM %d already exists", vmid)
		}
		return itoa(vmid), nil
	}
	lower, upper := nextIDRange(c.state.Options["next-id"])
	for id := max(lower, c.freeFrom(lower)); id < upper; id++ {
		if !c.state.taken(id) {
			c.nextFree = freeHint{lower, id}
			return itoa(id), nil
		}
	}
	return nil, die("unable to get any free VMID in range [%d, %d]", lower, upper)
}

// freeHint remembers up to where VMIDs were found taken, so that asking for
// the next one doesn't start from the beginning each time.
type freeHint struct{ from, free int }

func (s *Sim) freeFrom(lower int) int {
	if s.nextFree.from != lower {
		return lower
	}
	return s.nextFree.free
}

// vmGone is told when a VMID becomes free.
func (s *Sim) vmGone(vmid int) {
	if vmid < s.nextFree.free {
		s.nextFree.free = max(vmid, s.nextFree.from)
	}
}

// allowedTags are the tags that somebody may set: those that the datacenter
// lists, those of guests, and the registered ones for who may modify those.
func (s *Sim) allowedTags(who *access.Identity) map[string]bool {
	privileged := s.has(who, "/", "Sys.Modify")
	allow, listed := s.tagAccess()
	tags := map[string]bool{}
	if allow != "none" || privileged {
		for _, tag := range listed {
			tags[tag] = true
		}
	}
	if allow == "free" || allow == "existing" || privileged {
		for tag := range s.guests().tags {
			if privileged || s.tagSeen(who, tag) {
				tags[tag] = true
			}
		}
	}
	for _, tag := range s.registeredTags() {
		if tags[tag] = true; !privileged {
			delete(tags, tag)
		}
	}
	return tags
}

// tagAccess is who may set which tags: free, existing, list or none, and the
// list.
func (s *Sim) tagAccess() (allow string, listed []string) {
	text := s.state.Options["user-tag-access"]
	if allow, _ = property(text, "user-allow", "user-allow"); allow == "" {
		allow = "free"
	}
	list, _ := property(text, "user-allow-list", "")
	return allow, schema.SplitList(list)
}

// registeredTags need Sys.Modify to be set or removed.
func (s *Sim) registeredTags() []string { return schema.SplitList(s.state.Options["registered-tags"]) }
