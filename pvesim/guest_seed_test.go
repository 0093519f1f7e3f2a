package pvesim

import (
	"encoding/binary"
	"testing"
	"unicode/utf16"
)

// buildISO makes an image with files in its root directory: names of the
// plain kind, with Rock Ridge's, or with Joliet's beside them.
func buildISO(label, kind string, files map[string]string) string {
	const rootAt, jolietAt, filesAt = 20, 21, 22
	img := make([]byte, filesAt*isoSector)
	record := func(name []byte, at, size uint32, flags byte, extra []byte) []byte {
		r := make([]byte, 33)
		binary.LittleEndian.PutUint32(r[2:], at)
		binary.LittleEndian.PutUint32(r[10:], size)
		r[25], r[32] = flags, byte(len(name))
		r = append(r, name...)
		if len(name)%2 == 0 {
			r = append(r, 0)
		}
		r = append(r, extra...)
		r[0] = byte(len(r))
		return r
	}
	descriptor := func(sector int, typ byte, root uint32) {
		d := img[sector*isoSector:]
		d[0] = typ
		copy(d[1:], "CD001")
		copy(d[40:], label+"                                "[len(label):])
		copy(d[156:], record([]byte{0}, root, isoSector, 2, nil))
		if typ == 2 {
			copy(d[88:], "%/E")
		}
	}
	descriptor(16, 1, rootAt)
	if kind == "joliet" {
		descriptor(17, 2, jolietAt)
	} else {
		descriptor(17, 0, rootAt)
	}
	img[18*isoSector] = 255
	copy(img[18*isoSector+1:], "CD001")
	plain, wide := record([]byte{0}, rootAt, isoSector, 2, nil), record([]byte{0}, jolietAt, isoSector, 2, nil)
	short := map[string]string{"user-data": "USER_DATA.;1", "meta-data": "META_DATA.;1", "network-config": "NETWORK_CONFIG.;1"}
	for name, text := range files {
		at := uint32(len(img) / isoSector)
		img = append(img, text...)
		img = append(img, make([]byte, isoSector-len(img)%isoSector)...)
		var extra []byte
		if kind == "rockridge" {
			extra = append([]byte{'P', 'X', 5, 1, 0, 'N', 'M', byte(5 + len(name)), 1, 0}, name...)
		}
		plain = append(plain, record([]byte(short[name]), at, uint32(len(text)), 0, extra)...)
		var units []byte
		for _, u := range utf16.Encode([]rune(name)) {
			units = binary.BigEndian.AppendUint16(units, u)
		}
		wide = append(wide, record(units, at, uint32(len(text)), 0, nil)...)
	}
	copy(img[rootAt*isoSector:], plain)
	copy(img[jolietAt*isoSector:], wide)
	return string(img)
}

func TestASeedDiscIsReadWhateverItsNamesAre(t *testing.T) {
	files := map[string]string{"user-data": "#cloud-config\n", "meta-data": "local-hostname: x\n", "network-config": "version: 2\n"}
	for _, kind := range []string{"plain", "rockridge", "joliet"} {
		img, ok := openISO([]byte(buildISO("cidata", kind, files)))
		if !ok || img.label != "cidata" {
			t.Fatalf("%s: ok %t, label %q", kind, ok, img.label)
		}
		got := img.files()
		for name, text := range files {
			if got[name] != text {
				t.Errorf("%s: %s holds %q, want %q (of %d files)", kind, name, got[name], text, len(got))
			}
		}
	}
	for _, junk := range []string{"", "not an image", string(make([]byte, 20*isoSector))} {
		if _, ok := openISO([]byte(junk)); ok {
			t.Errorf("%d bytes are taken for an image", len(junk))
		}
	}
}

func FuzzOpenISO(f *testing.F) {
	f.Add([]byte(buildISO("cidata", "joliet", map[string]string{"user-data": "x"})))
	f.Add([]byte(buildISO("cidata", "rockridge", map[string]string{"meta-data": "x"})))
	f.Fuzz(func(t *testing.T, data []byte) {
		if img, ok := openISO(data); ok {
			img.files()
		}
	})
}

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
				w.Storages[0].Volumes = append(w.Storages[0].Volumes, WorldVolume{Name: "iso/seed.iso", Text: buildISO("cidata", "joliet", c.files)})
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
