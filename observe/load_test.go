package observe_test

import (
	"testing"

	"github.com/proxplane/proxplane/observe"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

func TestClientsOfOneClusterShareItsLoad(t *testing.T) {
	inLab(t, world(2), func(t *testing.T, l *lab) {
		root := pve.Password("root@pam", "secret")
		var loads observe.Loads
		look := func(c *pve.Client, expects string) *pve.Load {
			l.must(observe.New(c).Identifying(expects).Sharing(&loads, "us").Refresh(t.Context(), 0))
			return c.Load()
		}
		first := look(l.client, "")
		again := l.connect(root)
		if look(again, "") != first {
			t.Error("a second client of the same cluster has bounds of its own")
		}
		other, err := pvesim.New(world(2))
		l.must(err)
		defer other.Close()
		other.SetFingerprint("01:02")
		if look((&lab{t: t, sim: other}).connect(root), "") == first {
			t.Error("another cluster is bounded together with the first")
		}
		// Of others nobody knows whether they are what they say.
		stranger := l.connect(root)
		l.must(observe.New(stranger).Identifying("").Sharing(&loads, "others").Refresh(t.Context(), 0))
		if stranger.Load() == first {
			t.Error("somebody else's client is bounded together with ours")
		}
		// One that isn't what is expected isn't worked on.
		wrong := l.connect(root)
		if observe.New(wrong).Identifying("AA:BB").Sharing(&loads, "us").Refresh(t.Context(), 0) == nil || wrong.Load() == first {
			t.Error("it shares the load of a cluster that wasn't meant")
		}
	})
}
