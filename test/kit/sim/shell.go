package sim

import (
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/host/ssh/sshtest"
	"github.com/proxplane/proxplane/pvesim/nodeos"
)

// Shell runs a script as root on a node, over SSH, and returns its output.
func (s *Server) Shell(t *testing.T, node, script string) string {
	t.Helper()
	_, key := sshtest.Key(t)
	n, err := nodeos.New(s.Host(node), nodeos.Config{Folder: filepath.Join(t.TempDir(), node), Key: key, Keys: []ssh.PublicKey{key.PublicKey()}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := sshtest.Dial(sshtest.Serve(t, n), "root", ssh.PublicKeys(key), key.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	out, status := sshtest.Run(t, c, "bash -e", script)
	if status != 0 {
		t.Fatalf("exit status %d\n%s", status, out)
	}
	return out
}
