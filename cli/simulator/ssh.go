package simulator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/spf13/pflag"
	"golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/host/ssh/sshserver"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/pvesim/nodeos"
)

// sshFlags ask for nodes that can be logged in to.
type sshFlags struct {
	address string
	keys    string
}

func (f *sshFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.address, "ssh", "", "`ADDRESS` of the first node's SSH server; the others have the ports after it, port 0 takes free ones")
	fs.StringVar(&f.keys, "ssh-keys", "", "with --ssh, `FILE` like authorized_keys with the keys that log in as root")
}

// check says what is wrong with the flags, before anything is started.
func (f *sshFlags) check() error {
	if f.keys != "" && f.address == "" {
		return errors.New("--ssh-keys needs --ssh")
	}
	return nil
}

// sshNodes are the SSH servers of all nodes.
type sshNodes struct {
	stop    context.CancelFunc
	serving sync.WaitGroup
	nodes   []*nodeos.Node
	temp    string // to be removed at the end
}

// start starts the servers, if they are asked for, and says where they are.
func (f *sshFlags) start(ctx context.Context, sim *pvesim.Sim, data string, guests nodeos.Dialer, out io.Writer) (s *sshNodes, err error) {
	ctx, stop := context.WithCancel(ctx)
	s = &sshNodes{stop: stop}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if f.address == "" {
		return s, nil
	}
	keys, err := f.authorized()
	if err != nil {
		return s, fmt.Errorf("--ssh-keys: %w", err)
	}
	dir := filepath.Join(data, "ssh")
	if data == "" {
		if dir, err = os.MkdirTemp("", "sim-ssh-"); err != nil {
			return s, err
		}
		s.temp = dir
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return s, fmt.Errorf("--data: %w", err)
	}
	key, err := sshserver.HostKey(filepath.Join(dir, "host_key"))
	if err != nil {
		return s, fmt.Errorf("SSH host key: %w", err)
	}
	for i, host := range sim.Hosts() {
		l, err := f.listen(i)
		if err != nil {
			return s, fmt.Errorf("--ssh: node %s: %w", host.Name(), err)
		}
		n, err := nodeos.New(host, nodeos.Config{Folder: filepath.Join(dir, host.Name()), Key: key, Keys: keys, Guests: guests})
		if err != nil {
			_ = l.Close()
			return s, err
		}
		s.nodes = append(s.nodes, n)
		s.serving.Go(func() { _ = n.Serve(ctx, l) }) // ends with the context
		fmt.Fprintf(out, "  ssh          %s  %s\n", host.Name(), l.Addr())
	}
	fmt.Fprintf(out, "  ssh key      %s\n", ssh.FingerprintSHA256(key.PublicKey()))
	return s, nil
}

// listen takes the address of a node: that of the first one, or a port after it.
func (f *sshFlags) listen(node int) (net.Listener, error) {
	host, text, err := net.SplitHostPort(f.address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%q is no port", text)
	}
	if port != 0 {
		port += uint64(node)
	}
	return net.Listen("tcp", net.JoinHostPort(host, strconv.FormatUint(port, 10)))
}

// authorized are the keys in the file.
func (f *sshFlags) authorized() (keys []ssh.PublicKey, err error) {
	if f.keys == "" {
		return nil, nil
	}
	rest, err := os.ReadFile(f.keys)
	if err != nil {
		return nil, err
	}
	for key, more := nextKey(rest); key != nil; key, more = nextKey(more) {
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s: no public key in it", f.keys)
	}
	return keys, nil
}

// nextKey is the first key in the text, and what follows it. It is nil when only comments are left.
func nextKey(text []byte) (ssh.PublicKey, []byte) {
	key, _, _, rest, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil, nil
	}
	return key, rest
}

// close ends the servers, and removes what isn't to be kept.
func (s *sshNodes) close() {
	s.stop()
	s.serving.Wait()
	for _, n := range s.nodes {
		_ = n.Close()
	}
	if s.temp != "" {
		_ = os.RemoveAll(s.temp)
	}
}
