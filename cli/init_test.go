//go:build unix

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// In a terminal it asks: for the endpoint, whether to trust the certificate, for a
// login whose secret isn't shown, and for what to make the first machine from.
func TestInitAsksForWhatTheFlagsDontSay(t *testing.T) {
	l := startLab(t)
	home := t.TempDir()
	file := filepath.Join(home, "machines.yaml")
	endpoint := l.env["PVE_ENDPOINT"]
	env := map[string]string{"HOME": home, "TERM": "dumb"}
	s := newScreen(t, 120, 40)
	u := newUI(s.tty, s.tty, s.tty)
	u.getenv = func(name string) string { return env[name] }
	done := make(chan int, 1)
	go func() { done <- Execute(t.Context(), u, []string{"init", "--file", file}) }()

	s.wait("URL of Proxmox")
	fmt.Fprint(s.keys, strings.TrimPrefix(endpoint, "https://")+"\n")
	s.wait(`user \(USER@REALM\) \[root@pam\]`)
	fmt.Fprint(s.keys, "\n")
	s.wait("Password of root@pam")
	fmt.Fprint(s.keys, "proxplane\r")
	s.wait("Trust this certificate")
	fmt.Fprint(s.keys, "y\n")
	s.wait("Name of the context")
	fmt.Fprint(s.keys, "lab\n")
	s.wait("Template, or URL")
	fmt.Fprint(s.keys, "\n")
	if code := <-done; code != exitOK {
		t.Fatalf("exit %d:\n%s", code, s.all())
	}
	if strings.Contains(s.all(), "proxplane\r\n") {
		t.Errorf("the password is on the screen:\n%s", s.all())
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), `source: "ubuntu-22-template"`) {
		t.Errorf("%v\n%s", err, text)
	}
	text, err := os.ReadFile(filepath.Join(home, ".config/proxplane/config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, string(text), `currentContext: lab`, `- `+regexp.QuoteMeta(endpoint), `username: root@pam`, `fingerprints:`)
	if strings.Contains(string(text), "passwordFile") {
		t.Errorf("it keeps a password that nobody asked it to keep:\n%s", text)
	}
}
