package nodeos

import (
	"path/filepath"
	"strings"
	"testing"

	xssh "golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/host/ssh/sshserver"
	"github.com/proxplane/proxplane/host/ssh/sshtest"
	"github.com/proxplane/proxplane/pvesim"
)

// lab is a simulator whose nodes can be logged in to.
type lab struct {
	t    *testing.T
	sim  *pvesim.Sim
	at   map[string]string // addresses
	key  []byte            // lets root in
	host xssh.PublicKey
}

func newLab(t *testing.T) *lab {
	t.Helper()
	worldKey, worldSigner := sshtest.Key(t)
	w := &pvesim.World{
		Cluster: "lab",
		Nodes:   []pvesim.WorldNode{{Name: "pve1", Bridges: []pvesim.WorldBridge{{Name: "vmbr0"}}}, {Name: "pve2"}, {Name: "pve3", State: pvesim.Offline}},
		Storages: []pvesim.WorldStorage{
			{Name: "local", Type: "dir", Path: "/var/lib/vz", Content: []string{"images", "iso", "import", "snippets", "vztmpl", "backup"}, Size: 100 << 20},
			{Name: "nfs", Type: "nfs", Options: map[string]string{"server": "10.0.0.9", "export": "/srv"}, Content: []string{"images", "snippets"}},
			{Name: "thin", Type: "lvmthin", Options: map[string]string{"vgname": "pve", "thinpool": "data"}},
		},
		Users: []pvesim.WorldUser{
			{ID: "root@pam", Password: "secret", SSHKeys: []string{string(xssh.MarshalAuthorizedKey(worldSigner.PublicKey()))}},
			{ID: "terraform@pam", Password: "tf"},
			{ID: "api@pve", Password: "secret"},
		},
		Guests: []pvesim.WorldGuest{{ID: 100, Node: "pve1", Config: map[string]string{"name": "web", "agent": "enabled=1"}}},
	}
	sim, err := pvesim.New(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sim.Close() })
	dir := t.TempDir()
	host, err := sshserver.HostKey(filepath.Join(dir, "host"))
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, sim: sim, at: map[string]string{}, key: worldKey, host: host.PublicKey()}
	for _, h := range sim.Hosts() {
		n, err := New(h, Config{Folder: filepath.Join(dir, h.Name()), Key: host})
		if err != nil {
			t.Fatal(err)
		}
		l.at[h.Name()] = sshtest.Serve(t, n)
	}
	return l
}

// dial logs in as clients do.
func (l *lab) dial(node, user string, auth xssh.AuthMethod) (*xssh.Client, error) {
	return sshtest.Dial(l.at[node], user, auth, l.host)
}

func (l *lab) login(node, user, password string) *xssh.Client {
	l.t.Helper()
	c, err := l.dial(node, user, xssh.Password(password))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { c.Close() })
	return c
}

// run runs a command, with its output and complaints in one.
func (l *lab) run(c *xssh.Client, command, input string) (output string, status int) {
	l.t.Helper()
	return sshtest.Run(l.t, c, command, input)
}

// wants runs a command that prints just that.
func (l *lab) wants(c *xssh.Client, command, want string, status int) {
	l.t.Helper()
	if got, code := l.run(c, command, ""); got != want || code != status {
		l.t.Errorf("%s: %q, exit status %d; want %q, %d", command, got, code, want, status)
	}
}

// volids are the volumes of a storage, by the API.
func (l *lab) volids(node, storage string) string {
	l.t.Helper()
	data, err := l.sim.Host(node).Call("GET", "/nodes/"+node+"/storage/"+storage+"/content", map[string]any{}, func(string) {})
	if err != nil {
		l.t.Fatal(err)
	}
	var ids []string
	for _, v := range list(data) {
		ids = append(ids, v["volid"].(string))
	}
	return strings.Join(ids, " ")
}
