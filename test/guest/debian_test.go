package guest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/proxplane/proxplane/host/ssh/sshtest"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/pvesim/nodeos"
	"github.com/proxplane/proxplane/test/kit/image"
	"github.com/proxplane/proxplane/test/kit/need"
	"github.com/proxplane/proxplane/test/kit/tool"
)

var withDebian = flag.Bool("debian", false, "boot Debian too, which takes some minutes")

var buildDebian = sync.OnceValues(func() (disk string, err error) {
	ctx := context.Background()
	ignition, err := tool.Open(ctx, "ignition")
	if err != nil {
		return "", err
	}
	if err := ignition.Build(ctx, os.Stderr); err != nil {
		return "", err
	}
	return image.Debian(ctx, ignition.Path("ignition"), os.Stderr)
})

// debianWorld is a cluster with templates of Debian too: one that is set up by
// cloud-init, and one by Ignition for each of its platforms.
func debianWorld(t *testing.T) *pvesim.World {
	t.Helper()
	if !*withDebian {
		t.Skip("boots Debian: make test-guest")
	}
	w := tinyWorld(t)
	disk, err := buildDebian()
	need.None(t, err)
	boot := w.Kernels["tiny"]
	// Units are enabled as Ignition says because it is the first boot.
	const ignite = " cloud-init=disabled systemd.condition-first-boot=1 init=/usr/local/sbin/ignite ignition.platform.id="
	for i, s := range []struct{ name, more string }{{"debian", ""}, {"debian-proxmoxve", ignite + "proxmoxve"}, {"debian-qemu", ignite + "qemu"}} {
		boot.Append = quiet + " systemd.show_status=0 tiny.root=/dev/sda1" + s.more
		w.Kernels[pvesim.System(s.name)] = boot
		addTemplate(w, 9010+i, s.name, disk, "1G")
	}
	return w
}

// debianKinds are what machines with Debian are made from.
const debianKinds = `apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: medium}
spec: {cpus: 2, memory: 512Mi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: debian}
spec: {source: debian}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: debian-proxmoxve}
spec: {source: debian-proxmoxve}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: debian-qemu}
spec: {source: debian-qemu}
---
`

// debian is a machine with an image of Debian, and with more in its spec.
func debian(name, image, spec string) string {
	return fmt.Sprintf(`apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: %s}
spec:
  classRef: {name: medium}
  imageRef: {name: %s}
  agent: {waitForAddress: true}
%s---
`, name, image, strings.TrimPrefix(spec, "\n"))
}

// cloudInitIsDone waits until cloud-init has done all, and fails if something
// went wrong.
func (l *lab) cloudInitIsDone(name string) {
	l.t.Helper()
	vm := l.vm(name)
	const result = "/run/cloud-init/result.json"
	l.shows(vm, "ls "+result, result)
	if got := l.sh(vm, "cat "+result); !strings.Contains(got, `"errors": []`) || !strings.Contains(got, "DataSourceNoCloud") {
		l.t.Errorf("cloud-init: %s\n%s", got, l.sh(vm, "grep -B2 -A9 -e WARN -e Traceback /var/log/cloud-init.log"))
	}
}

// boots restarts a guest, and waits until cloud-init is done.
func (l *lab) boots(name string) {
	l.t.Helper()
	const id = "cat /proc/sys/kernel/random/boot_id"
	before := l.sh(l.vm(name), id)
	l.power("reboot", name)
	l.eventually("another boot", func(ctx context.Context) error {
		status, err := l.exec(ctx, l.vm(name), id)
		if err == nil && strings.TrimSpace(status.Out) == before {
			err = fmt.Errorf("still the same")
		}
		return err
	})
	l.cloudInitIsDone(name)
}

// jump is a node that leads to guests, and lets a key in.
func (l *lab) jump(line string) (address string) {
	l.t.Helper()
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil {
		l.t.Fatal(err)
	}
	_, host := sshtest.Key(l.t)
	node, err := nodeos.New(l.sim.Hosts()[0], nodeos.Config{
		Folder: l.t.TempDir(), Key: host, Keys: []ssh.PublicKey{key},
		Guests: func(ctx context.Context, host string, port uint32) (net.Conn, error) {
			addr, err := netip.ParseAddr(host)
			if err != nil {
				return nil, err
			}
			return l.backend.Dial(ctx, l.sim.GuestNetwork(), netip.AddrPortFrom(addr, uint16(port)))
		},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- node.Serve(ctx, listener) }()
	l.t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, node.Close()); err != nil {
			l.t.Error(err)
		}
	})
	return listener.Addr().String()
}

func TestCloudInitDoesWhatTheManifestSays(t *testing.T) {
	t.Parallel()
	l := newLab(t, debianWorld(t))
	file, key := l.newKey()
	machine := func(more, text string) string {
		return debianKinds + debian("shop", "debian", fmt.Sprintf(`
  disks: [{name: root, size: 2Gi}]
  networks:
  - {name: lan, bridge: vmbr0, staticIP: {address: 192.168.77.10/24, addresses: ["fd00:77::10/64"], gateway: 192.168.77.1, dns: [192.168.77.1]}}
  - {name: back, bridge: vmbr1, staticIP: {address: 10.77.0.10/16, addresses: ["fd00:78::10/64"]}}
  - {name: other, bridge: vmbr2, dhcp: true}
  userData:
    cloudInit:
      %s
      inline: |
        #cloud-config
        users:
        - {name: ada, groups: [sudo], shell: /bin/bash, sudo: "ALL=(ALL) NOPASSWD:ALL", ssh_authorized_keys: [%q]}
        write_files:
        - {path: /etc/shop.conf, content: "%s ${here}\n", owner: "root:ada", permissions: "0640", defer: true}
        runcmd:
        - echo run >> /var/lib/runs
        - [sh, -c, "cp /etc/shop.conf /var/lib/seen"]
`, more, key, text))
	}
	l.apply(machine("", "first"))
	l.cloudInitIsDone("shop")
	vm := l.vm("shop")
	l.has(vm, "hostname", "shop")
	l.has(vm, "id -nG ada", "ada sudo")
	l.has(vm, "cat ~ada/.ssh/authorized_keys", key)
	login := l.as("ssh", "shop", "-i", file, "-l", "ada", "--jump", l.jump(key), "--trust-new", "--timeout", patience.String())
	tm := l.terminal(append(login, "--", "id -un; sudo id -un 2>/dev/null")...)
	if code := tm.ends(); code != 0 || !strings.Contains(tm.text(), "ada\r\nroot\r\n") {
		t.Errorf("exit status %d\n%s", code, tm.text())
	}
	l.has(vm, "cat /etc/shop.conf; stat -c %A:%U:%G /etc/shop.conf", "first ${here}\n-rw-r-----:root:ada")
	l.has(vm, "cat /var/lib/seen /var/lib/runs", "first ${here}\nrun")
	// cloud-init waits for no network.
	l.shows(vm, "ip -o addr | grep -o -e 'eth0 .*inet6\\? \\(192.168.77.10/24\\|fd00:77::10/64\\)' | wc -l", "2")
	l.shows(vm, "ip -o addr | grep -o -e 'eth1 .*inet6\\? \\(10.77.0.10/16\\|fd00:78::10/64\\)' | wc -l", "2")
	l.shows(vm, "ip -o -4 addr show eth2 | grep -c 'inet 192.168.77.5./24'", "1")
	l.shows(vm, "ip route show default dev eth0 | cut -d' ' -f1-3", "default via 192.168.77.1")
	// The disk of the template had one GiB: its file system has grown with it.
	l.has(vm, "test $(df --output=size -k / | tail -n 1) -gt 1900000 && echo grown", "grown")
	l.tells("shop", "192.168.77.10")

	// Other data alone are nothing to cloud-init, as the same instance's.
	l.apply(machine("", "second"))
	l.boots("shop")
	l.has(vm, "cat /etc/shop.conf /var/lib/runs", "first ${here}\nrun")
	// Of another instance they are.
	l.apply(machine("rerun: true", "third"))
	l.boots("shop")
	l.has(vm, "cat /etc/shop.conf /var/lib/runs", "third ${here}\nrun\nrun")
	l.has(vm, "hostname", "shop")
}
