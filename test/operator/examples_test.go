package operator_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/example"
	"github.com/proxplane/proxplane/test/kit/sim"
	"github.com/proxplane/proxplane/test/kit/thorough"
)

// Every example is applied both ways, by the command line to one Proxmox and by
// kubectl and the operator to another, and makes the same machines. Unless all cases are wanted, each fourth is.
func TestEveryExampleIsTheSameBothWays(t *testing.T) {
	t.Parallel()
	folders, err := example.Folders(examples)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range folders {
		if i%4 > 0 && !thorough.All() {
			continue // those of the other folders take the same ways
		}
		t.Run(filepath.Base(f), func(t *testing.T) {
			t.Parallel()
			bothWays(t, example.Served(t, f))
		})
	}
}

const examples = "../../examples"

func exampleWorld(t *testing.T) *pvesim.World {
	t.Helper()
	w, err := example.World(examples)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func bothWays(t *testing.T, folder string) {
	s := beginOn(t, exampleWorld(t))
	untouched := machinesIn(s.pve)
	byHand := s.serve(exampleWorld(t))
	s.applyByHand(byHand, folder)

	s.operate("--alone")
	k := example.Kubectl(s.must)
	if err := k.Apply(folder); err != nil {
		t.Fatal(err)
	}
	k.PointAt(s.pve, folder)
	k.AwaitReady(patience.String())
	s.pve.Settle()
	if diff := cmp.Diff(machinesIn(byHand), machinesIn(s.pve)); diff != "" {
		t.Errorf("the operator has made something else (-command line +operator):\n%s", diff)
	}
	s.kubectl("delete", "vmsnapshot,vmclone,vm", "--all", "--timeout", patience.String())
	s.kubectl("delete", "vmimage", "--all", "--timeout", patience.String())
	if diff := cmp.Diff(untouched, machinesIn(s.pve)); diff != "" {
		t.Errorf("something is left behind (-before +after):\n%s", diff)
	}
}

var (
	volumeDirs = regexp.MustCompile(`([:/])\d+/`)
	volumeIDs  = regexp.MustCompile(`(vm|base)-\d+-`)
	seedNames  = regexp.MustCompile(`proxplane-\d+-[0-9a-f]+`)
	stateTags  = regexp.MustCompile(`;?pp\.[a-z0-9.]+`)
	ownMACs    = regexp.MustCompile(`(?i)(virtio|e1000e?)=[0-9a-f:]{17}`)
)

// machinesIn are all guests of a Proxmox, by name and in words, without what is each
// guest's own: its VMID, whose it is, and addresses that come from that. Copies of a template share
// a name.
func machinesIn(server *sim.Server) map[string][]string {
	out := map[string][]string{}
	server.Do(func(st *pvesim.State) {
		for _, vm := range st.VMs {
			var lines []string
			leased := leasedAddresses(vm)
			for key, value := range vm.Conf {
				value = leased.Replace(value)
				switch key {
				case "smbios1", "vmgenid", "meta":
					continue
				case "description":
					value, _, _ = model.ParseDescription(value)
				}
				value = stateTags.ReplaceAllString(value, "")
				value = volumeIDs.ReplaceAllString(value, "$1-ID-")
				value = volumeDirs.ReplaceAllString(value, "${1}ID/")
				value = seedNames.ReplaceAllString(value, "proxplane-SEED")
				value = ownMACs.ReplaceAllString(value, "$1=MAC")
				value = strings.ReplaceAll(value, strconv.Itoa(vm.ID), "ID")
				lines = append(lines, key+": "+value)
			}
			for name, snap := range vm.Snaps {
				text, _, _ := model.ParseDescription(snap.Conf["description"])
				lines = append(lines, fmt.Sprintf("snapshot %s: %q, memory %t", name, text, snap.Conf["vmstate"] != ""))
			}
			lines = append(lines, fmt.Sprintf("runs: %t", vm.Run != nil))
			if vm.Run != nil && vm.Run.Guest != nil {
				lines = append(lines, "inside it is called "+vm.Run.Guest.Name)
				for _, told := range vm.Run.Guest.Net {
					lines = append(lines, leased.Replace("inside it is told "+strings.Join(told, ", ")))
				}
			}
			for id, pool := range st.Pools {
				if pool.VMs[vm.ID] {
					lines = append(lines, "in pool "+id)
				}
			}
			for id := range st.HA.Resources {
				if id == fmt.Sprintf("vm:%d", vm.ID) {
					lines = append(lines, "under HA")
				}
			}
			slices.Sort(lines)
			out[vm.Name()] = append(out[vm.Name()], strings.Join(lines, "\n"))
			slices.Sort(out[vm.Name()])
		}
	})
	return out
}

// leasedAddresses takes the addresses that a guest has from pools out of texts. Which ones
// it gets follows from whose it is.
func leasedAddresses(vm *pvesim.VM) *strings.Replacer {
	_, m, _ := model.ParseDescription(vm.Conf["description"])
	var pairs []string
	for _, addresses := range m.Addresses {
		for _, a := range addresses {
			pairs = append(pairs, "="+a+"/", "=LEASED/", " "+a+"/", " LEASED/")
		}
	}
	return strings.NewReplacer(pairs...)
}
