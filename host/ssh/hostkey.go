package ssh

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// hostKeys judges the key of one host.
type hostKeys struct {
	config   *Config
	host     string // with port, as known_hosts has it
	known    ssh.HostKeyCallback
	mismatch error // what the pins said last
}

func (c *Config) hostKeys(address string) (*hostKeys, error) {
	k := &hostKeys{config: c, host: address}
	if c.HostAlias != "" {
		k.host = net.JoinHostPort(c.HostAlias, "22")
	}
	lines, err := c.knownLines()
	if err != nil {
		return nil, err
	}
	k.known, err = parseKnown(lines)
	return k, err
}

// knownLines are all lines that can be read. One that can't, such as a key of a
// kind that we don't know, is no reason to distrust the others.
func (c *Config) knownLines() ([]byte, error) {
	text := append(slices.Clone(c.KnownHosts), '\n')
	if c.KnownHostsFile != "" {
		more, err := os.ReadFile(c.KnownHostsFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("known hosts: %w", err)
		}
		text = append(text, more...)
	}
	var good bytes.Buffer
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if _, _, _, _, _, err := ssh.ParseKnownHosts(line); err != nil {
			c.Log.Debug("a line of known_hosts is left out", "line", string(line), "error", err)
			continue
		}
		good.Write(append(line, '\n'))
	}
	return good.Bytes(), nil
}

// parseKnown makes the library's judge, which takes files only.
func parseKnown(lines []byte) (ssh.HostKeyCallback, error) {
	f, err := os.CreateTemp("", "proxplane-known-hosts-")
	if err != nil {
		return nil, fmt.Errorf("known hosts: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(lines)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("known hosts: %w", err)
	}
	judge, err := knownhosts.New(f.Name())
	if err != nil {
		return nil, fmt.Errorf("known hosts: %w", err)
	}
	return judge, nil
}

func (k *hostKeys) pinned() bool { return len(k.config.Fingerprints) > 0 }

// keyFamilies are the algorithms of each kind of host key.
var keyFamilies = [][]string{
	{ssh.KeyAlgoED25519},
	{ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521},
	{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256},
}

// families are the algorithms to ask the host for, in turn. A host has several
// keys and shows one: it must be one of those that are known. A fingerprint
// doesn't tell its kind, so all are tried.
func (k *hostKeys) families() [][]string {
	if k.pinned() {
		return keyFamilies
	}
	known := k.knownKeys()
	if len(known) == 0 {
		return [][]string{slices.Concat(keyFamilies...)}
	}
	var list []string
	for _, family := range keyFamilies {
		for _, algorithm := range family {
			kind := strings.Replace(strings.Replace(algorithm, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSA, 1), ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSA, 1)
			if slices.ContainsFunc(known, func(key ssh.PublicKey) bool { return key.Type() == kind }) {
				list = append(list, algorithm)
			}
		}
	}
	return [][]string{list}
}

// knownKeys are the keys that known_hosts has of the host.
func (k *hostKeys) knownKeys() []ssh.PublicKey {
	var keys []ssh.PublicKey
	var differs *knownhosts.KeyError
	if err := k.known(k.host, noAddress{}, noKey{}); errors.As(err, &differs) {
		for _, want := range differs.Want {
			keys = append(keys, want.Key)
		}
	}
	return keys
}

// check judges the key that the host shows.
func (k *hostKeys) check(remote net.Addr, key ssh.PublicKey) error {
	is := ssh.FingerprintSHA256(key)
	if k.pinned() {
		if slices.Contains(k.config.Fingerprints, is) {
			return nil
		}
		k.mismatch = fmt.Errorf("%w: it is %s (%s), and not %s", ErrHostKeyChanged, is, key.Type(), strings.Join(k.config.Fingerprints, " or "))
		return errors.Join(errOtherFamily, k.mismatch)
	}
	if k.config.HostAlias != "" {
		remote = noAddress{} // addresses pass from one machine to another
	}
	err := k.known(k.host, remote, key)
	var differs *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &revoked):
		return fmt.Errorf("%w: %s is marked as revoked", ErrHostKeyChanged, is)
	case errors.As(err, &differs) && len(differs.Want) > 0:
		var was []string
		for _, w := range differs.Want {
			was = append(was, ssh.FingerprintSHA256(w.Key)+" ("+w.Key.Type()+")")
		}
		return fmt.Errorf("%w: it is %s (%s), and was %s. Either the machine was made anew, or somebody is in between", ErrHostKeyChanged, is, key.Type(), strings.Join(was, ", "))
	case errors.As(err, &differs):
		return k.meet(key)
	}
	return err
}

// absent is what it means that the host has no key of the kinds asked for.
func (k *hostKeys) absent() error {
	if k.pinned() {
		return errOtherFamily
	}
	return fmt.Errorf("%w: it has none of the kind that is known any more", ErrHostKeyChanged)
}

// meet decides about a host of which no key is known.
func (k *hostKeys) meet(key ssh.PublicKey) error {
	is := ssh.FingerprintSHA256(key)
	name := knownhosts.Normalize(k.host)
	if !k.config.TrustFirst && (k.config.Ask == nil || !k.config.Ask(name, key.Type(), is)) {
		return fmt.Errorf("%w: it is %s (%s)", ErrHostKeyUnknown, is, key.Type())
	}
	if k.config.KnownHostsFile == "" {
		return fmt.Errorf("%w: it is %s (%s), and there is no file to keep it in", ErrHostKeyUnknown, is, key.Type())
	}
	if err := pin(k.config.KnownHostsFile, knownhosts.Line([]string{name}, key)); err != nil {
		return fmt.Errorf("keep the host key of %s: %w", name, err)
	}
	k.config.Log.Info("trusted a host key on first use", "host", name, "fingerprint", is, "kept", k.config.KnownHostsFile)
	return nil
}

// pinning keeps logins of this process from writing at once.
var pinning sync.Mutex

// pin adds a line to a file of known hosts.
func pin(file, line string) error {
	pinning.Lock()
	defer pinning.Unlock()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if end, err := f.Seek(0, 2); err != nil {
		return err
	} else if end > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, end-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = "\n" + line
		}
	}
	// One write: others may add lines, too.
	if _, err := f.WriteString(line + "\n"); err != nil {
		return err
	}
	return cmp.Or(f.Sync(), f.Close())
}

// noKey and noAddress are nobody's.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return nil }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("no key") }

type noAddress struct{}

func (noAddress) Network() string { return "none" }
func (noAddress) String() string  { return "0.0.0.0:0" }
