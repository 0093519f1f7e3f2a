package guest

import (
	"fmt"
	"testing"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// task waits for what Proxmox has been told to do.
func (l *lab) task(upid pve.UPID, err error) {
	l.t.Helper()
	if err == nil {
		_, err = l.client.Task(upid).Wait(l.t.Context())
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

func TestGuestsGoOnWhileTheyAreMoved(t *testing.T) {
	t.Parallel()
	w := tinyWorld(t)
	w.Nodes = append(w.Nodes, pvesim.WorldNode{Name: "pve2", Bridges: w.Nodes[0].Bridges})
	w.Storages = append(w.Storages, pvesim.WorldStorage{
		Name: "nfs", Type: "nfs", Path: "/mnt/pve/nfs", Options: map[string]string{"server": "192.168.77.10", "export": "/srv"}, Content: []string{"images", "iso"},
	})
	l := newLab(t, w)
	machine := func(say string) string {
		return fmt.Sprintf(`apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: wanderer}
spec:
  classRef: {name: small}
  imageRef: {name: tiny}
  networks: [{name: lan, bridge: vmbr0}]
  disks: [{name: root, size: 128Mi}, {name: data, size: 64Mi, storage: nfs}]
  userData: {cloudInit: {inline: "#!/bin/sh\necho %s > /run/said\n"}}
  agent: {waitForAddress: true}
`, say)
	}
	// Proxmox moves no machine with a disc that only its node has.
	share := providerWith("defaults: {isoStorage: nfs}")
	apply := func(say string) {
		t.Helper()
		if _, err := l.tryApplyWith(share, machine(say)); err != nil {
			t.Fatal(err)
		}
	}
	apply("first")
	vm := l.vm("wanderer")
	l.shows(vm, "cat /run/said", "first")
	// Kernels look at both disks at once, and call that sda which answers first.
	const rootSectors = 128 << 20 / 512
	root := func() string {
		t.Helper()
		return "/dev/" + l.sh(vm, fmt.Sprintf("grep -lx %d /sys/block/sd?/size | cut -d / -f 4", rootSectors))
	}
	disk := root()
	l.sh(vm, fmt.Sprintf("echo on the disk | dd of=%s conv=fsync 2>/dev/null; echo in memory > /run/state", disk))
	goesOn := func() {
		t.Helper()
		l.has(vm, "cat /run/state", "in memory")
		l.has(vm, "head -n 1 "+disk, "on the disk")
	}

	// The guest writes while its disk is copied.
	l.sh(vm, "mkdir /run/writer || exit 0; (i=0; while [ ! -e /run/stop ]; do i=$((i+1)); echo $i | dd of="+disk+" bs=512 seek=1000 conv=fsync,notrunc 2>/dev/null; echo $i > /run/written; done; touch /run/stopped) >/dev/null 2>&1 &")
	l.task(vm.MoveDisk(t.Context(), pve.MoveDiskOptions{Disk: "scsi0", Storage: "nfs", Delete: true}))
	l.sh(vm, "touch /run/stop")
	l.shows(vm, "ls /run/stopped", "/run/stopped")
	l.has(vm, "dd if="+disk+" bs=512 skip=1000 count=1 iflag=direct 2>/dev/null | head -n 1", l.sh(vm, "cat /run/written"))
	goesOn()

	l.task(vm.Migrate(t.Context(), pve.MigrateOptions{Target: "pve2", Online: true, WithLocalDisks: true}))
	if vm = l.vm("wanderer"); vm.Node != "pve2" {
		t.Errorf("it is on %s", vm.Node)
	}
	goesOn()

	// Other first-boot data are another disc in the drive of the guest that runs.
	apply("second")
	l.shows(vm, "mkdir -p /run/disc; mount -t iso9660 -o ro /dev/sr0 /run/disc && tail -n 1 /run/disc/user-data; umount /run/disc", "echo second > /run/said")
	goesOn()
	l.has(vm, "cat /run/said", "first")

	// A cold start finds all of it again.
	for _, power := range []string{"off", "on"} {
		l.power(power, "wanderer")
	}
	l.shows(vm, "cat /run/said", "second")
	l.has(vm, "head -n 1 "+root(), "on the disk")
}
