// Package thorough says which of the tests run that repeat others in a slightly different way: all with PROXPLANE_ALL=1 in the
// environment, as "make test-all" and .ci/run have it, and otherwise those that are likely to find something else.
package thorough

import "os"

// All reports whether every case is to be tried.
func All() bool { return os.Getenv("PROXPLANE_ALL") == "1" }
