package sim

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	xssh "golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/host/ssh/sshserver"
	"github.com/proxplane/proxplane/pvesim/nodeos"
)

// Shell runs a script as root on a node, over SSH, and returns what it said.
func (s *Server) Shell(t *testing.T, node, script string) string {
	t.Helper()
	dir := t.TempDir()
	key, err := sshserver.HostKey(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := nodeos.New(s.Host(node), nodeos.Config{Folder: filepath.Join(dir, node), Key: key, Keys: []xssh.PublicKey{key.PublicKey()}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Serve(ctx, l) }()
	defer func() {
		cancel()
		<-done
		_ = n.Close() // all that is asked of it is done
	}()
	out, err := run(l.Addr().String(), key, script)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// run runs a script where a key lets root in.
func run(address string, key xssh.Signer, script string) (string, error) {
	c, err := xssh.Dial("tcp", address, &xssh.ClientConfig{
		User: "root", Auth: []xssh.AuthMethod{xssh.PublicKeys(key)}, HostKeyCallback: xssh.FixedHostKey(key.PublicKey()), Timeout: time.Minute,
	})
	if err != nil {
		return "", fmt.Errorf("log in: %w", err)
	}
	defer c.Close()
	session, err := c.NewSession()
	if err != nil {
		return "", err
	}
	defer session.Close()
	session.Stdin = strings.NewReader(script)
	out, err := session.CombinedOutput("bash -e")
	return string(out), err
}
