package observe_test

import (
	"errors"
	"testing"

	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/pvesim"
)

// It is asked once which cluster this is, and again when it was out of reach: there may be
// another one behind the same address by then.
func TestAnotherClusterIsNotLookedAt(t *testing.T) {
	inLab(t, world(2), func(t *testing.T, l *lab) {
		o := observe.New(l.client).Identifying("")
		l.must(o.Refresh(t.Context(), 0))
		first := o.Identity()
		if asked := l.during(func() { l.must(o.Refresh(t.Context(), 0)) }); first == "" || len(asked) != 2 {
			t.Fatalf("known by %q, and asked again: %v", first, asked)
		}

		// Between a look at what it is known by and the demand an answer may have come.
		if o.Require("AA:BB") {
			t.Error("a cluster that it isn't can be required after it was looked at")
		}
		for _, identity := range []string{first, ""} {
			if !o.Require(identity) || o.Refresh(t.Context(), 0) != nil {
				t.Errorf("it can't be required to be %q", identity)
			}
		}

		wrong := observe.New(l.client).Identifying("AA:BB")
		var other *observe.OtherProxmoxError
		if err := wrong.Refresh(t.Context(), 0); !errors.As(err, &other) || other.Want != "AA:BB" || other.Is != first || wrong.Refused() != first || wrong.Identity() != "" {
			t.Errorf("%v, refused %q, is %q", err, wrong.Refused(), wrong.Identity())
		}
		if guests := wrong.Snapshot().Guests; len(guests) > 0 {
			t.Errorf("it has seen %d guests of another cluster", len(guests))
		}

		id, err := l.sim.AddFault(pvesim.Fault{Path: "/cluster/resources", Status: 500})
		l.must(err)
		if o.Refresh(t.Context(), 0) == nil {
			t.Fatal("the fault had no effect")
		}
		l.sim.RemoveFault(id)
		l.sim.SetFingerprint("01:02") // with another certificate it is another cluster
		if err := o.Refresh(t.Context(), 0); !errors.As(err, &other) || o.Identity() != first {
			t.Errorf("%v, known by %q", err, o.Identity())
		}
	})
}
