package operator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/sim"
)

// Every example is applied both ways, by the command line to one Proxmox and by
// kubectl and the operator to another, and makes the same machines.
func TestEveryExampleIsTheSameBothWays(t *testing.T) {
	t.Parallel()
	var folders []string
	for _, pattern := range []string{"../../examples/*", "../../examples/seed/*", "../../examples/first-boot/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if files, err := filepath.Glob(f + "/*.yaml"); err == nil && len(files) > 0 && elsewhere[filepath.Base(f)] == "" {
				folders = append(folders, f)
			}
		}
	}
	if len(folders) < 23 {
		t.Fatalf("only %d examples", len(folders))
	}
	for _, f := range folders {
		t.Run(filepath.Base(f), func(t *testing.T) {
			t.Parallel()
			bothWays(t, f)
		})
	}
}

// elsewhere are folders that can't be applied both ways.
var elsewhere = map[string]string{
	"testdata": "is no example",
	"flatcar":  "has files beside its manifest, which Kubernetes hasn't",
	"snippets": "logs in to nodes, as the tests of the command line do",
}

// needsRoot tells whether an example has something that only root@pam may do.
func needsRoot(folder string) bool { return filepath.Base(folder) == "host-side" }

func exampleWorld(t *testing.T) *pvesim.World {
	t.Helper()
	w, err := pvesim.LoadWorld("../../examples/testdata/world.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sim.Quick(w)
	w.Users = slices.DeleteFunc(w.Users, func(u pvesim.WorldUser) bool { return u.ID == sim.User })
	return w
}

func bothWays(t *testing.T, folder string) {
	s := beginOn(t, exampleWorld(t))
	untouched := machinesIn(s.pve)
	byHand := s.serve(exampleWorld(t))
	s.applyByHand(byHand, folder)

	s.operate("--alone")
	s.applyExample(folder)
	s.pointAtSim(folder)
	for _, kind := range []string{"vm", "vmclone", "vmsnapshot"} {
		if names := strings.Fields(s.kubectl("get", kind, "-o", "name")); len(names) > 0 {
			s.waitFor(append([]string{"--for=condition=Ready"}, names...)...)
		}
	}
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

// applyExample has kubectl take an example. It takes all as it is, but two things
// mean something else to kubectl than to people.
func (s *story) applyExample(folder string) {
	s.t.Helper()
	switch filepath.Base(folder) {
	case "storage":
		// Where "---" was forgotten, kubectl takes the last object only.
		text, err := os.ReadFile(filepath.Join(folder, "classes.yaml"))
		if err != nil {
			s.t.Fatal(err)
		}
		s.apply(regexp.MustCompile(`(?m)^apiVersion:`).ReplaceAllString(string(text), "---\napiVersion:"))
		s.kubectl("apply", "-f", folder)
	case "reconfigure":
		// An object "with the existing spec" is a whole object to kubectl.
		s.kubectl("apply", "-f", folder)
		s.kubectl("patch", "vm", "web-server", "--type=merge", "-p", `{"spec":{"classRef":{"name":"large"},"updatePolicy":{"restart":"Allow"}}}`)
	default:
		s.kubectl("apply", "-f", folder)
	}
}

// pointAtSim says where Proxmox really is and who we are, as people would have to.
func (s *story) pointAtSim(folder string) {
	s.t.Helper()
	secret := fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: pve-credentials}\nstringData:\n  token_id: %q\n  token_secret: %q\n", sim.TokenID, sim.TokenSecret)
	if filepath.Base(folder) != "insecure" {
		secret += fmt.Sprintf("  ca.crt: %q\n", sim.CA())
	}
	if needsRoot(folder) {
		secret = strings.NewReplacer("token_id: "+strconv.Quote(sim.TokenID), "username: root@pam", "token_secret: "+strconv.Quote(sim.TokenSecret), "password: proxplane").Replace(secret)
	}
	s.apply(secret)
	if s.kubectl("get", "provider", "-o", "name") == "" {
		s.apply("apiVersion: infra.virtrigaud.io/v1beta1\nkind: Provider\nmetadata: {name: proxmox}\nspec: {type: proxmox, endpoint: 'https://pve.example:8006'}\n")
	}
	for _, p := range strings.Fields(s.kubectl("get", "provider", "-o", "name")) {
		s.kubectl("patch", p, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"endpoint":%q,"credentialSecretRef":{"name":"pve-credentials"}}}`, s.pve.Endpoint))
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
// guest's own: its VMID, whose it is, and addresses that come from that.
func machinesIn(server *sim.Server) map[string]string {
	out := map[string]string{}
	server.Do(func(st *pvesim.State) {
		for _, vm := range st.VMs {
			var lines []string
			for key, value := range vm.Conf {
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
					lines = append(lines, "inside it is told "+strings.Join(told, ", "))
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
			out[vm.Name()] = strings.Join(lines, "\n")
		}
	})
	return out
}
