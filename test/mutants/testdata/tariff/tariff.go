// Package tariff is what the mutants' own test changes.
package tariff

const base = 2 + 3

// Price has a change that its tests notice in each kind, and one that they don't.
func Price(items []int, member, known bool) int {
	sum := base
	for _, one := range items {
		if one < 0 {
			continue
		}
		sum = sum + one
	}
	if member && known || len(items) >= 3 {
		sum -= 1
	}
	note(sum)
	if closed() {
		return 0
	}
	return sum * 2
}

var last int

func note(sum int) { last = sum }

func closed() bool { return false }

// Forgotten has no test.
func Forgotten(a int) bool { return a == 1 }
