//go:build unix

package remote

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/remote/remotetest"
)

// startOpenSSH starts Debian's own server, as Proxmox has it, and returns its
// address and how to log in.
func startOpenSSH(t *testing.T) (string, Config) {
	t.Helper()
	const program = "/usr/sbin/sshd"
	if _, err := os.Stat(program); err != nil || os.Geteuid() != 0 {
		t.Skip("needs OpenSSH's server, and root to run it")
	}
	// Where its helper gives up its rights.
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	hostKey, host := remotetest.Key(t)
	clientKey, client := remotetest.Key(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	config := write("sshd_config", []byte(strings.Join([]string{
		"HostKey " + write("host", hostKey), "AuthorizedKeysFile " + write("authorized", ssh.MarshalAuthorizedKey(client.PublicKey())),
		"StrictModes no", "PermitRootLogin yes", "UsePAM no", "Subsystem sftp internal-sftp", "PidFile none",
	}, "\n")+"\n"))
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serveOpenSSH(program, config, conn)
		}
	}()
	return listener.Addr().String(), Config{Key: clientKey, Fingerprints: []string{ssh.FingerprintSHA256(host.PublicKey())}}
}

// serveOpenSSH has the server serve one connection, as inetd would.
func serveOpenSSH(program, config string, conn net.Conn) {
	defer conn.Close()
	file, err := conn.(*net.TCPConn).File()
	if err != nil {
		return
	}
	defer file.Close()
	cmd := exec.Command(program, "-i", "-e", "-f", config)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = file, file, io.Discard
	_ = cmd.Run()
}

func TestOpenSSHTakesFilesAndCommands(t *testing.T) {
	address, config := startOpenSSH(t)
	c, err := Dial(t.Context(), address, config)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
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
	key, _ := remotetest.Key(t)
	config.Key = key
	if _, err := Dial(t.Context(), address, config); !errors.Is(err, ErrAuth) {
		t.Errorf("a stranger: %v", err)
	}
}

func TestOpenSSHOnAFullDisk(t *testing.T) {
	disk := smallDisk(t)
	address, config := startOpenSSH(t)
	c, err := Dial(t.Context(), address, config)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// OpenSSH says no more than "failure".
	if err := c.WriteFile(t.Context(), filepath.Join(disk, "a"), make([]byte, 4<<20), 0o644); !errors.Is(err, ErrNoSpace) {
		t.Errorf("got %v", err)
	}
	onlyFiles(t, disk)
}
