package prop_test

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pve/prop"
)

// fuzz fuzzes the parser of one kind, beginning with all that was recorded and
// some odd shapes.
func fuzz(f *testing.F, name string) {
	var k kind
	for _, k = range kinds {
		if k.name == name {
			break
		}
	}
	for _, file := range []string{"testdata/recorded.txt", "testdata/stored.txt"} {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for sc := bufio.NewScanner(strings.NewReader(string(data))); sc.Scan(); {
			if l := strings.Split(sc.Text(), "\t"); len(l) > 1 && k.keys.MatchString(l[0]) {
				f.Add(l[1])
			}
		}
	}
	for _, s := range []string{"", ",", "a", "=", "a=", "=a", "a=b=c", " , ,", "a=1,a=2", "x=%2C", "size=1.5T", "host=1;2 3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkRoundTrip(t, k, s) })
}

func FuzzList(f *testing.F) {
	f.Add("virtio=BC:24:11:00:00:01,bridge=vmbr0")
	f.Add("1,,a=b=c")
	f.Fuzz(func(t *testing.T, s string) {
		l, err := prop.ParseList(s)
		if err != nil {
			return
		}
		again, err := prop.ParseList(l.String())
		if err != nil || again.String() != l.String() {
			t.Errorf("%q is %v, which prints as %q, which is %v (%v)", s, l, l, again, err)
		}
	})
}

func FuzzAgent(f *testing.F)    { fuzz(f, "Agent") }
func FuzzBoot(f *testing.F)     { fuzz(f, "Boot") }
func FuzzCICustom(f *testing.F) { fuzz(f, "CICustom") }
func FuzzCPU(f *testing.F)      { fuzz(f, "CPU") }
func FuzzDisk(f *testing.F)     { fuzz(f, "Disk") }
func FuzzEFIDisk(f *testing.F)  { fuzz(f, "EFIDisk") }
func FuzzHostPCI(f *testing.F)  { fuzz(f, "HostPCI") }
func FuzzHotplug(f *testing.F)  { fuzz(f, "Hotplug") }
func FuzzIPConfig(f *testing.F) { fuzz(f, "IPConfig") }
func FuzzMachine(f *testing.F)  { fuzz(f, "Machine") }
func FuzzMemory(f *testing.F)   { fuzz(f, "Memory") }
func FuzzNUMA(f *testing.F)     { fuzz(f, "NUMA") }
func FuzzNet(f *testing.F)      { fuzz(f, "Net") }
func FuzzRNG(f *testing.F)      { fuzz(f, "RNG") }
func FuzzSMBIOS1(f *testing.F)  { fuzz(f, "SMBIOS1") }
func FuzzSSHKeys(f *testing.F)  { fuzz(f, "SSHKeys") }
func FuzzSerial(f *testing.F)   { fuzz(f, "Serial") }
func FuzzSize(f *testing.F)     { fuzz(f, "Size") }
func FuzzStartup(f *testing.F)  { fuzz(f, "Startup") }
func FuzzTPMState(f *testing.F) { fuzz(f, "TPMState") }
func FuzzTags(f *testing.F)     { fuzz(f, "Tags") }
func FuzzUSB(f *testing.F)      { fuzz(f, "USB") }
func FuzzVGA(f *testing.F)      { fuzz(f, "VGA") }
func FuzzVirtioFS(f *testing.F) { fuzz(f, "VirtioFS") }
func FuzzVolumeID(f *testing.F) { fuzz(f, "VolumeID") }
func FuzzWatchdog(f *testing.F) { fuzz(f, "Watchdog") }
