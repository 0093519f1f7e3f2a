package privileges

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/proxplane/proxplane/test/kit/chance"
)

func TestSolutionsMeetAllNeedsAndHaveNothingToSpare(t *testing.T) {
	paths := []string{"/", "/vms", "/vms/100", "/nodes", "/nodes/pve1", "/storage", "/storage/a"}
	names := []string{"VM.Audit", "Sys.Audit", "Sys.Modify", "Datastore.Audit"}
	claims := rapid.Custom(func(t *rapid.T) claim {
		return claim{rapid.SampledFrom(paths).Draw(t, "path"), rapid.SampledFrom(names).Draw(t, "priv")}
	})
	rapid.Check(t, func(t *rapid.T) {
		needs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) need {
			return need{any: rapid.SliceOfN(rapid.SliceOfN(claims, 1, 3), 1, 3).Draw(t, "any"), why: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "why")}
		}), 0, 8).Draw(t, "needs")
		solution := solve(needs)
		granted := map[claim]bool{}
		for c, why := range solution {
			granted[c] = true
			if len(why) == 0 {
				t.Fatalf("%v is for nothing", c)
			}
		}
		unmet := func(n need) bool { return !n.met(granted) }
		if slices.ContainsFunc(needs, unmet) {
			t.Fatalf("%v doesn't meet %v", granted, needs)
		}
		for c := range solution {
			delete(granted, c)
			if !slices.ContainsFunc(needs, unmet) {
				t.Fatalf("%v is needless in %v", c, solution)
			}
			granted[c] = true
		}
	})
}

func TestTheSmallestOfSeveralPrivilegesIsTaken(t *testing.T) {
	for _, c := range []struct {
		reason string
		needs  []need
		want   claim
	}{
		{"reading is less than writing", []need{{any: [][]claim{{{"/storage/a", "Datastore.AllocateSpace"}}, {{"/storage/a", "Datastore.Audit"}}}}}, claim{"/storage/a", "Datastore.Audit"}},
		{"one privilege is less than two", []need{{any: [][]claim{{{"/", "Sys.Audit"}, {"/", "Sys.Modify"}}, {{"/nodes/a", "Sys.AccessNetwork"}}}}}, claim{"/nodes/a", "Sys.AccessNetwork"}},
		{"a pool is less than all guests", []need{{any: [][]claim{{{"/vms", "VM.Allocate"}}, {{"/pool/a", "VM.Allocate"}}}}}, claim{"/pool/a", "VM.Allocate"}},
		{"what is needed anyway costs nothing", []need{
			{any: [][]claim{{{"/vms/1", "VM.Snapshot.Rollback"}}, {{"/vms/1", "VM.Snapshot"}}}},
			{any: [][]claim{{{"/vms/1", "VM.Snapshot"}}}},
		}, claim{"/vms/1", "VM.Snapshot"}},
	} {
		got := solve(c.needs)
		if _, ok := got[c.want]; len(got) != 1 || !ok {
			t.Errorf("%s: %v, want %v", c.reason, got, c.want)
		}
	}
}
