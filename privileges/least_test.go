package privileges_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/privileges"
)

// example is a folder of manifests as one text.
func example(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "examples", folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples in %s: %v", folder, err)
	}
	var all []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(b))
	}
	return strings.Join(all, "\n---\n")
}

func TestExactlyTheComputedPrivilegesAreEnough(t *testing.T) {
	for _, s := range stories(t) {
		for _, release := range []string{"8.4", "9.2"} {
			t.Run(s.name+"/"+release, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					needs, err := s.lived(t, release, nil)
					if err != nil {
						t.Errorf("%v\nwith:\n%s", err, strings.Join(account.Commands(needs.Grants), "\n"))
					}
				})
			})
		}
	}
}

// lived lives through a story with the computed privileges, less some.
func (s story) lived(t *testing.T, release string, less func([]privileges.Grant) []privileges.Grant) (privileges.Needs, error) {
	c := s.start(t, release)
	defer c.sim.Close()
	want := s.wanted(t)
	needs := s.needs(c, want)
	grants := needs.Grants
	if less != nil {
		grants = less(grants)
	}
	return needs, c.live(c.grant(grants), want, s.again)
}

// needs computes what has to be granted, after what happened before.
func (s story) needs(c *cluster, want model.Desired) privileges.Needs {
	c.t.Helper()
	if s.prepare != nil {
		if err := s.prepare(c, want); err != nil {
			c.t.Fatal(err)
		}
	}
	needs, err := privileges.For(want, c.facts(want))
	if err != nil {
		c.t.Fatal(err)
	}
	return needs
}

func TestNoneOfThePrivilegesCanBeLeftOut(t *testing.T) {
	lived := map[string]bool{}
	for _, s := range stories(t) {
		text, err := json.Marshal(s.wanted(t))
		if err != nil {
			t.Fatal(err)
		}
		if lived[string(text)] {
			continue // the same but for how Proxmox is reached
		}
		lived[string(text)] = true
		for _, release := range []string{"8.4", "9.2"} {
			t.Run(s.name+"/"+release, func(t *testing.T) {
				t.Parallel()
				for _, g := range s.computed(t, release).Grants {
					for _, p := range g.Names() {
						t.Run(strings.ReplaceAll(g.Path, "/", "_")+" "+p, func(t *testing.T) {
							synctest.Test(t, func(t *testing.T) {
								_, err := s.lived(t, release, func(all []privileges.Grant) []privileges.Grant { return without(all, g.Path, p) })
								if err == nil {
									t.Errorf("all goes well without %s on %s", p, g.Path)
								}
								t.Log(err)
							})
						})
					}
				}
			})
		}
	}
}

// computed is what is granted in the first place.
func (s story) computed(t *testing.T, release string) (needs privileges.Needs) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := s.start(t, release)
		defer c.sim.Close()
		needs = s.needs(c, s.wanted(t))
	})
	return needs
}
