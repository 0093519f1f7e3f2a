// Package script_test holds the stories of the command line: what people type, and
// what they see. One file a story, *.txtar; the commands beside proxplane's are in
// the files of this package.
//
// The command line runs as a process of its own, against a simulated Proxmox in the
// process of the tests.
package script_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/proxplane/proxplane/cli"
	"github.com/proxplane/proxplane/test/kit/golden"
	"github.com/proxplane/proxplane/test/kit/packed"
	"github.com/proxplane/proxplane/test/kit/sim"
	"github.com/proxplane/proxplane/test/kit/thorough"
)

func TestMain(m *testing.M) {
	// Stories wait more than they work.
	if err := flag.Set("test.parallel", "24"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"proxplane": proxplane})
}

// proxplane is the program, as cmd/proxplane makes it.
func proxplane() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func TestStories(t *testing.T) {
	t.Parallel()
	testscript.Run(t, params(t, "9.2"))
}

// What differs on Proxmox VE 8.4 stands in the stories behind [8.4] and [9.2]. The others are the same on both releases, and
// are told again only when all cases are wanted.
func TestStoriesOnTheOlderRelease(t *testing.T) {
	t.Parallel()
	p := params(t, "8.4")
	p.UpdateScripts = false
	if !thorough.All() {
		p.Dir, p.Files = "", storiesThatDiffer(t)
	}
	testscript.Run(t, p)
}

// storiesThatDiffer are those that ask for the release.
func storiesThatDiffer(t *testing.T) []string {
	t.Helper()
	stories, err := filepath.Glob("*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	stories = slices.DeleteFunc(stories, func(story string) bool {
		text, err := os.ReadFile(story)
		if err != nil {
			t.Fatal(err)
		}
		return !byRelease.Match(text)
	})
	if len(stories) == 0 {
		t.Fatal("no story asks for the release")
	}
	return stories
}

// byRelease matches a condition of a story.
var byRelease = regexp.MustCompile(`(?m)^\[!?(8\.4|9\.2)\]`)

// params are what stories have to work with.
func params(t *testing.T, release string) testscript.Params {
	t.Helper()
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	return testscript.Params{
		Dir: ".", UpdateScripts: *golden.Update, RequireUniqueNames: true,
		Condition: func(cond string) (bool, error) { return cond == release, nil },
		Setup: func(env *testscript.Env) error {
			env.Values[siteKey{}] = &site{release: release}
			env.Setenv("EXAMPLES", examples)
			env.Setenv("IMAGE_SHA256", sim.ImageSum())
			env.Setenv("NO_COLOR", "1")
			elsewhere := httptest.NewServer(packed.Server{})
			images := httptest.NewServer(packed.Server{Elsewhere: elsewhere.URL})
			env.Defer(elsewhere.Close)
			env.Defer(images.Close)
			env.Setenv("IMAGES", images.URL)
			env.Setenv("ELSEWHERE", strings.TrimPrefix(elsewhere.URL, "http://"))
			kubernetes := releases()
			env.Defer(kubernetes.Close)
			env.Setenv("RELEASES", kubernetes.URL)
			xz := sha256.Sum256(packed.Bootable("xz"))
			env.Setenv("XZ_SHA256", hex.EncodeToString(xz[:]))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"proxplane":         program,
			"sim-start":         simStart,
			"sim-use":           simUse,
			"sim-fault":         simFault,
			"sim-advance":       simAdvance,
			"sim-await":         simAwait,
			"sim-await-lists":   simAwaitLists,
			"sim-await-file":    simAwaitFile,
			"sim-await-vm":      simAwaitVM,
			"sim-vm":            simVM,
			"sim-list":          simList,
			"sim-seed":          simSeed,
			"sim-hide":          simHide,
			"sim-lock":          simLock,
			"sim-fill":          simFill,
			"by-hand":           byHand,
			"forget-volumes":    forgetVolumes,
			"neighbour":         neighbour,
			"in-guest":          inGuest,
			"out":               outLine,
			"err":               errLine,
			"plain":             plain,
			"edit":              edit,
			"exits":             exits,
			"helps":             helps,
			"secret-with-login": secretWithLogin,
		},
	}
}
