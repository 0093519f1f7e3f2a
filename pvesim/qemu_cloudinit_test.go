package pvesim

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
)

const labKey = "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIPm4rM4P9lUu3RS4zUwVWKUVY3m7nPuHqL0TyZ0bH8pI%20me%40here"

func (l *lab) dump(kind string) string {
	l.t.Helper()
	return l.must("GET", labVM+"/cloudinit/dump", "type", kind).(string)
}

func TestCloudInitRendersUserDataAsProxmoxDoes(t *testing.T) {
	bothReleases(t, func(t *testing.T, l *lab) {
		l.create()
		if got, want := l.dump("user"), `#cloud-config
hostname: VM100
manage_etc_hosts: true
fqdn: VM100
chpasswd:
  expire: False
users:
  - default
package_upgrade: true
`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		l.set("name", "web.example.com", "ciuser", "root", "ciupgrade", "0", "sshkeys", labKey+"%0A%0A"+labKey+"2")
		if got, want := l.dump("user"), `#cloud-config
hostname: web
manage_etc_hosts: true
fqdn: web.example.com
user: root
disable_root: False
ssh_authorized_keys:
  - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPm4rM4P9lUu3RS4zUwVWKUVY3m7nPuHqL0TyZ0bH8pI me@here
  - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPm4rM4P9lUu3RS4zUwVWKUVY3m7nPuHqL0TyZ0bH8pI me@here2
chpasswd:
  expire: False
`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestCloudInitRendersNetworksAsProxmoxDoes(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("net0", "virtio=BC:24:11:00:00:0A,bridge=vmbr0", "ipconfig0", "ip=10.0.0.5/22,gw=10.0.0.1,ip6=fd00::5/64,gw6=fd00::1",
			"net1", "virtio=BC:24:11:00:00:0B", "ipconfig1", "ip6=auto", "net2", "virtio=BC:24:11:00:00:0C", "ipconfig2", "ip=dhcp,ip6=dhcp",
			"net10", "virtio=BC:24:11:00:00:0D", "ipconfig10", "ip=dhcp", "net3", "virtio=BC:24:11:00:00:0E",
			"nameserver", "1.1.1.1 fd00::53", "searchdomain", "a.lan b.lan")
		if got, want := l.dump("network"), `version: 1
config:
    - type: physical
      name: eth0
      mac_address: 'bc:24:11:00:00:0a'
      subnets:
      - type: static
        address: '10.0.0.5'
        netmask: '255.255.252.0'
        gateway: '10.0.0.1'
      - type: static6
        address: 'fd00::5/64'
        gateway: 'fd00::1'
    - type: physical
      name: eth1
      mac_address: 'bc:24:11:00:00:0b'
      subnets:
      - type: ipv6_slaac
    - type: physical
      name: eth10
      mac_address: 'bc:24:11:00:00:0d'
      subnets:
      - type: dhcp4
    - type: physical
      name: eth2
      mac_address: 'bc:24:11:00:00:0c'
      subnets:
      - type: dhcp4
      - type: dhcp6
    - type: nameserver
      address:
      - '1.1.1.1'
      - 'fd00::53'
      search:
      - 'a.lan'
      - 'b.lan'
`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		l.set("ostype", "win11", "delete", "net1,net2,net10")
		if got, want := l.dump("network"), `auto lo
iface lo inet loopback

        dns_nameservers 1.1.1.1 fd00::53
        dns_search a.lan b.lan
auto eth0
iface eth0 inet static
        address 10.0.0.5
        netmask 255.255.252.0
        gateway 10.0.0.1
iface eth0 inet6 static
        address fd00::5
        netmask 64
        gateway fd00::1
`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if meta := l.dump("meta"); !strings.HasPrefix(meta, "{\n     \"uuid\": \"") || !strings.HasSuffix(meta, "\"network_config\": { \"content_path\": \"/content/0000\" }\n}\n") {
			t.Errorf("meta data %s", meta)
		}
		l.set("citype", "nocloud")
		if meta := l.dump("meta"); !strings.HasPrefix(meta, "instance-id: ") {
			t.Errorf("meta data %s", meta)
		}
	})
}

func TestWithoutNameServersTheHostsAreUsed(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create()
		l.must("PUT", "/nodes/pve1/dns", "search", "host.lan", "dns1", "9.9.9.9", "dns2", "8.8.8.8")
		if got, want := l.dump("network"), "version: 1\nconfig:\n    - type: nameserver\n      address:\n      - '9.9.9.9'\n      - '8.8.8.8'\n      search:\n      - 'host.lan'\n"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// cloudInit shows what GET cloudinit lists, one "key value pending delete" each.
func (l *lab) cloudInit() string {
	var lines []string
	for _, item := range l.must("GET", labVM+"/cloudinit").([]any) {
		m := item.(map[string]any)
		lines = append(lines, fmt.Sprintf("%v %v %v %v", m["key"], m["value"], m["pending"], m["delete"]))
	}
	sort.Strings(lines)
	return strings.ReplaceAll(strings.Join(lines, "; "), "<nil>", "-")
}

func TestCloudInitRemembersWhatTheDriveDoesNotKnow(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.running("ide2", "local:cloudinit", "ciuser", "a", "nameserver", "1.1.1.1", "name", "one")
		want := func(text string) {
			t.Helper()
			if got := l.cloudInit(); got != text {
				t.Errorf("got %q, want %q", got, text)
			}
		}
		want("ciuser a - -; nameserver 1.1.1.1 - -")
		l.set("ciuser", "b", "searchdomain", "lan", "name", "two", "delete", "nameserver")
		want("ciuser a b -; nameserver - - 1; searchdomain - lan -")
		l.set("ciuser", "c")
		want("ciuser a c -; nameserver - - 1; searchdomain - lan -")
		l.set("ciuser", "a", "nameserver", "1.1.1.1", "delete", "searchdomain")
		want("ciuser a - -; nameserver 1.1.1.1 - -")
		l.set("ciuser", "d", "cipassword", "x")
		l.must("PUT", labVM+"/cloudinit")
		want("cipassword ********** - -; ciuser d - -; nameserver 1.1.1.1 - -")
		l.set("hotplug", "cloudinit")
		l.set("ciuser", "e")
		want("cipassword ********** - -; ciuser e - -; nameserver 1.1.1.1 - -")
	})
}

func TestTheCloudInitDriveComesAndGoes(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("scsi0", "local:1")
		log := l.run("POST", labVM+"/config", "ide2", "local:cloudinit")
		if !slices.Contains(log, "generating cloud-init ISO") {
			t.Errorf("log %q", log)
		}
		l.refuses(500, "scsi3 - cloud-init drive is already attached at 'ide2'", "scsi3", "local:cloudinit")
		l.set("delete", "ide2")
		l.holds("ide2", nil, "unused0", nil)
		if got := l.volumes("local"); got != "100/vm-100-disk-0.raw" {
			t.Errorf("volumes %s", got)
		}
		l.set("ide2", "thin:cloudinit")
		l.holds("ide2", "thin:vm-100-cloudinit,media=cdrom")
		l.set("cicustom", "user=local:snippets/none.yml")
		l.expect(l.put(labVM+"/cloudinit"), 500, "volume 'local:snippets/none.yml' does not exist")
		l.set("cicustom", "user=local:iso/tiny.iso")
		l.expect(l.put(labVM+"/cloudinit"), 500, "local:iso/tiny.iso is not in the snippets directory")
		l.set("cicustom", "user=local:snippets/user.yml")
		l.must("PUT", labVM+"/cloudinit")
		l.start()
		l.set("scsi5", "none,media=cdrom")
		l.set("ide2", "none")
		l.holds("ide2", "none,media=cdrom")
		if got := l.volumes("thin"); got != "" {
			t.Errorf("volumes %s", got)
		}
	})
}

func TestTheDriveHoldsWhatItsFormatAsksFor(t *testing.T) {
	inLab(t, "9.2", func(t *testing.T, l *lab) {
		l.create("name", "w", "cipassword", "x", "ciuser", "me", "sshkeys", labKey, "net0", "virtio=BC:24:11:00:00:0A,mtu=1400",
			"ipconfig0", "ip=10.0.0.5/24,gw=10.0.0.1,ip6=auto", "nameserver", "1.1.1.1", "searchdomain", "lan", "cicustom", "vendor=local:snippets/user.yml")
		render := func(change Conf) (map[string]string, string) {
			var files map[string]string
			var label string
			l.sim.Do(func(s *State) {
				conf := s.VMs[100].Conf.clone()
				for k, v := range change {
					conf[k] = v
				}
				var err error
				ci := &cloudInit{Sim: l.sim, vm: s.VMs[100], conf: conf}
				if files, label, err = ci.files(); err != nil {
					t.Error(err)
				}
			})
			return files, label
		}
		files, label := render(nil)
		if label != "cidata" || files["/vendor-data"] != "#cloud-config\n{}\n" || !strings.HasPrefix(files["/user-data"], "#cloud-config\nhostname: w\n") ||
			!strings.HasPrefix(files["/network-config"], "version: 1\n") || !strings.HasPrefix(files["/meta-data"], "instance-id: ") {
			t.Errorf("%s: %q", label, files)
		}
		files, label = render(Conf{"ostype": "win10"})
		if meta := files["/openstack/latest/meta_data.json"]; label != "config-2" || !strings.Contains(meta, `"admin_pass":"x"`) || !strings.Contains(meta, `"key-0":"ssh-ed25519 `) {
			t.Errorf("%s: %q", label, files)
		}
		if want := "auto eth0\niface eth0 inet static\n        address 10.0.0.5\n        netmask 255.255.255.0\n        gateway 10.0.0.1\n        dns-nameservers 1.1.1.1\niface eth0 inet6 auto\n"; files["/openstack/content/0000"] != want {
			t.Errorf("got %s, want %s", files["/openstack/content/0000"], want)
		}
		files, label = render(Conf{"citype": "opennebula"})
		if want := "USERNAME=me\nCRYPTED_PASSWORD_BASE64=eA==\n\nSSH_PUBLIC_KEY=\"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPm4rM4P9lUu3RS4zUwVWKUVY3m7nPuHqL0TyZ0bH8pI me@here\"\n" +
			"SET_HOSTNAME=w\nDNS=\"1.1.1.1\"\nSEARCH_DOMAIN=\"lan\"\nETH0_IP=10.0.0.5\nETH0_MASK=255.255.255.0\nETH0_MAC=bc:24:11:00:00:0a\n" +
			"ETH0_GATEWAY=10.0.0.1\nETH0_MTU=1400\nETH0_AUTO6=YES\nETH0_MTU=1400\nNETWORK=YES\n"; label != "CONTEXT" || files["/context.sh"] != want {
			t.Errorf("%s: got %s, want %s", label, files["/context.sh"], want)
		}
	})
}

func TestOnlyRealKeysPass(t *testing.T) {
	for _, c := range []struct {
		reason, line string
		ok           bool
	}{
		{"ed25519", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPm4rM4P9lUu3RS4zUwVWKUVY3m7nPuHqL0TyZ0bH8pI", true},
		{"with a comment", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPm4rM4P9lUu3RS4zUwVWKUVY3m7nPuHqL0TyZ0bH8pI me on my machine", true},
		{"with options", `command="echo hi there",no-pty ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPm4rM4P9lUu3RS4zUwVWKUVY3m7nPuHqL0TyZ0bH8pI`, true},
		{"cut short", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPm4rM4P9lUu3RS4zUwVWKUVY3m7nPuHqL0TyZ0b", false},
		{"of another type", "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIPm4rM4P9lUu3RS4zUwVWKUVY3m7nPuHqL0TyZ0bH8pI", false},
		{"no key at all", "hello", false},
		{"a comment", "# nothing", false},
		{"NIST P-256", "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBGsX0fLhLEJH+Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT+NC4v4af5uO5+tKfA+eFivOM1drMV7Oy7ZAaDe/UfU=", true},
		{"not on the curve", "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBGsX0fLhLEJH+Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT+NC4v4af5uO5+tKfA+eFivOM1drMV7Oy7ZAaDe/UfA=", false},
	} {
		if got := validSSHKey(c.line); got != c.ok {
			t.Errorf("%s: %t", c.reason, got)
		}
	}
}
