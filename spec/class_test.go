package spec

import (
	"testing"
)

func TestMemoryForHotplugIsWhatProxmoxCanPlugTogether(t *testing.T) {
	for _, c := range []struct{ have, want int64 }{
		{1, 1024},
		{1024, 1024}, {1025, 1536}, {17408, 17408}, {17409, 18432}, {50176, 50176}, {50177, 52224},
	} {
		if got := pluggable(c.have); got != c.want {
			t.Errorf("%d MiB: %d, want %d", c.have, got, c.want)
		}
	}
}
