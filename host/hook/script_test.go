//go:build linux

package hook

import (
	"fmt"
	"strings"
	"testing"
)

func TestHookscriptsRunInOrderInEachPhase(t *testing.T) {
	l := newLab(t)
	l.allow("  scripts: ['local:snippets/a', 'local:snippets/b', 'local:snippets/c']")
	l.script("a", "")
	l.script("b", "echo said")
	l.script("c", "")
	l.vm(100, block("hook-script: local:snippets/c", "hook-script: local:snippets/a", "hook-script: local:snippets/b"))
	for _, phase := range Phases {
		l.must(100, phase)
		if got, want := l.calls(), fmt.Sprintf("c 100 %[1]s, a 100 %[1]s, b 100 %[1]s", phase); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if !strings.Contains(l.out.String(), "said\n") {
			t.Errorf("what the script said is lost: %s", l.out.String())
		}
	}
}

func TestAFailingHookscriptStopsOnlyTheStart(t *testing.T) {
	l := newLab(t)
	dir := l.dir("srv/a")
	l.allow("  scripts: ['local:snippets/a', 'local:snippets/b', 'local:snippets/c']\n  shares: [{path: ROOT/srv/a}]")
	l.script("a", "")
	l.script("b", "exit 7")
	l.script("c", "")
	l.vm(100, block("virtiofs: --path "+dir+" --socket "+fs0, "hook-script: local:snippets/a", "hook-script: local:snippets/b", "hook-script: local:snippets/c"), "args: "+socketArgs(fs0))
	l.refused(100, "hookscript local:snippets/b", "exit status 7")
	if got := l.calls(); got != "a 100 pre-start, b 100 pre-start" {
		t.Errorf("called %q", got)
	}
	for _, phase := range Phases[1:] {
		err := l.run(100, phase)
		if err == nil || !strings.Contains(err.Error(), "exit status 7") {
			t.Errorf("%s: %v", phase, err)
		}
		if got, want := l.calls(), fmt.Sprintf("a 100 %[1]s, b 100 %[1]s, c 100 %[1]s", phase); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestHooksDoNotCallThemselves(t *testing.T) {
	l := newLab(t)
	l.allow("  scripts: ['local:snippets/proxplane-hook', 'local:snippets/copy']")
	l.script("copy", "")
	l.vm(100, block("hook-script: local:snippets/proxplane-hook"), "hookscript: local:snippets/proxplane-hook")
	l.refused(100, "can't call itself")
	l.vm(100, block("hook-script: local:snippets/copy"), "hookscript: local:snippets/proxplane-hook")
	l.env[inside] = "100"
	l.refused(100, "has called itself")
}
