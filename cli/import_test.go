package cli

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/anyguest"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// edited are settings of machines that Proxmox itself or old versions of it have left,
// by the name of the machine.
var edited = map[string]map[string]string{
	"plain":  {"scsi0": "local-lvm:vm-200-disk-0,size=2252M", "unused0": "local-lvm:vm-200-disk-9"},
	"rigid":  {"scsi0": "local-lvm:vm-208-disk-0,size=4194308K", "scsi1": "local-lvm:vm-208-disk-1,size=528K"},
	"drives": {"scsi3": "/dev/disk/by-id/ata-DISK,size=488386584K", "scsi4": "local-lvm:vm-211-disk-7", "sata2": "/mnt/images/old.raw"},
}

var macs = regexp.MustCompile(`mac: [0-9a-f:]+`)

var diskVolume = regexp.MustCompile(`^(local-lvm|nfs):(?:\d+/)?(?:base-\d+-disk-\d+/)?(vm-(\d+)-[a-z]+(?:-\d+)?(?:\.(qcow2|raw|vmdk))?)`)

// allocate makes the disks that values of configs name, where there are none yet.
func (l *lab) allocate(client *pve.Client, values []string) {
	l.Helper()
	made := map[string]bool{}
	for _, value := range values {
		v := diskVolume.FindStringSubmatch(value)
		if v == nil || made[v[1]+v[2]] {
			continue
		}
		made[v[1]+v[2]] = true
		vmid, err := strconv.Atoi(v[3])
		if err != nil {
			l.Fatal(err)
		}
		format := v[4]
		if format == "" {
			format = "raw"
		}
		_, err = client.Storage("pve2", v[1]).Alloc(l.Context(), pve.AllocOptions{VMID: vmid, Filename: v[2], Size: "4M", Format: format})
		if err != nil && !strings.Contains(err.Error(), "already exists") {
			l.Fatal(err)
		}
	}
}

// client is somebody with a browser.
func (l *lab) client() *pve.Client {
	l.Helper()
	client, err := pve.New(pve.Config{
		Endpoints: []string{l.env["PVE_ENDPOINT"]}, Credentials: pve.Password("root@pam", "proxplane"), TLS: pve.TLS{CA: []byte(l.env["PVE_CA_BUNDLE"])},
	})
	if err != nil {
		l.Fatal(err)
	}
	return client
}

// made makes these machines and returns their VMIDs.
func (l *lab) made() []string {
	l.Helper()
	client := l.client()
	var ids []string
	for i, m := range anyguest.ByHand {
		id := 200 + i
		upid, err := client.Node("pve2").Create(l.Context(), pve.CreateOptions{ID: id, Settings: m.Config})
		if err == nil {
			_, err = client.Task(upid).Wait(l.Context())
		}
		if err != nil {
			l.Fatalf("%s: %v", m.Reason, err)
		}
		ids = append(ids, fmt.Sprint(id))
	}
	for _, conf := range edited {
		l.allocate(client, slices.Collect(maps.Values(conf)))
	}
	l.sim.Do(func(st *pvesim.State) {
		for _, vm := range st.VMs {
			maps.Copy(vm.Conf, edited[vm.Name()])
		}
	})
	upid, err := client.VM("pve1", 9000).Clone(l.Context(), pve.CloneOptions{NewID: 300, Name: "linked"})
	if err == nil {
		_, err = client.Task(upid).Wait(l.Context())
	}
	if err != nil {
		l.Fatal(err)
	}
	return append(ids, "300")
}

func TestImportedManifestsChangeNothing(t *testing.T) {
	l := ownLab(t)
	ids := l.made()
	for i, id := range ids {
		code, out, stderr := l.run("import", id)
		if code != ui.ExitOK {
			reason := "a linked clone"
			if i < len(anyguest.ByHand) {
				reason = anyguest.ByHand[i].Reason
			}
			t.Errorf("%s: exit %d\n%s%s", reason, code, stderr, out)
		}
	}
	all := append([]string{"import"}, ids...)
	file := l.write("all.yaml", l.must(all...))
	code, _, stderr := l.run(append(all, "--adopt")...)
	if code != ui.ExitFailed {
		t.Errorf("adopt without a yes: exit %d", code)
	}
	wantText(t, stderr, `VM 200 on pve2 becomes vm/plain of set default`, `add --yes`)
	_, out, _ := l.run("plan", "-f", file)
	wantText(t, out, `VMID 200 is taken by "plain"`)

	l.must(append(all, "--adopt", "--yes")...)
	wantText(t, l.must("plan", "-f", file, "--deep"), `^Nothing to do`)
	wantText(t, l.must("plan", "-f", file), `^Nothing to do`)
	again := l.must(all...)
	if text, _ := os.ReadFile(file); again != string(text) {
		t.Errorf("imported again, the manifests are others:\n%s", cmp.Diff(string(text), again))
	}
	_, _, stderr = l.run("import", "200", "--set", "other")
	wantText(t, stderr, `VM 200 is vm/plain of set default`)
	_, _, stderr = l.run("import", "9000")
	wantText(t, stderr, `is a template`)
	wantText(t, l.must("delete", "vm/plain", "--yes"), `✓ vm/plain +released`)
}

func TestImportedManifestsReadWell(t *testing.T) {
	l := ownLab(t)
	ids := l.made()
	out := l.must("import", ids[2], ids[4], ids[1], "300")
	golden.Compare(t, "import.yaml", macs.ReplaceAllString(out, "mac: 00:00:00:00:00:00"))
	if strings.Count(out, "kind: VMClass") != 3 {
		t.Errorf("equal classes should be written once")
	}
}
