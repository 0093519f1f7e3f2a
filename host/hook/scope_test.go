//go:build linux

package hook

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/test/kit/need"
)

// cgroups is where systemd keeps scopes, if this machine lets us make one.
func cgroups(t *testing.T) string {
	t.Helper()
	need.Root(t)
	for _, dir := range []string{"/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err != nil {
			continue
		}
		probe := filepath.Join(dir, "proxplane-probe")
		if os.Mkdir(probe, 0o755) == nil && os.Remove(probe) == nil {
			return dir
		}
	}
	need.None(t, errors.New("no control group can be made here"))
	return ""
}

func TestDaemonsHaveAScopeOfTheirOwn(t *testing.T) {
	l := newLab(t)
	groups := cgroups(t)
	l.allow("  shares: [{path: ROOT/srv/a}]")
	l.vm(100, block("virtiofs: --path "+l.dir("srv/a")+" --socket "+fs0), "args: "+socketArgs(fs0))
	scope := filepath.Join(groups, scopeOf(fs0))
	// What systemd does when it is asked.
	bus := l.write("busctl", 0o755, `#!/bin/sh
echo "$*" >>`+l.root+`/asked
while [ "$1" != PIDs ]; do shift; done
mkdir -p `+scope+` && echo "$4" >`+scope+`/cgroup.procs
`)
	start := func(bus string) {
		h := l.host()
		h.Bus = bus
		if err := h.Run(t.Context(), 100, PreStart); err != nil {
			t.Fatal(err)
		}
	}
	start(bus)
	if pid := l.pid(100, fs0); !inScope(pid, scopeOf(fs0)) {
		t.Errorf("%d isn't in %s", pid, scope)
	}
	if strings.Contains(l.out.String(), "warning") {
		t.Errorf("said %s", l.out.String())
	}
	asked, err := os.ReadFile(l.path("asked"))
	if err != nil || !strings.Contains(string(asked), "StartTransientUnit ssa(sv)a(sa(sv)) proxplane-vm100-fs0.scope fail 9 PIDs au 1 ") || !strings.HasSuffix(string(asked), " pve-guests.service 0\n") {
		t.Errorf("asked %s, %v", asked, err)
	}
	l.must(100, PostStop)
	l.clean()
	l.until("the scope to be empty", func() bool { return os.Remove(scope) == nil })

	// Without systemd's help the VM starts all the same.
	for _, refusal := range []string{"#!/bin/sh\necho no such scope >&2; exit 1\n", "#!/bin/sh\nexit 0\n"} {
		l.out.Reset()
		start(l.write("busctl", 0o755, refusal))
		l.pid(100, fs0)
		if !strings.Contains(l.out.String(), "warning: the share of "+l.path("srv/a")+" ends when the service that starts VMs is restarted: proxplane-vm100-fs0.scope") {
			t.Errorf("said %s", l.out.String())
		}
		l.must(100, PostStop)
	}
	l.clean()
}
