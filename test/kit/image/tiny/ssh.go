//go:build linux

package main

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"

	"golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/host/ssh/sshserver"
)

// user is an entry of "users".
type user struct {
	Name string   `json:"name"`
	Keys []string `json:"ssh_authorized_keys"`
}

// UnmarshalJSON passes over those that are a name only, as "default".
func (u *user) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte{'"'}) {
		return nil
	}
	type plain user
	return json.Unmarshal(text, (*plain)(u))
}

// keys are those that users may log in with.
type keys map[string][]ssh.PublicKey

// authorizedKeys are those of a cloud-config. Those of nobody in particular are
// the default user's, who is root here unless the config says otherwise.
func (c *cloudConfig) authorizedKeys() (keys, error) {
	all := keys{}
	var errs []error
	for _, u := range append([]user{{Name: cmp.Or(c.User, "root"), Keys: c.Keys}}, c.Users...) {
		for _, line := range u.Keys {
			key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", u.Name, err))
				continue
			}
			all[u.Name] = append(all[u.Name], key)
		}
	}
	return all, errors.Join(errs...)
}

// serveSSH lets people log in, for ever. Whoever they are, they may do
// anything: there is nobody here but root.
func serveSSH(who keys) error {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		return err
	}
	config := &ssh.ServerConfig{PublicKeyCallback: func(meta ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		same := func(k ssh.PublicKey) bool { return string(k.Marshal()) == string(key.Marshal()) }
		if slices.ContainsFunc(who[meta.User()], same) {
			return nil, nil
		}
		return nil, errors.New("no such key")
	}}
	config.AddHostKey(signer)
	listener, err := net.Listen("tcp", ":22")
	if err != nil {
		return err
	}
	logf("SSH with %s", ssh.FingerprintSHA256(signer.PublicKey()))
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go attend(conn, config)
	}
}

func attend(conn net.Conn, config *ssh.ServerConfig) {
	defer conn.Close()
	client, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		logf("SSH: %v", err)
		return
	}
	go ssh.DiscardRequests(requests)
	sessions := sshserver.Sessions{Command: func(text string) *exec.Cmd {
		cmd := exec.Command("/bin/sh", "-c", text)
		if text == "" {
			cmd = exec.Command("/bin/sh", "-i")
		}
		cmd.Env = []string{"PATH=/bin", "PS1=tiny# ", "HOME=/", "USER=" + client.User()}
		return cmd
	}}
	for c := range channels {
		if c.ChannelType() != "session" {
			_ = c.Reject(ssh.UnknownChannelType, "there are only sessions")
			continue
		}
		go sessions.Serve(c)
	}
}
