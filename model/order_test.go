package model

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/proxplane/proxplane/test/kit/chance"
)

func TestNamesAreOrderedAsPeopleCount(t *testing.T) {
	for _, want := range []string{
		"node-1 node-2 node-10", "pve pve1 pve9 pve10 pve10a", "a a-1 a-1-2 a-1-10 a-2 b", "07 7 8", "VM10 vm2",
		"vm-99999999999999999998 vm-99999999999999999999 vm-100000000000000000000", "web web-1",
		"rack1-node2 rack1-node10 rack2-node1", "scsi0 scsi2 scsi10 scsihw", "1 1a 2 a1",
	} {
		got := strings.Fields(want)
		slices.Reverse(got)
		SortNames(got)
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s, want %s", text, want)
		}
	}
}

func TestTheOrderOfNamesIsOne(t *testing.T) {
	name := rapid.StringMatching(`[a-b0-2-]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := name.Draw(t, "a"), name.Draw(t, "b"), name.Draw(t, "c")
		if (CompareNames(a, b) == 0) != (a == b) || CompareNames(a, b) != -CompareNames(b, a) {
			t.Fatalf("%q and %q: %d and %d", a, b, CompareNames(a, b), CompareNames(b, a))
		}
		if CompareNames(a, b) < 0 && CompareNames(b, c) < 0 && CompareNames(a, c) >= 0 {
			t.Fatalf("%q < %q < %q, but not the first and the last", a, b, c)
		}
	})
}
