package prop

import (
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"strconv"
)

// Size is a size of a disk in bytes.
type Size int64

// Units of sizes.
const (
	KiB Size = 1 << (10 * (iota + 1))
	MiB
	GiB
	TiB
)

var sizeText = regexp.MustCompile(`^(\d+)(\.\d+)?(?:([KMGT])(?:iB)?)?$`)

// ParseSize parses a size as Proxmox writes them: "32G", "528K", "1.5T", "1024";
// the units are powers of 1024.
func ParseSize(s string) (Size, error) {
	m := sizeText.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("not a size")
	}
	unit := map[string]Size{"": 1, "K": KiB, "M": MiB, "G": GiB, "T": TiB}[m[3]]
	if m[2] == "" {
		n, err := strconv.ParseUint(m[1], 10, 64)
		hi, lo := bits.Mul64(n, uint64(unit))
		if err != nil || hi != 0 || lo > math.MaxInt64 {
			return 0, fmt.Errorf("size too large")
		}
		return Size(lo), nil
	}
	x, err := strconv.ParseFloat(m[1]+m[2], 64)
	x *= float64(unit)
	if err != nil || x >= math.MaxInt64 {
		return 0, fmt.Errorf("size too large")
	}
	return Size(x), nil
}

// String prints the size as Proxmox does: in the largest unit that gives a whole
// number, so zero is "0T".
func (s Size) String() string {
	n, unit := int64(s), ""
	for _, next := range []string{"K", "M", "G", "T"} {
		if n%1024 != 0 {
			break
		}
		n, unit = n/1024, next
	}
	return strconv.FormatInt(n, 10) + unit
}
