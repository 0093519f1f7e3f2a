package guest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Three control planes with a real etcd and a real kube-vip: the machine that has the VIP is turned off, another one takes the VIP, and
// the lost one is made anew.
func TestThreeControlPlanesWithRealPartsLoseTheHolderOfTheVIP(t *testing.T) {
	r := newRealCluster(t, 3, 0)
	defer r.end()
	r.stage(firstStage, func() {
		r.timed("init", "--config", r.file(), "--timeout", (4 * *patience).String())
		r.hasReady(3)
	})
	r.stage("validate", func() { r.validates(3) })
	r.stage("lose the holder", func() {
		r.life.Lost = r.holder()
		if _, err := r.run(r.as("power", "off", r.life.Lost)...); err != nil {
			r.t.Fatal(err)
		}
		r.usesKubeconfig(r.timed("kubeconfig", "-c", "lab"), 3)
		if now := r.holder(); now == r.life.Lost {
			r.t.Errorf("%s is off and holds the VIP", now)
		}
		if c := r.checks()["etcd"]; !strings.Contains(c.Text, "2 of 3 members work") {
			r.t.Errorf("etcd: %s", c.Text)
		}
	})
	r.stage("guard the quorum", func() {
		for _, name := range []string{"lab-cp-0", "lab-cp-1", "lab-cp-2"} {
			if name == r.life.Lost {
				continue
			}
			// An emulated API server that starts again has nothing to say about a quorum, and is reason enough to refuse.
			r.eventually("no loss of the quorum by "+name, func(context.Context) error {
				out, err := r.run(r.as("cluster", "replace", name, "-c", "lab", "--yes")...)
				switch {
				case err == nil:
					r.t.Fatalf("%s was replaced:\n%s", name, out)
				case !strings.Contains(out, "quorum"):
					return errors.New(out)
				}
				return nil
			})
		}
	})
	r.stage("replace it", func() {
		r.changes("replace", r.life.Lost, "--yes")
		r.hasReady(3)
	})
	r.stage("validate again", func() { r.validates(3) })
	r.stage("destroy", r.isDestroyed)
}

// holder is the machine that has the VIP, as the API server says, once it does.
func (r *realCluster) holder() (name string) {
	r.t.Helper()
	r.eventually("a holder of the VIP", func(context.Context) error {
		c := r.checks()["vip"]
		if !c.OK {
			return errors.New(c.Text)
		}
		_, name, _ = strings.Cut(c.Text, "is held by ")
		if name == "" {
			return fmt.Errorf("nobody is named: %s", c.Text)
		}
		return nil
	})
	return name
}
