package guest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
)

// What the examples have otherwise here: the lab's guests boot a kernel of their own by the old BIOS on a CPU that is emulated, and
// Debian has other names for interfaces than Flatcar.
func changed(template string, more ...string) []string {
	return append([]string{
		"flatcar-production-qemu-stable-3975.2.0", template,
		"memory   = 1024", "memory   = 512\n  bios     = \"seabios\"\n  cpu      = \"kvm64\"",
	}, more...)
}

// coreos are further changes for Ignition as Fedora CoreOS has it: Flatcar's looks for its config under another name.
var coreos = []string{"memory   = 512", "memory   = 512\n  fw_cfg_name = \"opt/com.coreos/config\"", "Name=eth0", "Name=e*"}

// The examples of the module, with real Ignition in a guest: by the firmware, and by a drive.
func TestExamplesOfTheModuleAreIgnited(t *testing.T) {
	for delivery, template := range map[string]string{"fwcfg": "debian-qemu", "iso": "debian-proxmoxve"} {
		t.Run(delivery, func(t *testing.T) {
			t.Parallel()
			withoutTofu(t)
			w := debianWorld(t)
			w.Storages[0].Volumes = append(w.Storages[0].Volumes, hookVolume(t))
			l := newLab(t, w)
			l.allow(`rules: [{vms: [all], seeds: ["local:iso/proxplane-*.iso"]}]`)
			x := l.example("flatcar", changed(template, append(coreos, `storage = "local", size = "8704M"`, `storage = "local", size = "2G"`,
				`startup       = "order=999"`, fmt.Sprintf("startup         = \"order=999\"\n  butane_delivery = %q", delivery))...)...)
			x.make()
			const name = "flatcar-terraform.example.com"
			vm := l.vm(name)
			l.has(vm, "cat /etc/hostname", name)
			l.has(vm, "head -2 /etc/systemd/network/10-eth0.network | tail -1", "Name=e*")
			l.has(vm, "grep -c me@here ~core/.ssh/authorized_keys.d/ignition", "1")
			x.run("destroy", "-auto-approve")
			l.sim.Do(func(st *pvesim.State) {
				if st.VMs[vm.ID] != nil {
					t.Error("it is still there")
				}
			})
		})
	}
}

// The example with 9p, whose unit is written by Ignition.
func TestTheExampleWith9pMountsItsDirectory(t *testing.T) {
	t.Parallel()
	withoutTofu(t)
	w := debianWorld(t)
	w.Storages[0].Volumes = append(w.Storages[0].Volumes, hookVolume(t))
	l := newLab(t, w)
	data := l.folder("data")
	l.allow(`rules: [{vms: [all], seeds: ["local:iso/proxplane-*.iso"]}]`)
	l.example("flatcar-plan9fs", changed("debian-qemu", append(coreos, `dirid = "/srv/data"`, fmt.Sprintf("dirid = %q", data))...)...).make()
	vm := l.vm("flatcar-plan9fs.example.com")
	l.shows(vm, "grep -c '^data /srv/data 9p' /proc/mounts", "1")
	l.bothWays(vm, "/srv/data", data)
}

// Ignition's config by the firmware, virtiofs by the hook, 9p and three hookscripts at once, in the tiny guest.
func TestTheModuleHasTheHookDoAll(t *testing.T) {
	t.Parallel()
	withoutTofu(t)
	l, calls := hookLab(t)
	data, nine := l.folder("data"), l.folder("nine")
	l.allow(fmt.Sprintf(`rules:
- vms: [all]
  shares: [{path: %q}]
  scripts: ["local:snippets/a.sh", "local:snippets/b.sh", "local:snippets/c.sh"]
  seeds: ["local:iso/proxplane-*.iso"]
`, data))
	more := fmt.Sprintf("startup      = \"order=999\"\n  virtiofs     = [{ dirid = %q, tag = \"data\" }]\n  virtiofs_via = \"hook\"\n  plan9fs      = [{ dirid = %q, tag = \"nine\" }]\n"+
		"  hookscripts  = [\"local:snippets/b.sh\", \"local:snippets/a.sh\", \"local:snippets/c.sh\"]", data, nine)
	x := l.example("flatcar", changed("tiny", `startup       = "order=999"`, more, `  disks    = [{ slot = "scsi0", storage = "local", size = "8704M" }] # that of the template`+"\n", "")...)
	x.make()
	const name = "flatcar-terraform.example.com"
	vm := l.vm(name)
	if config := l.sh(vm, "cat /run/fw_cfg/opt/org.flatcar-linux/config"); !strings.Contains(config, "data:,"+name) || !strings.Contains(config, "me@here") {
		t.Errorf("the guest's Ignition config is %s", config)
	}
	l.sh(vm, "mkdir -p /mnt/data /mnt/nine; mount -t virtiofs data /mnt/data && mount -t 9p -o trans=virtio,version=9p2000.L nine /mnt/nine")
	l.bothWays(vm, "/mnt/data", data)
	l.bothWays(vm, "/mnt/nine", nine)
	x.run("destroy", "-auto-approve")
	var want []string
	for _, phase := range []string{"pre-start", "post-start", "pre-stop", "post-stop"} {
		for _, script := range []string{"b", "a", "c"} {
			want = append(want, script+" "+phase)
		}
	}
	l.eventually("the last call", func(context.Context) error {
		got, err := os.ReadFile(calls)
		if err == nil && strings.TrimSpace(string(got)) != strings.Join(want, "\n") {
			err = fmt.Errorf("calls so far:\n%s", got)
		}
		return err
	})
}
