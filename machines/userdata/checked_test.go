package userdata_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// programs stand for those of a machine. Each notes in $LOG what it is called with. "failures" in $INTERNET is how often a program fails first.
var programs = map[string]string{
	// The last part of a URL is the name of a file. Options are those of curl 7.58, which Ubuntu 18.04 has.
	"curl": `
while [ $# -gt 0 ]; do
  case "$1" in
    --output) out="$2"; shift ;;
    --connect-timeout) shift ;;
    --fail | --silent | --show-error | --location) ;;
    https://*) url="$1" ;;
    *) echo "curl: option $1: is unknown" >&2; exit 2 ;;
  esac
  shift
done
cp "$INTERNET/${url##*/}" "$out"
`,
	"apt-get":   "",
	"dnf":       "",
	"sleep":     "",
	"systemctl": `[ "$*" = "is-active --quiet $ACTIVE" ]`,
}

const first = `#!/bin/sh
echo "${0##*/} $*" >>"$LOG"
left=$(cat "$INTERNET/failures" 2>/dev/null || echo 0)
if [ "${0##*/}" != sleep ] && [ "$left" -gt 0 ]; then
  echo $((left - 1)) >"$INTERNET/failures"
  exit 22
fi
`

// setup is a shell with the functions of the script, in a folder that has the programs.
type setup struct {
	t             *testing.T
	dir, internet string
}

func newSetup(t *testing.T, internet map[string]string) *setup {
	t.Helper()
	s := &setup{t, t.TempDir(), t.TempDir()}
	for name, text := range programs {
		s.write(filepath.Join(s.dir, name), first+text)
	}
	for name, text := range internet {
		s.write(filepath.Join(s.internet, name), text)
	}
	return s
}

func (s *setup) write(file, text string) {
	s.t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil { //nolint:gosec // some are programs
		s.t.Fatal(err)
	}
}

// run runs lines after the script's functions.
func (s *setup) run(lines string, variables ...string) (said string, err error) {
	s.t.Helper()
	script, err := os.ReadFile("node-setup.sh")
	if err != nil {
		s.t.Fatal(err)
	}
	_, functions, found := strings.Cut(string(script), "\n# again ")
	functions, _, ended := strings.Cut(functions, "\nmkdir ")
	if !found || !ended {
		s.t.Fatal("the script has no such functions")
	}
	cmd := exec.CommandContext(s.t.Context(), "sh", "-euc", "# "+functions+"\n"+lines)
	cmd.Env = append(append(os.Environ(), "PATH="+s.dir+":"+os.Getenv("PATH"), "INTERNET="+s.internet, "LOG="+filepath.Join(s.dir, "log")), variables...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// calls are how often a program was called.
func (s *setup) calls(program string) int {
	s.t.Helper()
	log, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Count("\n"+string(log), "\n"+program+" ")
}

// What is downloaded is used only if it has the checksum that its release publishes, in whichever way that writes it.
func TestDownloadsThatArentWhatTheReleaseHasAreThrownAway(t *testing.T) {
	sum := func(text string) string { b := sha256.Sum256([]byte(text)); return hex.EncodeToString(b[:]) }
	for name, c := range map[string]struct {
		sums string
		good bool
	}{
		"only a checksum":           {sum("binary"), true},
		"name beside it":            {sum("binary") + "  runc.amd64\n", true},
		"name as a binary file":     {sum("other") + " *runc.arm64\n" + sum("binary") + " *runc.amd64\n", true},
		"checksum of another file":  {sum("binary") + "  runc.arm64\n", false},
		"another checksum":          {sum("other") + "  runc.amd64\n", false},
		"nothing":                   {"", false},
		"a page instead of the sum": {"<html>not found</html>\n", false},
	} {
		s := newSetup(t, map[string]string{"runc.amd64": "binary", "sums": c.sums})
		to := filepath.Join(s.dir, "runc")
		said, err := s.run("checked https://example.com/v1/runc.amd64 " + to + " https://example.com/v1/sums\necho used")
		_, kept := os.Stat(to)
		if good := err == nil && kept == nil && strings.Contains(said, "used"); good != c.good || !c.good && (kept == nil || !strings.Contains(said, "isn't what its release has")) {
			t.Errorf("%s: %v, kept: %v\n%s", name, err, kept == nil, said)
		}
	}
}

// The network may come late, and the first updates of a machine may hold the lock of packages.
func TestWhatFailsAtFirstIsTriedAgain(t *testing.T) {
	for name, c := range map[string]struct{ do, program string }{
		"a download":         {`fetch https://example.com/v1/runc "$INTERNET/got"`, "curl"},
		"packages of Debian": {"os=debian; packages conntrack", "apt-get"},
		"packages of Rocky":  {"os=rockylinux; packages conntrack-tools", "dnf"},
	} {
		for failures, done := range map[string]bool{"0": true, "3": true, "100": false} {
			s := newSetup(t, map[string]string{"runc": "binary", "failures": failures})
			said, err := s.run(c.do + "\necho done")
			if (err == nil && strings.Contains(said, "done")) != done {
				t.Errorf("%s after %s failures: %v\n%s", name, failures, err, said)
			}
			if !done && s.calls(c.program) < 10 {
				t.Errorf("%s: given up after %d times", name, s.calls(c.program))
			}
		}
	}
}

// With systemd-resolved, /etc/resolv.conf names an address that only the machine itself can ask.
func TestPodsAskTheNameServersThatTheMachineAsks(t *testing.T) {
	const config = "kind: KubeletConfiguration\n"
	for active, want := range map[string]string{
		"systemd-resolved": config + "resolvConf: /run/systemd/resolve/resolv.conf\n",
		"nothing":          config,
	} {
		s := newSetup(t, nil)
		file := filepath.Join(s.dir, "config.yaml")
		s.write(file, config)
		for range 2 { // the script can be run again
			if said, err := s.run("resolver "+file, "ACTIVE="+active); err != nil {
				t.Fatal(err, said)
			}
		}
		have, err := os.ReadFile(file)
		if err != nil || string(have) != want {
			t.Errorf("with %s: %v\n%s", active, err, have)
		}
	}
}
