package cluster

import (
	"net/netip"
	"strings"
	"testing"
)

// A machine that refuses a connection has the address; who isn't in the same network asks nobody.
func TestAVIPThatSomebodyHasIsSeen(t *testing.T) {
	if at := answers(t.Context(), netip.MustParseAddr("127.0.0.2")); !strings.HasPrefix(at, "127.0.0.2:") {
		t.Errorf("this computer's own address is taken for free: %q", at)
	}
	far := netip.MustParseAddr("198.51.100.1")
	if near(far) {
		t.Skip("this computer is in a network of documents")
	}
	if at := answers(t.Context(), far); at != "" {
		t.Errorf("something answers at %s, which nobody has", at)
	}
}
