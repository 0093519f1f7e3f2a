package guest

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/host/ssh/sshtest"
)

// withSSH is what manifests have in common where snippets are copied to the node:
// what is put into their folder is on the storage.
func (l *lab) withSSH() string {
	l.t.Helper()
	s := sshtest.Start(l.t)
	s.OnFile(func(file string) {
		content, err := os.ReadFile(filepath.Join(s.Folder, file))
		if err == nil {
			err = l.sim.PutFile("pve1", "local:snippets/"+path.Base(file), content)
		}
		if err != nil {
			l.t.Errorf("%s: %v", file, err)
		}
	})
	ssh := fmt.Sprintf("ssh: {keySecretRef: {name: key}, addresses: {pve1: %q}, knownHosts: %q}", s.Address, s.KnownHosts())
	return providerWith(ssh) +
		fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {ssh-privatekey: %q}\n---\n", s.Authorize())
}

// Two machines at once, for both have to boot.
func TestCloudInitReadsProxmoxOwnDrive(t *testing.T) {
	t.Parallel()
	l := newLab(t, debianWorld(t))
	_, key := l.newKey()
	if _, err := l.tryApplyWith(l.withSSH(), debianKinds+debian("said", "debian", fmt.Sprintf(`
  networks:
  - {name: lan, bridge: vmbr0, staticIP: {address: 192.168.77.11/24, gateway: 192.168.77.1}}
  - {name: back, bridge: vmbr1, staticIP: {address: "fd00:77::11/64"}}
  userData:
    delivery: proxmox
    cloudInit:
      inline: |
        #cloud-config
        user: ada
        password: not-shown
        chpasswd: {expire: false}
        ssh_authorized_keys: [%q]
`, key))+debian("copied", "debian", `
  networks: [{name: lan, bridge: vmbr0}]
  userData:
    delivery: snippets
    cloudInit:
      inline: |
        #cloud-config
        write_files: [{path: /etc/copied, content: "it's here\n"}]
        runcmd: [[cp, /etc/copied, /var/lib/copied]]
`)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"said", "copied"} {
		l.cloudInitIsDone(name)
		l.has(l.vm(name), "hostname", name)
	}
	vm := l.vm("said")
	l.has(vm, "cat ~ada/.ssh/authorized_keys", key)
	l.shows(vm, "ip -o addr | grep -o -e 'eth0 .*inet 192.168.77.11/24' -e 'eth1 .*inet6 fd00:77::11/64' | wc -l", "2")
	if got := l.sh(vm, "getent shadow ada"); !strings.HasPrefix(got, "ada:$") {
		t.Errorf("the user has no password: %s", got)
	}
	vm = l.vm("copied")
	l.has(vm, "cat /var/lib/copied", "it's here")
	l.shows(vm, "ip -o -4 addr show eth0 | grep -c 'inet 192.168.77.'", "1")
}
