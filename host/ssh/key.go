package ssh

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// auth is how to log in. What is returned beside it is called after the login.
func (c *Config) auth() (methods []ssh.AuthMethod, done func(), err error) {
	done = func() {}
	var signers []ssh.Signer
	if len(c.Key) > 0 {
		s, err := signer(c.Key, c.Passphrase)
		if err != nil {
			return nil, done, err
		}
		signers = append(signers, s)
	}
	list := func() ([]ssh.Signer, error) { return signers, nil }
	if c.Agent != "" {
		conn, err := net.Dial("unix", c.Agent)
		switch {
		case err == nil:
			done = func() { conn.Close() }
			keys := agent.NewClient(conn)
			list = func() ([]ssh.Signer, error) {
				more, err := keys.Signers()
				return append(signers, more...), err
			}
		case len(signers) == 0:
			return nil, done, fmt.Errorf("%w: ask the SSH agent: %w", ErrKey, err)
		}
	} else if len(signers) == 0 {
		return nil, done, fmt.Errorf("%w: none is given", ErrKey)
	}
	return []ssh.AuthMethod{ssh.PublicKeysCallback(list)}, done, nil
}

func signer(key, passphrase []byte) (ssh.Signer, error) {
	s, err := ssh.ParsePrivateKey(key)
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) {
		if len(passphrase) == 0 {
			return nil, fmt.Errorf("%w: it has a passphrase, and none is given", ErrKey)
		}
		s, err = ssh.ParsePrivateKeyWithPassphrase(key, passphrase)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return s, nil
}
