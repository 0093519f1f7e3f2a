package guest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/pvesim/qemu"
	"github.com/proxplane/proxplane/test/kit/image"
	"github.com/proxplane/proxplane/test/kit/need"
)

// tiny is what the tiny guest is made of.
type tiny struct{ kernel, initrd, disk string }

var buildTiny = sync.OnceValues(func() (files tiny, err error) {
	ctx := context.Background()
	if files.kernel, err = image.Kernel(ctx); err != nil {
		return files, err
	}
	if files.initrd, err = image.TinyInitrd(ctx); err != nil {
		return files, err
	}
	files.disk, err = image.TinyDisk()
	return files, err
})

// quiet is the kernel's command line: few words, none of them about the time that this
// machine gives it, and no time lost with what an emulated machine doesn't have.
const quiet = "console=ttyS0 quiet loglevel=4 nowatchdog rcupdate.rcu_cpu_stall_suppress=1" +
	" panic=-1 tsc=reliable no_timer_check random.trust_cpu=on mitigations=off"

// tinyWorld is a cluster with a template of the tiny guest, and of those
// whose agents come late or never.
func tinyWorld(t *testing.T) *pvesim.World {
	t.Helper()
	need.None(t, qemu.Missing())
	files, err := buildTiny()
	need.None(t, err)
	w := &pvesim.World{
		Cluster: "lab",
		Nodes:   []pvesim.WorldNode{{Name: "pve1", Bridges: []pvesim.WorldBridge{{Name: "vmbr0"}, {Name: "vmbr1"}, {Name: "vmbr2"}}}},
		Storages: []pvesim.WorldStorage{{
			Name: "local", Type: "dir", Path: "/var/lib/vz", Content: []string{"images", "iso", "import", "snippets"},
		}},
		Users:   []pvesim.WorldUser{{ID: "root@pam", Password: password}},
		DHCP:    pvesim.WorldDHCP{Range: "192.168.77.50-192.168.77.250", Bits: 24},
		Kernels: map[pvesim.System]pvesim.Kernel{},
	}
	for i, name := range []string{"tiny", "tiny-late", "tiny-off"} {
		w.Kernels[pvesim.System(name)] = pvesim.Kernel{Kernel: files.kernel, Initrd: files.initrd, Append: quiet + []string{"", " tiny.agent=late", " tiny.agent=off"}[i]}
		addTemplate(w, 9000+i, name, files.disk, "64M")
	}
	return w
}

// addTemplate adds a template whose system has the same name.
func addTemplate(w *pvesim.World, id int, name, disk, size string) {
	volume := fmt.Sprintf("%d/vm-%d-disk-0.qcow2", id, id)
	st := &w.Storages[0]
	st.Volumes = append(st.Volumes, pvesim.WorldVolume{Name: volume, File: disk, System: pvesim.System(name)})
	w.Guests = append(w.Guests, pvesim.WorldGuest{ID: id, Node: "pve1", Template: true, Config: map[string]string{
		"name": name, "ostype": "l26", "agent": "enabled=1", "scsihw": "virtio-scsi-pci", "serial0": "socket",
		"scsi0": "local:" + volume + ",size=" + size, "boot": "order=scsi0", "net0": "virtio,bridge=vmbr0",
	}})
}
