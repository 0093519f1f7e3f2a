//go:build unix

package ssh

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/host/ssh/sshtest"
)

func dialOpenSSH(t *testing.T) (*sshtest.OpenSSH, *Conn) {
	t.Helper()
	s := sshtest.StartOpenSSH(t)
	c, err := Dial(t.Context(), s.Address, Config{Key: s.Key, Fingerprints: []string{s.Fingerprint}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return s, c
}

func TestOpenSSHTakesFilesAndCommands(t *testing.T) {
	s, c := dialOpenSSH(t)
	folder := filepath.Join(t.TempDir(), "a", "b")
	if err := c.MkdirAll(t.Context(), folder, 0o750); err != nil {
		t.Fatal(err)
	}
	name, data := filepath.Join(folder, "binary"), bytes.Repeat([]byte{1, 2, 3}, 2<<20)
	for range 2 { // the second time over the first file
		if err := c.WriteFile(t.Context(), name, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	onlyFiles(t, folder, "binary")
	out, err := c.Run(t.Context(), "wc -c <"+name, nil)
	if err != nil || strings.TrimSpace(out) != "6291456" {
		t.Errorf("got %q, %v", out, err)
	}
	key, _ := sshtest.Key(t)
	if _, err := Dial(t.Context(), s.Address, Config{Key: key, Fingerprints: []string{s.Fingerprint}}); !errors.Is(err, ErrAuth) {
		t.Errorf("a stranger: %v", err)
	}
}

func TestOpenSSHOnAFullDisk(t *testing.T) {
	disk := smallDisk(t)
	_, c := dialOpenSSH(t)
	// OpenSSH says no more than "failure".
	if err := c.WriteFile(t.Context(), filepath.Join(disk, "a"), make([]byte, 4<<20), 0o644); !errors.Is(err, ErrNoSpace) {
		t.Errorf("got %v", err)
	}
	onlyFiles(t, disk)
}

func TestOpenSSHGivesTerminalsAndLeadsOn(t *testing.T) {
	s, c := dialOpenSSH(t)
	var out bytes.Buffer
	status, err := c.Session(t.Context(), Session{Command: `echo "$TERM $(stty size)"; exit 4`, Out: &out, Err: &out, Terminal: &Terminal{Type: "vt220", Columns: 111, Rows: 22}})
	if err != nil || status != 4 || strings.TrimSpace(out.String()) != "vt220 22 111" {
		t.Errorf("%q, %d, %v", out.String(), status, err)
	}
	inner := sshtest.Start(t)
	config := known(inner)
	config.Jump = &Jump{s.Address, Config{Key: s.Key, Fingerprints: []string{s.Fingerprint}}}
	if got, err := dial(t, inner, config).Run(t.Context(), "echo through", nil); err != nil || got != "through\n" {
		t.Errorf("%q, %v", got, err)
	}
}
