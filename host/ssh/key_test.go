//go:build unix

package ssh

import (
	"encoding/pem"
	"net"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/proxplane/proxplane/host/ssh/sshtest"
)

func TestLockedKeysNeedTheirPassphrase(t *testing.T) {
	s := sshtest.Start(t)
	config := known(s)
	private, err := ssh.ParseRawPrivateKey(config.Key)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	config.Key = pem.EncodeToMemory(block)
	refused(t, s, config, ErrKey, "passphrase")
	config.Passphrase = []byte("wrong")
	refused(t, s, config, ErrKey)
	config.Passphrase = []byte("secret")
	dial(t, s, config)
}

func TestKeysOfAnAgentAreTried(t *testing.T) {
	s := sshtest.Start(t)
	config := known(s)
	private, err := ssh.ParseRawPrivateKey(config.Key)
	if err != nil {
		t.Fatal(err)
	}
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: private}); err != nil {
		t.Fatal(err)
	}
	config.Key, config.Agent = nil, filepath.Join(t.TempDir(), "agent")
	listener, err := net.Listen("unix", config.Agent)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(ring, conn) }()
		}
	}()
	dial(t, s, config)
	config.Key, _ = sshtest.Key(t)
	dial(t, s, config)
}
