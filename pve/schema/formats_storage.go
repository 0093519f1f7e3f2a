package schema

import (
	"strings"
	"unicode/utf8"
)

const portalHost = `[\p{L}\p{N}\-.]+`

var isVolumeID = matching(`^(?^i:[a-z][a-z0-9\-\_\.]*[a-z0-9]):(.+)$`, "unable to parse volume ID '%s'")

var _ = register(map[string]checker{
	"pve-volume-id": isVolumeID,
	"pve-volume-id-or-absolute-path": func(s *Schema, value string) error {
		if strings.HasPrefix(value, "/") {
			return nil
		}
		return isVolumeID(s, value)
	},
	"pve-volume-id-or-qm-path": func(s *Schema, value string) error {
		if value == "none" || value == "cdrom" || strings.HasPrefix(value, "/") {
			return nil
		}
		return isVolumeID(s, value)
	},
	// These two patterns have no end: what follows the first good character doesn't matter.
	"pve-storage-path": matching(`^/[^;\(\)]+`, "value does not look like a valid absolute path"),
	"pve-storage-path-in-property-string": matching(`^/[^;,=\(\)]+`,
		"Value does not look like a valid absolute path. These symbols are currently not allowed in path: ;,=()"),
	"pve-storage-server": hostChecker("value does not look like a valid server name or IP address"),
	"pve-storage-vgname": matching(`^(?^i:[a-z0-9][a-z0-9\-\_\.]*[a-z0-9])$`, "lvm name '%s' contains illegal characters"),
	"pve-storage-portal-dns": either("value does not look like a valid portal address",
		matching(`^(`+ipv4+`|`+portalHost+`)(?::(\d+))?$`, ""),
		matching(`^\[(`+ipv6+`|`+ipv4+`|`+portalHost+`)\](?::(\d+))?$`, ""),
		matching(`^(`+ipv6+`)(?:\.(\d+))?$`, "")),
	"pve-storage-options":       matching(`^\S+$`, "invalid options '%s'"),
	"pve-storage-content":       storageContent,
	"pve-dir-override":          dirOverride,
	"pve-storage-zfs-blocksize": zfsBlocksize,
})

func storageContent(_ *Schema, value string) error {
	switch value {
	case "images", "rootdir", "vztmpl", "iso", "backup", "snippets", "none", "import":
		return nil
	}
	return fail("invalid content type '%s'", value)
}

var dirOverrideRE = perlPattern(`^([a-z]+)=([^.]*(?:\.?[^.]+)+)$`)

// dirOverride takes "iso=some/dir".
func dirOverride(s *Schema, value string) error {
	bad := fail("invalid override '%s'", value)
	if !dirOverrideRE.match(value) {
		return bad
	}
	content, path, _ := strings.Cut(value, "=")
	if err := storageContent(s, content); err != nil {
		return err
	}
	if utf8.RuneCountInString(path) >= 1023 {
		return bad
	}
	for name := range strings.SplitSeq(path, "/") {
		if utf8.RuneCountInString(name) >= 255 {
			return bad
		}
	}
	return nil
}

var blocksizeRE = perlPattern(`^(?^i:([1-9][0-9]*)([km])?)$`)

func zfsBlocksize(_ *Schema, value string) error {
	if value == "" {
		return nil
	}
	if !blocksizeRE.match(value) {
		return fail("invalid ZFS blocksize format '%s'. Use a positive number (no leading zeros) with an optional 'k' or 'm' suffix.", value)
	}
	text := strings.ToLower(strings.TrimSuffix(value, "\n"))
	n := numeric(strings.TrimRight(text, "km"))
	switch text[len(text)-1] {
	case 'k':
		n *= 1 << 10
	case 'm':
		n *= 1 << 20
	}
	if n < 512 || n > 16<<20 || int64(n)&(int64(n)-1) != 0 {
		return fail("value '%s' is not a valid ZFS blocksize. Must be a power of 2 between 512B and 16MiB (e.g., 4k, 8k, 16k, 64k, 1m).", value)
	}
	return nil
}

// pruneBackups lets keep-all stand alone only, and makes it of "keep nothing".
func pruneBackups(_ *Schema, props *Props) error {
	keeps := false
	all := perlTrue(props.Get("keep-all"))
	for _, key := range props.Keys() {
		if key != "keep-all" && numeric(props.Get(key)) > 0 {
			keeps = true
		}
	}
	if keeps && all {
		return fail("keep-all cannot be set together with other options.")
	}
	props.Del("keep-all")
	if !keeps {
		*props = *NewProps("keep-all", "1")
	}
	return nil
}
