package schema

import (
	"strings"
	"unicode/utf8"
)

const nodeRE = `([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)`

var _ = register(map[string]checker{
	"string":               func(*Schema, string) error { return nil },
	"urlencoded":           matching(`^[-%a-zA-Z0-9_.!~*'()]*$`, "invalid urlencoded string: %s"),
	"pve-configid":         matching(`^(?^i:[a-z][a-z0-9_-]+)$`, "invalid configuration ID '%s'"),
	"pve-storage-id":       idChecker("storage"),
	"pve-bridge-id":        bridgeID,
	"storage-pair":         pairChecker(idChecker("storage")),
	"bridge-pair":          pairChecker(bridgeID),
	"pve-vmid":             matching(`^[1-9][0-9]{2,8}$`, "value does not look like a valid VM ID"),
	"pve-node":             matching(`^`+nodeRE+`$`, "value does not look like a valid node name"),
	"pve-tag":              matching(`^(?^i:[a-z0-9_][a-z0-9_\-\+\.]*)$`, "invalid characters in tag"),
	"pve-task-status-type": matching(`^(?^i:ok|error|warning|unknown)$`, "invalid status '%s'"),
	"pve-day-of-week":      matching(`^(mon|tue|wed|thu|fri|sat|sun)$`, "invalid day '%s'"),
	"ldap-simple-attr":     matching(`^[a-zA-Z0-9]+$`, "value '%s' does not look like a simple ldap attribute name"),
	"graphite-path":        matching(`^(`+nodeRE+`\.)*`+nodeRE+`$`, "value does not look like a valid graphite path"),
	"disk-size": func(s *Schema, value string) error {
		if _, ok := ParseSize(value); !ok || s.facts.v8 && strings.Contains(value, "iB") {
			return fail("value does not look like a valid disk size: %s", value)
		}
		return nil
	},
	"pve-startup-order":      startupOrder,
	"pve-calendar-event":     calendarEvent,
	"pve-replication-job-id": replicationJob,

	"pve-ha-resource-id":       matching(`^[a-z]+:\S+$`, "value does not look like a valid ha resource id"),
	"pve-ha-resource-or-vm-id": matching(`^([a-z]+:\S+|\d+)$`, "value does not look like a valid ha resource id"),
	"pve-ha-node":              matching(`^`+nodeRE+`(:\d+)?$`, "value does not look like a valid ha node"),
	"pve-ha-group-node":        matching(`^`+nodeRE+`(:\d+)?$`, "value does not look like a valid ha group node"),
})

var bridgeID = matching(`^[-_.\w\d]+$`, "invalid bridge ID '%s'")

// idChecker checks the id of a storage or another plugin's section.
func idChecker(kind string) checker {
	re := perlPattern(`^(?^i:[a-z][a-z0-9\-\_\.]*[a-z0-9])$`)
	return func(s *Schema, id string) error {
		switch {
		case utf8.RuneCountInString(id) < 2 && !s.facts.v8:
			return fail("%s ID '%s' cannot be shorter than 2 characters", kind, id)
		case !re.match(id):
			return fail("%s ID '%s' contains illegal characters", kind, id)
		}
		return nil
	}
}

var pairRE = perlPattern(`^([^:]+):([^:]+)$`)

// pairChecker checks one entry of a map from ids to ids: "from:to", a default,
// or "1" for each to itself.
func pairChecker(id checker) checker {
	return func(s *Schema, value string) error {
		if !perlTrue(value) {
			return nil
		}
		seen, byDefault, identity := map[string]bool{}, false, false
		for _, entry := range SplitList(value) {
			if entry == "1" {
				identity = true
				continue
			}
			from, to := entry, entry
			pair := pairRE.match(entry)
			if pair {
				from, to, _ = strings.Cut(entry, ":")
			}
			err := id(s, from)
			if err == nil {
				err = id(s, strings.TrimSuffix(to, "\n"))
			}
			switch {
			case err != nil:
				return fail("entry '%s' contains invalid ID - %s\n", entry, err)
			case pair && seen[from]:
				return fail("duplicate mapping for source '%s'\n", from)
			case !pair && byDefault:
				return fail("default target ID can only be provided once\n")
			}
			seen[from] = seen[from] || pair
			byDefault = byDefault || !pair
		}
		if identity && (byDefault || len(seen) > 0) {
			return fail("identity mapping cannot be combined with other mappings\n")
		}
		return nil
	}
}

var startupRE = perlPattern(`^((order=)?\d+|up=\d+|down=\d+)$`)

func startupOrder(_ *Schema, value string) error {
	bad := fail("unable to parse startup options")
	if !perlTrue(value) {
		return bad
	}
	for part := range strings.SplitSeq(value, ",") {
		if strings.TrimFunc(part, isSpace) != "" && !startupRE.match(part) {
			return bad
		}
	}
	return nil
}

var replicationRE = perlPattern(`^(\d+)-(\d+)$`)

func replicationJob(_ *Schema, id string) error {
	if !replicationRE.match(id) {
		return fail("invalid replication job id '%s'", id)
	}
	guest, _, _ := strings.Cut(id, "-")
	if numeric(guest) < 100 {
		return fail("invalid replication job id '%s' (guest IDs < 100 are reserved)", id)
	}
	return nil
}
