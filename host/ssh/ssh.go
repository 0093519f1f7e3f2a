// Package ssh works on other machines over SSH: it runs commands there and writes files
// atomically.
//
// Connections are made only to a machine whose host key is known: listed in known_hosts,
// pinned by its fingerprint, or trusted on first use and pinned from then on.
package ssh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// Config is the login to a machine, with its expected host key.
type Config struct {
	User       string // empty: root
	Port       int    // 0: 22
	Key        []byte // a private key, as ssh-keygen writes it
	Passphrase []byte // of the key, if it has one
	Agent      string // socket of an ssh-agent to ask for keys, beside Key

	KnownHosts     []byte   // lines of known_hosts
	KnownHostsFile string   // a file with more of them; it needn't exist
	Fingerprints   []string // SHA256:… of host keys; when given, nothing else counts
	HostAlias      string   // name under which the key is known; empty: the host
	// TrustFirst trusts a host of which no key is known, and adds its key to
	// KnownHostsFile. Ask asks a person the same.
	TrustFirst bool
	Ask        func(host, keyType, fingerprint string) bool

	Jump    *Jump // the machine through which to go
	Timeout time.Duration
	Log     *slog.Logger
}

// Jump is a machine from which another one can be reached.
type Jump struct {
	Host string
	Config
}

// connectTimeout is how long a login may take where nothing else is said.
const connectTimeout = 15 * time.Second

// Conn is a login on another machine.
type Conn struct {
	host   string
	config Config
	client *ssh.Client
	jump   *Conn
	stop   context.CancelFunc

	mu    sync.Mutex
	files *sftp.Client
}

// Dial logs in to a machine. Once connected, the end of ctx doesn't affect the connection.
func Dial(ctx context.Context, host string, config Config) (*Conn, error) {
	config.User = cmp.Or(config.User, "root")
	config.Timeout = cmp.Or(config.Timeout, connectTimeout)
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	c := &Conn{host: host, config: config}
	ctx, cancel := context.WithTimeoutCause(ctx, config.Timeout, fmt.Errorf("%w: no answer within %s", ErrUnreachable, config.Timeout))
	defer cancel()
	if err := c.connect(ctx); err != nil {
		if c.jump != nil {
			_ = c.jump.Close()
		}
		return nil, fmt.Errorf("log in to %s: %w", c.name(), err)
	}
	alive, stop := context.WithCancel(context.Background())
	c.stop = stop
	go c.keepAlive(alive)
	return c, nil
}

// name is how people call the other end.
func (c *Conn) name() string { return c.config.User + "@" + c.host }

func (c *Conn) address() string {
	if _, _, err := net.SplitHostPort(c.host); err == nil {
		return c.host
	}
	return net.JoinHostPort(c.host, strconv.Itoa(cmp.Or(c.config.Port, 22)))
}

func (c *Conn) connect(ctx context.Context) error {
	auth, done, err := c.config.auth()
	if err != nil {
		return err
	}
	defer done()
	if j := c.config.Jump; j != nil {
		if c.jump, err = Dial(ctx, j.Host, j.Config); err != nil {
			return err
		}
	}
	keys, err := c.config.hostKeys(c.address())
	if err != nil {
		return err
	}
	for _, algorithms := range keys.families() {
		err = c.handshake(ctx, auth, keys, algorithms)
		if err == nil || !errors.Is(err, errOtherFamily) {
			return err
		}
	}
	return cmp.Or(keys.mismatch, err)
}

func (c *Conn) handshake(ctx context.Context, auth []ssh.AuthMethod, keys *hostKeys, algorithms []string) error {
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	var refused error // the library may wrap it in text only
	sshConn, channels, requests, err := ssh.NewClientConn(conn, c.address(), &ssh.ClientConfig{
		User: c.config.User, Auth: auth, HostKeyAlgorithms: algorithms,
		HostKeyCallback: func(_ string, remote net.Addr, key ssh.PublicKey) error {
			refused = keys.check(remote, key)
			return refused
		},
	})
	switch {
	case err == nil:
		c.client = ssh.NewClient(sshConn, channels, requests)
		return nil
	case refused != nil:
		err = refused
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	default:
		err = handshakeError(err)
		if errors.Is(err, errNoSuchKey) {
			err = keys.absent()
		}
	}
	conn.Close()
	return err
}

func (c *Conn) dial(ctx context.Context) (net.Conn, error) {
	var conn net.Conn
	var err error
	if c.jump != nil {
		conn, err = c.jump.client.DialContext(ctx, "tcp", c.address())
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", c.address())
	}
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return conn, nil
}

// keepAlive closes a connection whose other end has gone silent.
func (c *Conn) keepAlive(ctx context.Context) {
	const every, patience = 15 * time.Second, 45 * time.Second
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		silence := time.AfterFunc(patience, func() { _ = c.client.Close() })
		_, _, err := c.client.SendRequest("keepalive@openssh.com", true, nil)
		silence.Stop()
		if err != nil {
			return
		}
	}
}

// Close logs out.
func (c *Conn) Close() error {
	c.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files != nil {
		_ = c.files.Close()
	}
	err := c.client.Close()
	if c.jump != nil {
		err = errors.Join(err, c.jump.Close())
	}
	if errors.Is(err, net.ErrClosed) {
		return nil // the other end was first
	}
	return err
}

// guard ends what is under way when ctx ends: the protocol has no other means.
// The connection is of no use afterwards.
func (c *Conn) guard(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = c.client.Close() })
}
