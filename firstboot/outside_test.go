package firstboot_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/firstboot"
	"github.com/proxplane/proxplane/test/kit/disc"
	"github.com/proxplane/proxplane/test/kit/need"
)

// What other people's programs make of what we make.

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestImagesAreReadByOthersToo(t *testing.T) {
	for reason, files := range map[string]map[string][]byte{
		"usual":           {"user-data": []byte("#cloud-config\n{}\n"), "meta-data": []byte("instance-id: a\n"), "network-config": []byte("version: 2\n")},
		"empty user-data": {"user-data": {}, "meta-data": []byte("instance-id: a\n")},
		"a block to the byte, and one more": {
			"user-data": bytes.Repeat([]byte("u"), 2048), "meta-data": bytes.Repeat([]byte("m"), 2049), "vendor-data": bytes.Repeat([]byte("v"), 5<<20),
		},
	} {
		t.Run(reason, func(t *testing.T) {
			image, err := firstboot.ISO(files)
			if err != nil {
				t.Fatal(err)
			}
			disc.Holds(t, image, files)
		})
	}
}

// cloud-init makes another form of a network config, which it reads with the same
// code as in a guest.
func TestCloudInitUnderstandsNetworkConfigs(t *testing.T) {
	program := need.Program(t, "cloud-init")
	for _, c := range []struct {
		reason string
		nics   []firstboot.NIC
		want   []string // in what cloud-init makes of it
	}{
		{"nothing said", []firstboot.NIC{{MAC: "02:00:00:00:00:01"}}, []string{"Name=eth0", "DHCP=ipv4", "MACAddress=02:00:00:00:00:01"}},
		{"static", []firstboot.NIC{{MAC: "02:00:00:00:00:02", Addresses: []string{"192.168.1.5/24", "192.168.1.6/24"}, Gateway: "192.168.1.1", DNS: []string{"1.1.1.1"}, Search: []string{"lan"}}},
			[]string{"Address=192.168.1.5/24", "Address=192.168.1.6/24", "Gateway=192.168.1.1", "DNS=1.1.1.1", "Domains=lan"}},
		{"both kinds", []firstboot.NIC{{MAC: "02:00:00:00:00:03", Addresses: []string{"10.0.0.5/8", "fd00::5/64"}, Gateway: "10.0.0.1", Gateway6: "fd00::1", MTU: 1400}},
			[]string{"Address=fd00::5/64", "Gateway=fd00::1", "MTUBytes=1400"}},
		{"DHCP for both", []firstboot.NIC{{MAC: "02:00:00:00:00:04", DHCP6: true}}, []string{"DHCP=yes"}},
		{"several", []firstboot.NIC{{MAC: "02:00:00:00:00:05"}, {MAC: "02:00:00:00:00:06", Manual: true, SLAAC: true}}, []string{"MACAddress=02:00:00:00:00:05", "MACAddress=02:00:00:00:00:06"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			files, err := firstboot.NoCloud(firstboot.Input{Hostname: "a", NICs: c.nics})
			if err != nil {
				t.Fatal(err)
			}
			out := t.TempDir()
			cmd := exec.Command(program, "devel", "net-convert", "--network-data", write(t, "network-config", files[firstboot.NetworkConfigFile]),
				"--kind", "yaml", "--output-kind", "networkd", "--distro", "debian", "--directory", out)
			for i, n := range c.nics {
				cmd.Args = append(cmd.Args, "--mac", fmt.Sprintf("ens%d,%s", i+3, n.MAC))
			}
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s\n%s", err, said, files[firstboot.NetworkConfigFile])
			}
			var all strings.Builder
			made, err := filepath.Glob(filepath.Join(out, "etc/systemd/network/*"))
			if err != nil || len(made) == 0 {
				t.Fatalf("cloud-init made nothing of\n%s", files[firstboot.NetworkConfigFile])
			}
			for _, f := range made {
				text, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				all.Write(text)
			}
			for _, want := range c.want {
				if !strings.Contains(all.String(), want) {
					t.Errorf("no %s in\n%s\nfrom\n%s", want, &all, files[firstboot.NetworkConfigFile])
				}
			}
		})
	}
}
