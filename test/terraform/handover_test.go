package terraform_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/sim"
)

// handed is a machine as manifests have it.
const handed = `apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 2, memory: 2Gi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: ubuntu}
spec: {source: ubuntu-22-template}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: web}
spec:
  classRef: {name: small}
  imageRef: {name: ubuntu}
  networks: [{name: lan, bridge: vmbr0}]
  disks: [{name: root, size: 20Gi}]
  tags: [shop]
  description: handed around
`

// owned: the marker of a machine says whose it is.
func (b *bench) owned(name, door string) {
	b.Helper()
	b.conf(name, map[string]string{"description": fmt.Sprintf(`"door":%q`, door)})
}

// must runs the command line, which must succeed.
func (b *bench) must(args ...string) string {
	b.Helper()
	out, code := b.proxplane(args...)
	if code != 0 {
		b.Fatalf("proxplane %s ended with %d:\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// A machine goes from the command line to Terraform and back. At each door the plan is empty once it is there, and nothing of the
// machine changes but whose it is.
func TestAMachineIsHandedFromDoorToDoor(t *testing.T) {
	b := begin(t)
	b.write("web.yaml", handed)
	b.must("apply", "-f", "web.yaml", "--set", "shop", "--yes")
	b.must("plan", "-f", "web.yaml", "--set", "shop", "--detailed-exitcode")
	b.owned("web", "vm")
	configs, since := b.configs(), b.running()

	b.config("import {\n  to = proxplane_virtual_machine.web\n  id = \"vm/shop/web\"\n}\n")
	b.do("plan", "-generate-config-out=web.tf")
	b.onlyAdopted(1)
	b.says(b.planned(), "is vm/web of set shop now", "Take it out of what set shop is made from")
	b.apply()
	b.settled()
	b.owned("web", "terraform")
	// The manifests would make another one in its place, and say so.
	if _, code := b.proxplane("plan", "-f", "web.yaml", "--set", "shop", "--detailed-exitcode"); code == 0 {
		t.Error("the command line still has the machine as its own")
	}

	b.destroy()
	b.must("import", "web", "--adopt", "--yes", "-f", "web.yaml", "--set", "shop")
	b.must("plan", "-f", "web.yaml", "--set", "shop", "--detailed-exitcode")
	b.owned("web", "vm")
	b.same(configs)
	if now := b.running(); !maps.Equal(now, since) {
		t.Errorf("it ran since %v, and runs since %v", since, now)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "web.tf")); err != nil {
		t.Error(err)
	}
}

// A machine of an object in a Kubernetes is imported by its set, namespace and name.
func TestAMachineOfTheOperatorIsImported(t *testing.T) {
	b := begin(t)
	owner := model.Owner{Door: "vm", Set: "prod", UID: "6d0f3b9e-0000-4000-8000-000000000001", Key: model.Key{Kind: "VirtualMachine", Namespace: "team", Name: "web"}}
	b.byHand(700, pve.Settings{
		"name": "web", "memory": "1024", "scsi0": "local-lvm:8", "net0": "virtio=02:00:00:00:07:00,bridge=vmbr0",
		"description": model.Describe("", model.Marker{Owner: owner, VMID: 700}), "tags": strings.Join([]string{model.Tag, model.StateTag(owner, "x")}, ";"),
	})
	b.server.Advance(10 * time.Second) // lists show tags then
	before := b.configs()
	b.config("import {\n  to = proxplane_virtual_machine.web\n  id = \"prod/team/web\"\n}\n")
	b.do("plan", "-generate-config-out=web.tf")
	b.onlyAdopted(1)
	b.says(b.planned(), "of set prod now")
	b.apply()
	b.settled()
	b.same(before)
	b.owned("web", "terraform")
	b.server.Do(func(st *pvesim.State) {
		if vm := sim.VM(st, "web"); vm.ID != 700 || strings.Contains(vm.Conf["description"], owner.UID) {
			t.Errorf("VM %d says %s", vm.ID, vm.Conf["description"])
		}
	})
}
