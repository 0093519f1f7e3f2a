package schema

import (
	"math"
	"strconv"
)

var sizeRE = perlPattern(`^(\d+(\.\d+)?)([KMGT](?:iB)?)?$`)

// ParseSize reads a size as Proxmox does: "32G", "1.5T", "512MiB", or bytes.
func ParseSize(text string) (bytes int64, ok bool) {
	re, _, err := sizeRE.compile()
	if err != nil {
		return 0, false
	}
	m := re.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, true // digits of another script count as 0
	}
	if m[3] != "" {
		switch m[3][0] {
		case 'T':
			n *= 1 << 40
		case 'G':
			n *= 1 << 30
		case 'M':
			n *= 1 << 20
		case 'K':
			n *= 1 << 10
		}
	}
	if n >= math.MaxInt64 {
		return math.MaxInt64, true
	}
	return int64(n), true
}

// FormatSize writes a size with the largest unit that loses nothing; nothing
// at all is "0T" to Proxmox.
func FormatSize(bytes int64) string {
	n := bytes
	for _, unit := range []string{"", "K", "M", "G"} {
		if n%1024 != 0 {
			return strconv.FormatInt(n, 10) + unit
		}
		n /= 1024
	}
	return strconv.FormatInt(n, 10) + "T"
}
