// Package guestos is the system inside a simulated guest: its files, what cloud-init makes of a
// seed when it boots, the programs that its agent can run, and a small shell. It knows nothing of
// Proxmox.
package guestos

import (
	"fmt"
	"maps"
	"path"
	"strings"
	"time"
)

// Guest is the inside of a guest that has booted: what its agent can tell
// and change. It is forgotten when the guest is off.
type Guest struct {
	Name   string            `json:"name"` // host name
	Files  map[string][]byte `json:"files,omitempty"`
	Dirs   map[string]bool   `json:"dirs,omitempty"` // beside baseDirs
	Execs  map[int]*Exec     `json:"execs,omitempty"`
	PID    int               `json:"pid"` // of the last program that was started
	Frozen bool              `json:"frozen,omitempty"`
	// Net is what its seed says of its network cards, by MAC: addresses or
	// "dhcp". Nil: nothing at all.
	Net map[string][]string `json:"net,omitempty"`
	// Birth tells machines of the same name apart.
	Birth string    `json:"birth,omitempty"`
	Kube  KubeState `json:"kube,omitzero"` // see [Kube]
}

// Exec is a program that was started through the agent.
type Exec struct {
	Ends time.Time `json:"ends"`
	Code int       `json:"code"`
	Out  []byte    `json:"out,omitempty"`
	Err  []byte    `json:"err,omitempty"`
}

// New returns the system inside of a machine that boots now.
func New(name, machineID string) *Guest {
	host, _, _ := strings.Cut(name, ".")
	g := &Guest{Name: host, PID: 150}
	g.MakeMaps()
	var release strings.Builder
	for _, line := range osRelease {
		fmt.Fprintf(&release, "%s=%q\n", line[0], line[1])
	}
	g.Files["/etc/os-release"] = []byte(release.String())
	g.Files["/etc/hostname"] = []byte(host + "\n")
	g.Files["/etc/machine-id"] = []byte(machineID + "\n")
	return g
}

// baseDirs are in every guest.
var baseDirs = dirs("/ /bin /dev /etc /home /mnt /opt /proc /root /run /srv /sys /tmp /usr /usr/local /usr/local/bin /var /var/lib /var/log /var/tmp")

func dirs(text string) map[string]bool {
	set := map[string]bool{}
	for _, dir := range strings.Fields(text) {
		set[dir] = true
	}
	return set
}

func (g *Guest) isDir(dir string) bool { return baseDirs[dir] || g.Dirs[dir] }

// osRelease is the system that all simulated guests run.
var osRelease = [][2]string{
	{"NAME", "Test Linux"}, {"ID", "testlinux"}, {"VERSION", "1"}, {"VERSION_ID", "1"}, {"PRETTY_NAME", "Test Linux 1"},
}

// The kernel that all simulated guests run.
const (
	Kernel       = "6.12.107+deb13-cloud-amd64"
	KernelBuild  = "#1 SMP PREEMPT_DYNAMIC Debian 6.12.107-1 (2026-08-29)"
	Architecture = "x86_64"
)

func (g *Guest) Clone() *Guest {
	if g == nil {
		return nil
	}
	out := *g
	out.Files = maps.Clone(g.Files)
	out.Dirs = maps.Clone(g.Dirs)
	out.Execs = maps.Clone(g.Execs)
	out.MakeMaps()
	return &out
}

// MakeMaps makes those that were empty when the guest was written to disk.
func (g *Guest) MakeMaps() {
	if g.Files == nil {
		g.Files = map[string][]byte{}
	}
	if g.Dirs == nil {
		g.Dirs = map[string]bool{}
	}
	if g.Execs == nil {
		g.Execs = map[int]*Exec{}
	}
}

// Read gives the bytes of a file, or the system's word for why not.
func (g *Guest) Read(file string) ([]byte, error) {
	file = path.Clean(file)
	if data, ok := g.Files[file]; ok {
		return data, nil
	}
	switch {
	case g.isDir(file):
		return nil, fmt.Errorf("Is a directory")
	case file == "/dev/null":
		return nil, nil
	}
	return nil, fmt.Errorf("No such file or directory")
}

// Write replaces or extends a file.
func (g *Guest) Write(file string, data []byte, add bool) error {
	file = path.Clean(file)
	switch {
	case file == "/dev/null":
		return nil
	case g.isDir(file):
		return fmt.Errorf("Is a directory")
	case !strings.HasPrefix(file, "/") || !g.isDir(path.Dir(file)):
		return fmt.Errorf("No such file or directory")
	}
	if add {
		data = append(append([]byte{}, g.Files[file]...), data...)
	}
	g.Files[file] = data
	return nil
}
