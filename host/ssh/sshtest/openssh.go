//go:build unix

package sshtest

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/test/kit/need"
)

// OpenSSH is the server that Debian and Proxmox have, on this machine.
type OpenSSH struct {
	Address     string // host:port
	Key         []byte // of a user that it lets in
	Fingerprint string // of its host key
}

// StartOpenSSH starts one that ends with the test, which is skipped where there
// is none.
func StartOpenSSH(t testing.TB) *OpenSSH {
	t.Helper()
	const program = "/usr/sbin/sshd"
	need.Root(t)
	_, err := os.Stat(program)
	need.None(t, err)
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
	hostKey, host := Key(t)
	key, user := Key(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	config := write("sshd_config", []byte(strings.Join([]string{
		"HostKey " + write("host", hostKey), "AuthorizedKeysFile " + write("authorized", ssh.MarshalAuthorizedKey(user.PublicKey())),
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
	return &OpenSSH{listener.Addr().String(), key, ssh.FingerprintSHA256(host.PublicKey())}
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
