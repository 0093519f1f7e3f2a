//go:build linux

package qemu

import (
	"bytes"
	"net/netip"
	"testing"
)

func TestTheWayToGuestsIsKnownAgain(t *testing.T) {
	dir := t.TempDir()
	key := func(dir string) []byte {
		j, err := (&Backend{dir: dir}).NewJump(netip.MustParsePrefix("192.168.77.0/24"))
		if err != nil {
			t.Fatal(err)
		}
		return j.HostKey().Marshal()
	}
	first := key(dir)
	if !bytes.Equal(first, key(dir)) {
		t.Error("a simulator with the same directory has another key")
	}
	if bytes.Equal(first, key(t.TempDir())) {
		t.Error("a simulator with another directory has the same key")
	}
}
