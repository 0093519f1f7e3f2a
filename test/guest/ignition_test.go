package guest

import (
	"fmt"
	"testing"

	"github.com/proxplane/proxplane/pve"
)

// ignited is a machine that is set up by Ignition, from Butane of a variant.
func ignited(name, image, variant, version, delivery, key string) string {
	return debianKinds + debian(name, image, fmt.Sprintf(`
  networks: [{name: lan, bridge: vmbr0, dhcp: false}]
  userData:
    %s
    butane:
      inline: |
        variant: %s
        version: %s
        passwd:
          users: [{name: core, ssh_authorized_keys: [%q]}]
        storage:
          directories: [{path: /srv/www, mode: 0750, user: {name: core}}]
          files:
          - {path: /etc/hostname, mode: 0644, contents: {inline: "${vm_name}\n"}}
          - {path: /srv/www/hello, mode: 0640, user: {name: core}, contents: {inline: "it's ${vm_name}, 100%% $${true}"}}
          - path: /etc/systemd/network/lan.network
            contents: {inline: "[Match]\nName=e*\n[Network]\nAddress=192.168.77.30/24\n"}
        systemd:
          units:
          - name: hello.service
            enabled: true
            contents: |
              [Service]
              Type=oneshot
              ExecStart=/bin/cp /srv/www/hello /srv/www/again
              [Install]
              WantedBy=multi-user.target
      snippets:
      - inline: |
          variant: %[2]s
          version: %[3]s
          storage: {links: [{path: /etc/seen, target: /srv/www/hello}]}
`, delivery, variant, version, key))
}

// isIgnited makes sure that all of it was done.
func (l *lab) isIgnited(vm pve.VM, name, key string) {
	l.t.Helper()
	text := fmt.Sprintf("it's %s, 100%% ${true}", name)
	l.shows(vm, "cat /srv/www/again", text)
	l.has(vm, "cat /etc/seen; stat -c ' %a %U' /srv/www/hello", text+" 640 core")
	l.has(vm, "stat -c '%a %U' /srv/www", "750 core")
	l.has(vm, "hostname", name)
	l.shows(vm, "ip -o -4 addr | grep -c 'inet 192.168.77.30/24'", "1")
	l.has(vm, "cat ~core/.ssh/authorized_keys.d/ignition | grep -v '^#'", key)
	l.has(vm, "ls /run/cloud-init/result.json 2>/dev/null || true", "")
}

func TestIgnitionReadsTheDrive(t *testing.T) {
	t.Parallel()
	l := newLab(t, debianWorld(t))
	_, key := l.newKey()
	l.apply(ignited("flat", "debian-proxmoxve", "flatcar", "1.1.0", "delivery: iso", key))
	l.isIgnited(l.vm("flat"), "flat", key)
}

func TestIgnitionReadsTheFirmware(t *testing.T) {
	t.Parallel()
	w := debianWorld(t)
	w.Storages[0].Volumes = append(w.Storages[0].Volumes, hookVolume(t))
	l := newLab(t, w)
	_, key := l.newKey()
	l.allow(`rules: [{vms: [all], seeds: ["local:iso/proxplane-*.iso"]}]`)
	l.apply(ignited("core", "debian-qemu", "fcos", "1.5.0", "delivery: fwcfg", key))
	l.isIgnited(l.vm("core"), "core", key)
}
