// Package examples_test holds that every manifest here means what it should, and
// that those in seed are the documented ones to the letter.
package examples_test

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
)

// environment is for examples that leave something to it.
func environment(name string) string {
	return map[string]string{"PVE_ENDPOINT": "https://pve.example.com:8006", "PVE_TOKEN_ID": "me@pve!laptop", "PVE_TOKEN_SECRET": "secret"}[name]
}

func wanted(t *testing.T, folder string) manifest.Wanted {
	t.Helper()
	set, err := manifest.Read([]string{folder}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := set.Wanted(manifest.Options{Set: "examples", Getenv: environment})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 {
		t.Fatalf("%s is about %d clusters", folder, len(all))
	}
	return all[0]
}

// machines says which machines each example makes; each example is here.
var machines = map[string][]string{
	"first-boot/debian":        {"worker-1", "worker-2", "worker-3"},
	"first-boot/fedora-coreos": {"core"},
	"first-boot/flatcar":       {"cattle-1", "cattle-2"},
	"first-boot/host-side":     {"builder"},
	"first-boot/shares":        {"media-1", "media-2"},
	"first-boot/snippets":      {"mail"},
	"first-boot/talos":         {"talos-1", "talos-2", "talos-3"},
	"first-boot/ubuntu":        {"shop"},
	"fields":                   {"desk", "mail-1", "mail-test", "api-1", "api-2"},
	"images":                   {"web-1", "web-2", "router"},
	"quickstart":               {"web-1", "web-2", "db"},
	"seed/clone":               {"web-clone"},
	"seed/custom-ca":           {"web-server"},
	"seed/full-clone":          {"web-clone"},
	"seed/insecure":            {"web-server"},
	"seed/multi-nic":           {"multi-nic-vm"},
	"seed/multi-node":          {"somewhere"},
	"seed/nodes":               {"web-server"},
	"seed/password":            {"web-server"},
	"seed/placement":           {"db-1", "db-2"},
	"seed/reconfigure":         {"web-server"},
	"seed/snapshot":            {"web-server"},
	"seed/snapshot-memory":     {"web-server"},
	"seed/static-ip":           {"static-ip"},
	"seed/storage":             {"fast", "usual"},
	"seed/web-server":          {"web-server"},
}

func TestEveryExampleCanBeApplied(t *testing.T) {
	for _, pattern := range []string{"*", "seed/*", "first-boot/*"} {
		folders, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range folders {
			if _, known := machines[filepath.ToSlash(f)]; !known && f != "seed" && f != "first-boot" && f != "testdata" && f != "terraform" && f != "machines" && f != "cluster" && f != "karpenter" && !strings.HasSuffix(f, ".go") && !strings.HasSuffix(f, ".md") {
				t.Errorf("%s isn't tried", f)
			}
		}
	}
	for folder, want := range machines {
		var got []string
		for _, vm := range wanted(t, folder).Desired.VMs {
			got = append(got, vm.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s makes %v, want %v", folder, got, want)
		}
	}
}

func TestExamplesMeanWhatThePageSays(t *testing.T) {
	web := wanted(t, "seed/web-server")
	check(t, "web-server", web.Connection.Endpoints, []string{"https://pve.example.com:8006"})
	check(t, "web-server", web.Connection.Credentials.String(), "token virtrigaud@pve!vrtg-token")
	vm := web.Desired.VMs[0]
	check(t, "web-server", vm.Power, model.PowerOn)
	check(t, "web-server", web.Desired.Images[0].Template, "ubuntu-22-template")
	check(t, "web-server", some(vm.Options, "cores", "memory", "machine", "bios"), "cores=2 memory=4096 machine=q35 bios=ovmf")
	check(t, "web-server", vm.NICs[0].Bridge, "vmbr0")
	check(t, "web-server", vm.Disks[0].Root() && vm.Disks[0].Size == 40<<30, true)
	check(t, "web-server", strings.Contains(string(vm.Seed.Files["user-data"]), "packages:\n  - nginx"), true)

	check(t, "password", wanted(t, "seed/password").Connection.Credentials.String(), "password of virtrigaud@pve")
	ca := wanted(t, "seed/custom-ca").Connection
	check(t, "custom-ca", strings.HasPrefix(string(ca.TLS.CA), "-----BEGIN CERTIFICATE-----\nMIID"), true)
	check(t, "custom-ca", ca.Credentials.String(), "token me@pve!laptop")
	check(t, "insecure", wanted(t, "seed/insecure").Connection.TLS.Insecure, true)
	check(t, "nodes", wanted(t, "seed/nodes").Desired.VMs[0].Place.Nodes, []string{"pve-node-1", "pve-node-2"})
	check(t, "multi-node", wanted(t, "seed/multi-node").Desired.VMs[0].Place.Nodes, []string{"pve-1", "pve-2", "pve-3"})

	larger := wanted(t, "seed/reconfigure").Desired.VMs[0]
	check(t, "reconfigure", some(larger.Options, "cores", "memory"), "cores=8 memory=16384")
	check(t, "reconfigure", larger.Owner, vm.Owner)
	check(t, "reconfigure", larger.NICs, vm.NICs)
	check(t, "reconfigure", larger.Seed.Digest, vm.Seed.Digest)
	check(t, "reconfigure", slices.Contains(vm.Managed, "bios"), false)

	snap := wanted(t, "seed/snapshot").Desired.Snapshots[0]
	check(t, "snapshot", fmt.Sprintf("%v %s %s %v", snap.VM, snap.Name, snap.Description, snap.Memory), "virtualmachine/web-server before-upgrade Snapshot before system upgrade false")
	snap = wanted(t, "seed/snapshot-memory").Desired.Snapshots[0]
	check(t, "snapshot-memory", fmt.Sprintf("%s %s %v", snap.Name, snap.Description, snap.Memory), "before-upgrade Pre-maintenance snapshot true")
}

func TestNetworksClonesStorageAndPlacementMeanWhatThePageSays(t *testing.T) {
	nic := wanted(t, "seed/multi-nic").Desired.VMs[0]
	var plugs []string
	for _, n := range nic.NICs {
		plugs = append(plugs, fmt.Sprintf("%s %s %s %d", n.Slot, n.Name, n.Bridge, n.VLAN))
	}
	check(t, "multi-nic", plugs, []string{"net0 lan vmbr0 0", "net1 dmz vmbr1 100", "net2 mgmt vmbr2 0"})
	check(t, "multi-nic", nic.NICs[2].MAC, "02:00:00:AA:BB:CC")
	check(t, "multi-nic", some(nic.Options, "ipconfig0", "ipconfig1", "ipconfig2", "nameserver"),
		"ipconfig0=gw=192.168.1.1,ip=192.168.1.100/24 ipconfig1=ip=10.0.100.50/24 ipconfig2=ip=dhcp nameserver=8.8.8.8 1.1.1.1")

	clone := wanted(t, "seed/clone").Desired
	check(t, "clone", clone.VMs[0].Source.Full, false)
	check(t, "clone", clone.Images[0].Template, "template-vm")
	check(t, "full-clone", wanted(t, "seed/full-clone").Desired.VMs[0].Source.Full, true)
	static := wanted(t, "seed/static-ip").Desired.VMs[0]
	check(t, "static-ip", strings.Contains(string(static.Seed.Files["user-data"]), "addresses: [192.168.1.100/24]"), true)
	check(t, "static-ip", strings.Contains(string(static.Seed.Files["network-config"]), "dhcp4"), false)

	stored := wanted(t, "seed/storage").Desired.VMs
	check(t, "storage", fmt.Sprint(stored[0].Disks[0].Storage, " ", stored[0].Disks[0].Format, " ", stored[0].Source.Storage), "nvme-storage qcow2 nvme-storage")
	check(t, "storage", fmt.Sprint(stored[1].Disks[0].Storage, " ", stored[1].Disks[0].Format), "ssd-storage raw")

	place := wanted(t, "seed/placement").Desired.VMs[0]
	check(t, "placement", place.Place, model.Place{
		Nodes:        []string{"pve-node-1", "pve-node-2"},
		AntiAffinity: []model.Selector{{Key: "vm.type", Operator: "In", Values: []string{"database"}}},
		MaxPerNode:   10, MinFree: 4 << 30,
	})
	check(t, "placement", place.Place.AntiAffinity[0].Matches(place.Labels), true)
}

func check[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// some prints some of the options.
func some(options map[string]string, keys ...string) string {
	var out []string
	for _, k := range keys {
		out = append(out, k+"="+options[k])
	}
	return strings.Join(out, " ")
}

// TestTranslationsOfTheSameAreEqual: the engine takes what differs from before for a change.
func TestTranslationsOfTheSameAreEqual(t *testing.T) {
	recipes, own := 0, 0
	for folder := range machines {
		once, again := wanted(t, folder).Desired, wanted(t, folder).Desired
		if diff := cmp.Diff(once, again, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" || !reflect.DeepEqual(once, again) {
			t.Errorf("%s isn't the same when it is translated again:\n%s", folder, diff)
		}
		for _, vm := range once.VMs {
			if vm.Seed != nil && vm.Seed.Recipe != nil {
				recipes++
			}
			own += len(vm.Own) + len(vm.Hook)
		}
	}
	if recipes == 0 || own == 0 {
		t.Errorf("%d of the first-boot data and %d texts depend on the VMID", recipes, own)
	}
}
