package guest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/host/ssh/sshtest"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/child"
)

// startSimulator is a lab whose simulator is a process of its own, started as
// people start it. A node that leads to its guests, for who has one of the keys, is
// returned, too.
func startSimulator(t *testing.T, world *pvesim.World, keys ...ssh.Signer) (l *lab, jump string) {
	t.Helper()
	dir, err := os.MkdirTemp(labs, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l = &lab{t: t, dir: dir}
	text, err := json.Marshal(world)
	if err != nil {
		t.Fatal(err)
	}
	l.write(filepath.Join(dir, "world.yaml"), string(text))
	var lines []byte
	for _, k := range keys {
		lines = append(lines, ssh.MarshalAuthorizedKey(k.PublicKey())...)
	}
	l.write(filepath.Join(dir, "keys"), string(lines))
	program, err := os.Executable() // see TestMain
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "sim", "--qemu", "--world", filepath.Join(dir, "world.yaml"), "--listen", "127.0.0.1:0",
		"--ssh", "127.0.0.1:0", "--ssh-keys", filepath.Join(dir, "keys"))
	cmd.Env = append(os.Environ(), asCommand+"=1", "TMPDIR="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the simulator: %v", err)
		}
	})
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if endpoint, ok := strings.CutPrefix(lines.Text(), "ready: "); ok {
			l.endpoint = endpoint
			break
		}
	}
	find := func(pattern string) string {
		m := regexp.MustCompile(`(?m)^  ` + pattern).FindStringSubmatch(said.String())
		if m == nil {
			t.Fatalf("the simulator says no %s:\n%s", pattern, said.String())
		}
		return m[1]
	}
	l.print = find(`fingerprint +(\S+)$`)
	return l, find(`ssh +pve1 +(\S+)$`)
}

// newKey makes a key to log in with: the file, and the line for guests.
func (l *lab) newKey() (file, line string) {
	l.t.Helper()
	private, signer := sshtest.Key(l.t)
	file = filepath.Join(l.dir, "key")
	l.write(file, string(private))
	return file, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
}

func TestPeopleLogInToGuests(t *testing.T) {
	t.Parallel()
	private, own := sshtest.Key(t)
	other, stranger := sshtest.Key(t) // known to the node, but not to the guest
	l, jump := startSimulator(t, tinyWorld(t), own, stranger)
	key, line := filepath.Join(l.dir, "key"), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(own.PublicKey())))
	l.write(key, string(private))
	l.apply(fmt.Sprintf(`apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: home}
spec:
  classRef: {name: small}
  imageRef: {name: tiny}
  networks: [{name: lan, bridge: vmbr0}]
  userData:
    cloudInit:
      inline: |
        #cloud-config
        users:
        - default
        - {name: ada, ssh_authorized_keys: [%q]}
`, line))
	login := func(more ...string) *terminal {
		return l.terminal(append(l.as("ssh", "home", "-i", key, "-l", "ada", "--jump", jump, "--timeout", patience.String()), more...)...)
	}

	// A shell, in the terminal that the person has.
	tm := login()
	tm.shows("Trust it, and remember it? [y/N] ") // the host on the way
	tm.types("y\r")
	tm.shows("No key of vm-")
	tm.types("y\r")
	tm.shows("tiny# ")
	tm.types("stty size; echo $TERM of $USER on $(hostname)\r")
	tm.shows("\r\n30 100\r\n")
	tm.shows("of ada on home\r\n")
	if err := pty.Setsize(tm.tty, &pty.Winsize{Rows: 41, Cols: 77}); err != nil {
		t.Fatal(err)
	}
	tm.types("until stty size | grep -q '41 77'; do :; done; echo $((6*7)) columns\r")
	tm.shows("\r\n42 columns\r\n")
	// Keys that end things here end them there.
	tm.types(sleeps)
	tm.shows("\r\nsleeps\r\n")
	tm.types("\x03")
	tm.types("echo status $?\r")
	tm.shows("\r\nstatus 130\r\n")
	tm.types("exit 3\r")
	if code := tm.ends(); code != 3 {
		t.Errorf("exit status %d\n%s", code, tm.text())
	}

	// A command. Its terminal is asked for, or it has none.
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"--", "tty || echo none; exit 5"}, "not a tty\r\nnone\r\n", 5},
		{[]string{"-t", "--", "tty; exit 6"}, "/dev/pts/", 6},
		{[]string{"--", "kill -9 $$"}, "it was ended by signal KILL", 1},
	} {
		tm := login(c.args...)
		if code := tm.ends(); code != c.code || !strings.Contains(tm.text(), c.want) {
			t.Errorf("%q: exit status %d, want %d with %q\n%s", c.args, code, c.code, c.want, tm.text())
		}
	}
	// Without a terminal there, an interrupt is for proxplane.
	tm = login("--", "echo sleeps; sleep 1000")
	tm.shows("sleeps\r\n")
	tm.types("\x03")
	if code := tm.ends(); code != 130 {
		t.Errorf("interrupted: exit status %d\n%s", code, tm.text())
	}

	// Another key, or another user.
	l.write(key, string(other))
	tm = login("--", "true")
	if code := tm.ends(); code != 1 || !strings.Contains(tm.text(), "the login was refused") {
		t.Errorf("another key: exit status %d\n%s", code, tm.text())
	}
}
