//go:build unix

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/test/kit/screen"
)

// In a terminal it asks: for the endpoint, whether to trust the certificate, for a
// login whose secret isn't shown, and for what to make the first machine from.
func TestInitAsksForWhatTheFlagsDontSay(t *testing.T) {
	l := startLab(t)
	home := t.TempDir()
	file := filepath.Join(home, "machines.yaml")
	endpoint := l.env["PVE_ENDPOINT"]
	env := map[string]string{"HOME": home, "TERM": "dumb"}
	s := screen.New(t, 120, 40)
	u := ui.New(s.TTY, s.TTY, s.TTY)
	u.Getenv = func(name string) string { return env[name] }
	done := make(chan int, 1)
	go func() { done <- Execute(t.Context(), u, []string{"init", "--file", file}) }()

	s.Wait("URL of Proxmox")
	fmt.Fprint(s.Keys, strings.TrimPrefix(endpoint, "https://")+"\n")
	s.Wait(`user \(USER@REALM\) \[root@pam\]`)
	fmt.Fprint(s.Keys, "\n")
	s.Wait("Password of root@pam")
	fmt.Fprint(s.Keys, "proxplane\r")
	s.Wait("Trust this certificate")
	fmt.Fprint(s.Keys, "y\n")
	s.Wait("Name of the context")
	fmt.Fprint(s.Keys, "lab\n")
	s.Wait("Template, or URL")
	fmt.Fprint(s.Keys, "\n")
	if code := <-done; code != ui.ExitOK {
		t.Fatalf("exit %d:\n%s", code, s.All())
	}
	if strings.Contains(s.All(), "proxplane\r\n") {
		t.Errorf("the password is on the screen:\n%s", s.All())
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
