//go:build unix

package cli

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/host/ssh/sshtest"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/screen"
)

// reach is a lab with a machine that can be logged in to, through another one:
// what the simulator calls machines is nowhere.
type reach struct {
	*lab
	jump, guest *sshtest.Server
	key         string // that both take
}

func newReach(t *testing.T) *reach {
	t.Helper()
	l := ownLab(t)
	r := &reach{lab: l, jump: sshtest.Start(t), guest: sshtest.Start(t)}
	l.env["HOME"] = t.TempDir()
	key := r.jump.Authorize()
	r.guest.AuthorizeKey(key)
	r.key = l.write("key", string(key))
	l.must("apply", "-f", l.write("shop.yaml", shop))
	r.route("web-1")
	return r
}

// route has the address of a machine lead to the guest.
func (r *reach) route(name string) {
	r.Helper()
	out := r.must("wait", "vm/"+name, "--for", "address")
	var address string
	for word := range strings.FieldsSeq(out) {
		if a, err := netip.ParseAddr(strings.Trim(word, ",")); err == nil {
			address = a.String()
			break
		}
	}
	r.jump.Route(address+":22", r.guest.Address)
}

// ssh logs in to a machine.
func (r *reach) ssh(args ...string) (int, string, string) {
	r.Helper()
	return r.run(append([]string{"ssh", "-i", r.key, "--jump", r.jump.Address}, args...)...)
}

func TestCommandsRunInMachines(t *testing.T) {
	r := newReach(t)
	code, _, stderr := r.ssh("web-1", "--", "true")
	if code != ui.ExitFailed {
		t.Errorf("an unknown host: exit %d", code)
	}
	wantText(t, stderr, `the host key isn't known: it is `+regexp.QuoteMeta(r.jump.Fingerprint()), `then add --trust-new`)

	code, out, stderr := r.ssh("web-1", "--trust-new", "--", "echo", "$((40 + 2))")
	if code != ui.ExitOK || out != "42\n" {
		t.Fatalf("exit %d: %s%s", code, out, stderr)
	}
	if users := r.guest.Logins(); strings.Join(users, " ") != "root" {
		t.Errorf("logged in as %v", users)
	}
	file := filepath.Join(r.env["HOME"], ".config", "proxplane", "known_hosts")
	pins, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, string(pins), `^\[127\.0\.0\.1\]:\d+ ssh-ed25519 `, `^vm-[0-9a-f-]{36} ssh-ed25519 `)

	code, _, stderr = r.ssh("web-1", "-l", "core", "--", "echo oh no >&2; exit 7")
	if code != 7 || !strings.Contains(stderr, "oh no\n") || strings.Contains(stderr, "Error") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if users := r.guest.Logins(); users[len(users)-1] != "core" {
		t.Errorf("logged in as %v", users)
	}

	_, other := sshtest.Key(t)
	old := r.guest.Fingerprint()
	r.guest.SetHostKeys(other)
	code, _, stderr = r.ssh("web-1", "--trust-new", "--", "true")
	if code != ui.ExitFailed {
		t.Errorf("a changed key: exit %d", code)
	}
	wantText(t, stderr, `the host key has changed: it is `+regexp.QuoteMeta(r.guest.Fingerprint()), regexp.QuoteMeta(old), `ssh-keygen -f .*known_hosts -R vm-`)

	// Another machine with the same address is another one.
	r.route("web-2")
	if code, _, stderr := r.ssh("web-2", "--trust-new", "--", "true"); code != ui.ExitOK {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if code, _, stderr := r.ssh("web-1", "--host-key", r.guest.Fingerprint(), "--", "true"); code != ui.ExitOK {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestShellsHaveTheTerminal(t *testing.T) {
	r := newReach(t)
	s := screen.New(t, 90, 30)
	done := startOn(t.Context(), s, r.lab, "ssh", "web-1", "-i", r.key, "--jump", r.jump.Address)
	s.Wait(`Trust it, and remember it\? \[y/N\] `)
	fmt.Fprintln(s.Keys, "y")
	s.Wait(`(?s)Trust it.*Trust it, and remember it\? \[y/N\] `)
	fmt.Fprintln(s.Keys, "y")
	fmt.Fprintln(s.Keys, "PS1=; stty size; echo $TERM")
	s.Wait(`30 90\r\n`)
	s.Wait(`xterm\r\n`)
	if err := pty.Setsize(s.TTY, &pty.Winsize{Cols: 100, Rows: 40}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(s.Keys, `until [ "$(stty size)" = "40 100" ]; do sleep 0.01; done; echo larger; exit 3`)
	s.Wait(`larger\r\n`)
	if code := <-done; code != 3 {
		t.Errorf("exit %d", code)
	}
}

func TestAddressesAreFound(t *testing.T) {
	r := newReach(t)
	r.must("power", "off", "web-2")
	_, _, stderr := r.ssh("web-2", "--", "true")
	wantText(t, stderr, `is stopped`, `proxplane power on 31983`)
	_, _, stderr = r.ssh("web-9", "--", "true")
	wantText(t, stderr, `no VM is named "web-9"`)

	// Without an agent nobody tells the address, unless it is static.
	set := func(key, value string) {
		r.sim.Do(func(st *pvesim.State) {
			for _, vm := range st.VMs {
				if vm.Name() == "web-1" {
					vm.Conf[key] = value
				}
			}
		})
	}
	set("agent", "0")
	_, _, stderr = r.ssh("web-1", "--", "true")
	wantText(t, stderr, `the address of web-1 isn't known`, `--address`)
	r.jump.Route("10.9.9.9:22", r.guest.Address)
	set("ipconfig0", "ip=10.9.9.9/24,gw=10.9.9.1")
	set("ciuser", "debian")
	if code, _, stderr := r.ssh("web-1", "--trust-new", "--", "true"); code != ui.ExitOK {
		t.Errorf("a static address: exit %d: %s", code, stderr)
	}
	if users := r.guest.Logins(); users[len(users)-1] != "debian" {
		t.Errorf("logged in as %v", users)
	}
	r.jump.Route("10.8.8.8:2222", r.guest.Address)
	if code, _, stderr := r.ssh("web-1", "--address", "10.8.8.8", "--port", "2222", "--", "true"); code != ui.ExitOK {
		t.Errorf("a given address: exit %d: %s", code, stderr)
	}
	// Nobody is there.
	_, _, stderr = r.ssh("web-1", "--address", "127.0.0.1", "--port", "1", "--timeout", "1ms", "--", "true")
	wantText(t, stderr, `can't be reached|no answer|after 1ms`)
}

func TestStaticAddressesAreThoseOfManifests(t *testing.T) {
	r := newReach(t)
	file := r.write("static.yaml", strings.Replace(shop, "networks: [{name: lan}]", "networks: [{name: lan, staticIP: {address: 10.7.7.7/24, gateway: 10.7.7.1}}]", 1))
	r.jump.Route("10.7.7.7:22", r.guest.Address)
	before := len(r.guest.Logins())
	if code, _, stderr := r.ssh("web-1", "-f", file, "--trust-new", "--", "true"); code != ui.ExitOK {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if after := len(r.guest.Logins()); after != before+1 {
		t.Errorf("%d logins", after-before)
	}
}

func TestKeysAreFoundOrMissed(t *testing.T) {
	r := newReach(t)
	args := []string{"ssh", "web-1", "--jump", r.jump.Address, "--trust-new", "--", "true"}
	_, _, stderr := r.run(args...)
	wantText(t, stderr, `no private key`, `Name it with -i`)
	key, err := os.ReadFile(r.key)
	if err != nil {
		t.Fatal(err)
	}
	usual := filepath.Join(r.env["HOME"], ".ssh", "id_ed25519")
	if err := os.MkdirAll(filepath.Dir(usual), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(usual, key, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := r.run(args...); code != ui.ExitOK {
		t.Errorf("exit %d: %s", code, stderr)
	}
	stranger, _ := sshtest.Key(t)
	if err := os.WriteFile(usual, stranger, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, stderr = r.run(args...)
	wantText(t, stderr, `the login was refused`, `-i`)
	_, _, stderr = r.run("ssh", "web-1", "-i", "/nowhere")
	wantText(t, stderr, `private key: open /nowhere`)
}

func TestOpenSSHServesOurShells(t *testing.T) {
	server := sshtest.StartOpenSSH(t)
	l := ownLab(t)
	l.env["HOME"] = t.TempDir()
	l.must("apply", "-f", l.write("shop.yaml", shop))
	host, port, _ := strings.Cut(server.Address, ":")
	args := []string{"ssh", "web-1", "-i", l.write("key", string(server.Key)), "--host-key", server.Fingerprint, "--address", host, "--port", port}
	code, out, stderr := l.run(append(args, "--", "echo here; exit 5")...)
	if code != 5 || out != "here\n" {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
	s := screen.New(t, 77, 33)
	done := startOn(t.Context(), s, l, append(args, "-t", "--", "stty size; read x; exit 6")...)
	s.Wait(`33 77\r\n`)
	fmt.Fprintln(s.Keys, "on")
	if code := <-done; code != 6 {
		t.Errorf("exit %d: %s", code, s.All())
	}
}
