package pvesim

import (
	"testing"

	"github.com/proxplane/proxplane/test/kit/iso"
)

func TestAGuestIsSetUpByItsSeed(t *testing.T) {
	const v1 = `
version: 1
config:
  - type: physical
    name: eth0
    mac_address: bc:24:11:00:00:01
    subnets:
      - {type: static, address: 10.2.0.7, netmask: 255.255.0.0, gateway: 10.2.0.1}
  - {type: nameserver, address: [10.2.0.1]}
`
	const v2 = `
network:
  version: 2
  ethernets:
    id0:
      match: {macaddress: "BC:24:11:00:00:01"}
      addresses: [10.3.0.7/24, fd00::7/64]
    eth1: {dhcp4: true}
`
	for _, c := range []struct {
		reason        string
		files         map[string]string
		host          string
		first, second string
	}{
		{"version 1, and a name for the host in the user data",
			map[string]string{"user-data": "#cloud-config\nhostname: seeded\n", "meta-data": "local-hostname: other\n", "network-config": v1},
			"seeded", "10.2.0.7", ""},
		{"version 2, and a name in the meta data",
			map[string]string{"user-data": "#cloud-config\n", "meta-data": "instance-id: i\nlocal-hostname: meta.example.com\n", "network-config": v2},
			"meta", "10.3.0.7 fd00::7", "192.168.77.50"},
		{"no network configuration, and no name", map[string]string{"user-data": "#cloud-config\n", "meta-data": "instance-id: i\n"},
			"localhost", "192.168.77.50", "192.168.77.51"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			inTown(t, "9.2", func(w *World) {
				w.Timing = Timing{}
				w.Storages[0].Volumes = append(w.Storages[0].Volumes, WorldVolume{Name: "iso/seed.iso", Text: iso.Build("cidata", "joliet", c.files)})
			}, func(t *testing.T, l *lab) {
				l.linux("name", "web", "ide2", "local:iso/seed.iso,media=cdrom",
					"net0", "virtio=BC:24:11:00:00:01,bridge=vmbr0", "net1", "virtio=BC:24:11:00:00:02,bridge=vmbr0")
				l.start()
				if got := l.agent("GET", "get-host-name").(map[string]any)["host-name"]; got != c.host {
					t.Errorf("the host is called %v, want %s", got, c.host)
				}
				for name, want := range map[string]string{"eth0": c.first + " fe80::be24:11ff:fe00:1", "eth1": c.second + " fe80::be24:11ff:fe00:2"} {
					if want[0] == ' ' {
						want = want[1:]
					}
					if got := l.ips(name); got != want {
						t.Errorf("%s has %q, want %q", name, got, want)
					}
				}
			})
		})
	}
}

func TestSnippetsReplaceWhatProxmoxWritesForCloudInit(t *testing.T) {
	inTown(t, "9.2", func(w *World) {
		w.Timing = Timing{}
		w.Storages[0].Volumes = append(w.Storages[0].Volumes,
			WorldVolume{Name: "snippets/net.yml", Text: "version: 2\nethernets:\n  eth0:\n    addresses: [10.4.0.4/24]\n"})
	}, func(t *testing.T, l *lab) {
		l.linux("name", "web", "ide2", "local:cloudinit", "ipconfig0", "ip=10.9.9.9/24", "net0", "virtio=BC:24:11:00:00:01,bridge=vmbr0")
		l.start()
		if got := l.ips("eth0"); got != "10.9.9.9 fe80::be24:11ff:fe00:1" {
			t.Errorf("eth0 has %q", got)
		}
		l.run("POST", labVM+"/status/stop")
		l.set("cicustom", "user=local:snippets/user.yml,network=local:snippets/net.yml")
		l.start()
		if got := l.ips("eth0"); got != "10.4.0.4 fe80::be24:11ff:fe00:1" {
			t.Errorf("eth0 has %q", got)
		}
		if got := l.agent("GET", "get-host-name").(map[string]any)["host-name"]; got != "localhost" {
			t.Errorf("the host is called %v", got)
		}
	})
}
