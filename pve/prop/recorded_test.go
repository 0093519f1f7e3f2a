package prop_test

import (
	"bufio"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pve/prop"
)

func lines(t testing.TB, file string) [][]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all [][]string
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if !strings.HasPrefix(sc.Text(), "#") {
			all = append(all, strings.Split(sc.Text(), "\t"))
		}
	}
	if len(all) == 0 {
		t.Fatalf("nothing in %s", file)
	}
	return all
}

// What Proxmox refuses and parsing here doesn't, since it isn't a matter of
// understanding the value.
var notRefusedHere = map[string]string{
	"cpu foo":                          "which processors there are is known to Proxmox only",
	"machine foo":                      "which machines there are is known to Proxmox only",
	"sshkeys ssh-rsa%20AAAA%20test":    "whether it is a good key is known to ssh-keygen",
	"ide2 local:iso/tiny.iso":          "wants media=cdrom, by what the storage says about the volume",
	"scsi1 local:cloudinit":            "there is one already",
	"scsi6 file=local:1,format=foo":    "which formats there are is known to Proxmox only",
	"scsi7 local:-1":                   "names of volumes depend on the kind of storage",
	"virtio0 local:1,iothread=1,ssd=1": "ssd isn't for virtio, but a Disk doesn't know where it is plugged in",
	"scsi31 local:1":                   "the value is good, the key isn't",
}

var (
	randomMAC = regexp.MustCompile(`=BC(:[0-9A-F]{2}){5}`)
	newVolume = regexp.MustCompile(`^local:(\d+|cloudinit)`)
)

func TestValuesAreUnderstoodAsByProxmox(t *testing.T) {
	tried := 0
	for _, l := range lines(t, "testdata/recorded.txt") {
		key, sent, result := l[0], l[1], l[2]
		k, ok := kindByKey(key)
		if !ok {
			continue
		}
		tried++
		v, err := k.parse(sent)
		if result[0] == '!' {
			if _, known := notRefusedHere[key+" "+sent]; known == (err != nil) {
				t.Errorf("%s=%s: Proxmox says %q, got error %v", key, sent, result[1:], err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s=%s: Proxmox takes it, got error %v", key, sent, err)
			continue
		}
		if result[0] == '?' {
			continue
		}
		stored := result[1:]
		switch {
		case newVolume.MatchString(sent):
			// Proxmox makes a volume and stores that.
		case k.name == "SSHKeys":
			if want, err := k.parse(stored); err != nil || !v.equal(want.any) {
				t.Errorf("%s=%s: stored as %q, which isn't the same (%v)", key, sent, stored, err)
			}
		case k.name == "Net" && !strings.Contains(sent, ":"):
			if got := strings.Replace(stored, randomMAC.FindString(stored), "", 1); v.text != got {
				t.Errorf("%s=%s: printed as %q, stored as %q but for the address", key, sent, v.text, got)
			}
		case k.name == "Disk" && strings.HasPrefix(sent, "local:iso/"):
			if got, _, _ := strings.Cut(stored, ",size="); v.text != got {
				t.Errorf("%s=%s: printed as %q, stored as %q but for the size", key, sent, v.text, got)
			}
		case v.text != stored:
			t.Errorf("%s=%s: printed as %q, stored as %q", key, sent, v.text, stored)
		}
	}
	if tried < 60 {
		t.Errorf("only %d values tried", tried)
	}
}

func TestStoredValuesArePrintedAsTheyAre(t *testing.T) {
	for _, l := range lines(t, "testdata/stored.txt") {
		key, stored := l[0], l[1]
		k, ok := kindByKey(key)
		if !ok {
			continue
		}
		v, err := k.parse(stored)
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		if v.text != stored && k.name != "SSHKeys" {
			t.Errorf("%s=%s printed as %s", key, stored, v.text)
		}
		checkRoundTrip(t, k, stored)
	}
}

func TestNewVolumesAreOfTheSizeThatProxmoxMakes(t *testing.T) {
	for _, l := range lines(t, "testdata/recorded.txt") {
		if !newVolume.MatchString(l[1]) || l[2][0] != '=' || !strings.HasPrefix(l[0], "scsi") {
			continue
		}
		sent, err := prop.ParseDisk(l[1])
		if err != nil {
			t.Fatal(err)
		}
		stored, err := prop.ParseDisk(l[2][1:])
		if err != nil {
			t.Fatal(err)
		}
		if storage, size, ok := sent.New(); !ok || storage != "local" || size != stored.Size {
			t.Errorf("%s asks for %v on %q, Proxmox made %v", l[1], size, storage, stored.Size)
		}
	}
}
