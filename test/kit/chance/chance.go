// Package chance makes tests that draw their cases draw the same ones each time,
// so that a change never fails by chance. Test packages that use rapid import it
// for that effect alone.
//
// PROXPLANE_RANDOM=1 in the environment has them draw other cases each time; what fails then
// is repeated with the seed that rapid prints: -rapid.seed=N.
package chance

import (
	"flag"
	"os"
	"testing"

	"pgregory.net/rapid"
)

// seed is any number but 0, which is rapid's word for a new one each time.
const seed = "1"

func init() {
	if random() {
		return
	}
	if err := flag.Set("rapid.seed", seed); err != nil {
		panic(err)
	}
}

func random() bool { return os.Getenv("PROXPLANE_RANDOM") == "1" }

// CheckFew is rapid.Check for properties that take long to check: of the cases that are the
// same each time it tries the first few only, and all where others are drawn each time.
func CheckFew(t *testing.T, few int, property func(*rapid.T)) {
	t.Helper()
	tried, failed := 0, false
	rapid.Check(t, func(rt *rapid.T) {
		if tried++; tried > few && !failed && !random() {
			return
		}
		held := false
		defer func() { failed = failed || !held || rt.Failed() }() // rapid then looks for a smaller case
		property(rt)
		held = true
	})
}
