//go:build linux

package qemu

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/need"
)

func machine() *pvesim.Machine {
	return &pvesim.Machine{
		ID: 100, Node: "pve1", Name: "web", Type: "pc", CPUs: 1, Sockets: 1, Cores: 2, Memory: 512, Agent: true, Balloon: true, SCSI: "virtio-scsi-pci",
		Drives: []pvesim.MachineDrive{{Key: "scsi0", Disk: "disk-1"}, {Key: "virtio1", Disk: "disk-2"}, {Key: "ide2", CDROM: true, ISO: "/x,y.iso"}, {Key: "sata3", CDROM: true}},
		NICs:   []pvesim.MachineNIC{{Key: "net0", Model: "virtio", MAC: "bc:24:11:00:00:01"}},
	}
}

func TestPathsOnTheNodeAreFoundInItsFolder(t *testing.T) {
	b := &Backend{dir: "/q"}
	m := machine()
	m.Args = `-fw_cfg name=opt/x,file=/run/proxplane/100.ign -chardev "socket,id=fs,path=/run/virtiofs/a b" -virtfs local,path=/srv/run/proxplane/,mount_tag=t`
	args, err := b.commandLine(m, wires{nics: map[string]int{"net0": 5}})
	if err != nil {
		t.Fatal(err)
	}
	got := args[len(args)-6:]
	want := []string{
		"-fw_cfg", "name=opt/x,file=/q/nodes/pve1/run/proxplane/100.ign",
		"-chardev", "socket,id=fs,path=/q/nodes/pve1/run/virtiofs/a b",
		"-virtfs", "local,path=/srv/run/proxplane/,mount_tag=t",
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestWhatRealMachinesLackIsSaid(t *testing.T) {
	b := &Backend{dir: "/q"}
	for name, change := range map[string]func(*pvesim.Machine){
		"virtio9: real machines have virtio0 to virtio7 only": func(m *pvesim.Machine) { m.Drives[0].Key = "virtio9" },
		"net8: real machines have net0 to net7 only":          func(m *pvesim.Machine) { m.NICs[0].Key = "net8" },
		"net0: no network card i82551 in real machines":       func(m *pvesim.Machine) { m.NICs[0].Model = "i82551" },
		"OVMF_CODE_4M.fd isn't installed":                     func(m *pvesim.Machine) { m.UEFI = true },
	} {
		m := machine()
		change(m)
		if _, err := b.commandLine(m, wires{nics: map[string]int{"net0": 5}}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// QEMU itself says whether it has such devices on such boards.
func TestQEMUTakesTheCommandLine(t *testing.T) {
	tools, err := findTools()
	need.None(t, err)
	for _, board := range []string{"pc", "q35"} {
		b, err := New(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		m := machine()
		m.Type, m.Pluggable, m.Memory, m.Modules, m.NICs, m.Agent = board, true, 1024, []int64{512}, nil, false
		m.Drives[2].ISO = ""
		for _, disk := range []string{"disk-1", "disk-2"} {
			if err := b.MakeDisk(t.Context(), disk, pvesim.NewDisk{Size: 1 << 20}); err != nil {
				t.Fatal(err)
			}
		}
		args, err := b.commandLine(m, wires{})
		if err != nil {
			t.Fatal(err)
		}
		// The monitor's descriptor isn't there; a monitor that quits is.
		at := strings.Join(args, "\x00")
		at = strings.Replace(at, "socket,id=qmp,fd=0", "null,id=qmp", 1)
		cmd := exec.CommandContext(t.Context(), tools.qemu, append(strings.Split(at, "\x00"), "-S", "-monitor", "stdio")...)
		cmd.Stdin = strings.NewReader("quit\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", board, err, out)
		}
	}
}
