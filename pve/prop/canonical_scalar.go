package prop

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// spelled gives the spelling of whatever the codec can read.
func spelled[T any](c codec[T]) func(string) string {
	return func(s string) string {
		v, err := c.parse(strings.TrimSpace(s))
		if err != nil {
			return s
		}
		return c.print(v)
	}
}

// without makes a default of a scalar "".
func without(def string, spell func(string) string) func(string) string {
	return func(s string) string {
		if s = spell(s); s == def {
			return ""
		}
		return s
	}
}

func asIs(s string) string { return s }

// scalars are the keys with values of one part, but for those of which nothing
// is known: their values stay as they are.
var scalars = map[string]func(string) string{
	"acpi":          without("1", spelled(boolean)),
	"allow-ksm":     without("1", spelled(boolean)),
	"autostart":     without("0", spelled(boolean)),
	"ciupgrade":     without("1", spelled(boolean)),
	"freeze":        without("0", spelled(boolean)),
	"keephugepages": without("0", spelled(boolean)),
	"kvm":           without("1", spelled(boolean)),
	"localtime":     spelled(boolean), // on for Windows only, when it is absent
	"numa":          without("0", spelled(boolean)),
	"onboot":        without("0", spelled(boolean)),
	"protection":    without("0", spelled(boolean)),
	"reboot":        without("1", spelled(boolean)),
	"tablet":        without("1", spelled(boolean)),
	"tdf":           without("0", spelled(boolean)),
	"template":      without("0", spelled(boolean)),

	"balloon":          spelled(natural), // absent: as much as memory
	"cores":            without("1", spelled(natural)),
	"cpulimit":         without("0", spelled(number)),
	"cpuunits":         spelled(natural), // absent: depends on the node
	"migrate_downtime": without("0.1", spelled(number)),
	"migrate_speed":    without("0", spelled(natural)),
	"shares":           without("1000", spelled(natural)),
	"smp":              without("1", spelled(natural)),
	"sockets":          without("1", spelled(natural)),
	"vcpus":            without("0", spelled(natural)),

	"bios":      without("seabios", asIs),
	"ostype":    without("other", asIs),
	"scsihw":    without("lsi", asIs),
	"startdate": without("now", asIs),
	"vmgenid":   strings.ToLower,

	"boot":         canonicalBoot,
	"hotplug":      canonicalHotplug,
	"nameserver":   canonicalAddresses,
	"searchdomain": func(s string) string { return strings.Join(strings.Fields(s), " ") },
	"sshkeys":      canonicalKeys,
	"tags":         canonicalTags,
}

func canonicalBoot(s string) string {
	b, err := ParseBoot(s)
	switch {
	case err != nil:
		return s
	case len(b.Order) > 0:
		b.Legacy = ""
	case b.Legacy == "" && len(b.Extra) == 0:
		return " " // from nothing, which isn't the same as absent
	case b.Legacy == DefaultBoot.Legacy && len(b.Extra) == 0:
		return ""
	}
	return bootForm.short(bootForm.canonical(b.fields(), b.Rest))
}

func canonicalHotplug(s string) string {
	if strings.ContainsFunc(s, isControl) {
		return s
	}
	h := ParseHotplug(s)
	switch {
	case h.Equal(DefaultHotplug):
		return ""
	case slices.Contains(h.Other, "0"), slices.Contains(h.Other, "1"):
		return s // these mean something only when they stand alone
	}
	h.text = ""
	slices.Sort(h.Other)
	return h.String()
}

func canonicalAddresses(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		if a, err := netip.ParseAddr(w); err == nil {
			words[i] = a.String()
		}
	}
	return strings.Join(words, " ")
}

// canonicalKeys takes plain text as well as encoded text; no key is both, since
// a key has a space between its parts.
func canonicalKeys(s string) string {
	for {
		s = strings.Join(NewSSHKeys(strings.Split(s, "\n")...), "\n")
		if !strings.Contains(s, "%") || !urlEncoded.MatchString(s) {
			return s
		}
		plain, err := url.PathUnescape(s)
		if err != nil {
			return s
		}
		s = plain
	}
}

func canonicalTags(s string) string {
	t, err := ParseTags(s)
	if err != nil {
		return s
	}
	return t.String()
}
