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

	_ "pgregory.net/rapid" // whose flag this sets
)

// seed is any number but 0, which is rapid's word for a new one each time.
const seed = "1"

func init() {
	if os.Getenv("PROXPLANE_RANDOM") == "1" {
		return
	}
	if err := flag.Set("rapid.seed", seed); err != nil {
		panic(err)
	}
}
