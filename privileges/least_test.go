package privileges_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/privileges"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/test/kit/thorough"
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
		s.suffice(t, root)
	}
}

// An account that is made for this sees no template, no storage and no guest: it is to get more than
// may be needed, and that is enough. What depends on something that it sees only then, it is told when
// it asks again.
func TestPrivilegesForAnAccountThatSeesNothingAreEnough(t *testing.T) {
	for _, s := range different(t) {
		if s.hidden == "" {
			s.suffice(t, blind)
		}
		if !s.unseen {
			s.suffice(t, again)
		}
	}
}

// sight is who computes what a story needs.
type sight string

const (
	root  sight = "root"
	blind sight = "who sees nothing"
	again sight = "who sees what was granted after the first time"
)

// suffice lives through a story with what is computed for it.
func (s story) suffice(t *testing.T, by sight) {
	for _, release := range []string{"8.4", "9.2"} {
		t.Run(s.name+"/"+string(by)+"/"+release, func(t *testing.T) {
			t.Parallel()
			needs := s.computed(t, release, by)
			synctest.Test(t, func(t *testing.T) {
				if err := s.lived(t, release, needs.Grants); err != nil {
					t.Errorf("%v\nwith:\n%s", err, strings.Join(account.Commands(needs.Grants), "\n"))
				}
			})
		})
	}
}

// different are the stories without those that are the same but for how Proxmox is reached.
func different(t *testing.T) []story {
	t.Helper()
	seen := map[string]bool{}
	return slices.DeleteFunc(stories(t), func(s story) bool {
		text, err := json.Marshal(s.wanted(t))
		if err != nil {
			t.Fatal(err)
		}
		known := seen[string(text)] && !s.moves
		seen[string(text)] = true
		return known
	})
}

// lived lives through a story with some privileges.
func (s story) lived(t *testing.T, release string, grants []privileges.Grant) error {
	_, err := s.livedSeen(t, release, grants)
	return err
}

// livedSeen does the same, and returns what was tried and refused.
func (s story) livedSeen(t *testing.T, release string, grants []privileges.Grant) (refused []string, err error) {
	c := s.start(t, release)
	defer c.sim.Close()
	want := s.wanted(t)
	s.before(c, want)
	creds, from := c.grant(account, grants), c.sim.RequestCount()
	err = s.live(c, creds, want)
	for _, r := range c.sim.Requests(from) {
		if r.Method != "GET" && r.Status == 403 {
			refused = append(refused, r.Method+" "+r.URL+": "+r.Reason)
		}
	}
	return refused, err
}

// before does what happened before.
func (s story) before(c *cluster, want model.Desired) {
	c.t.Helper()
	if s.prepare == nil {
		return
	}
	if err := s.prepare(c, want); err != nil {
		c.t.Fatal(err)
	}
}

// needs computes what has to be granted, after what happened before.
func (s story) needs(c *cluster, want model.Desired, by sight) privileges.Needs {
	c.t.Helper()
	s.before(c, want)
	if by == root {
		return s.needsFor(c, want, c.root)
	}
	needs := s.needsFor(c, want, c.connect(c.grant(nobody, nil)))
	if by == again {
		if needs = s.needsFor(c, want, c.connect(c.grant(account, needs.Grants))); len(needs.Unknown) > 0 {
			c.t.Errorf("still not seen: %q", needs.Unknown)
		}
	}
	return needs
}

func (s story) needsFor(c *cluster, want model.Desired, client *pve.Client) privileges.Needs {
	c.t.Helper()
	needs, err := privileges.For(want, s.facts(c, client))
	if err != nil {
		c.t.Fatal(err)
	}
	return needs
}

func TestNoneOfThePrivilegesCanBeLeftOut(t *testing.T) {
	for _, s := range different(t) {
		s.needsAll(t)
	}
}

// needsAll lives through a story with all privileges but one, each in turn; on the older release, which checks most of them in the
// same way, only when all cases are wanted.
func (s story) needsAll(t *testing.T) {
	releases := []string{"8.4", "9.2"}
	if !thorough.All() {
		releases = releases[1:]
	}
	for _, release := range releases {
		t.Run(s.name+"/"+release, func(t *testing.T) {
			t.Parallel()
			needs := s.computed(t, release, root)
			for _, g := range needs.Grants {
				for _, p := range g.Names() {
					t.Run(strings.ReplaceAll(g.Path, "/", "_")+" "+p, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							refused, err := s.livedSeen(t, release, without(needs.Grants, g.Path, p))
							if err == nil {
								t.Errorf("all goes well without %s on %s", p, g.Path)
							}
							if len(refused) > 0 {
								t.Errorf("without %s on %s this is tried, and Proxmox refuses it: %q", p, g.Path, refused)
							}
							t.Log(err)
						})
					})
				}
			}
		})
	}
}

// computed is what is granted in the first place.
func (s story) computed(t *testing.T, release string, by sight) (needs privileges.Needs) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := s.start(t, release)
		defer c.sim.Close()
		needs = s.needs(c, s.wanted(t), by)
	})
	return needs
}
