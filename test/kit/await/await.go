// Package await waits in stories for what other processes bring about.
package await

import (
	"testing"
	"time"
)

// pause is how long it waits before it asks again.
const pause = 100 * time.Millisecond

// Until asks until something holds, and fails the test if that takes longer than patience.
func Until(t testing.TB, patience time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("%s: never", what)
		}
		select {
		case <-time.After(pause):
		case <-t.Context().Done():
			t.Fatal("it is over")
		}
	}
}
