package cli

import (
	"testing"
	"time"

	"github.com/proxplane/proxplane/pvesim"
)

// While Proxmox can't get the lock of a storage it destroys machines without their disks: these go by
// steps of their own, which the person sees, and the machine isn't gone before.
func TestDeleteRemovesWhatProxmoxHasLeft(t *testing.T) {
	l := ownLab(t)
	file := l.write("desk.yaml", `apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 2, memory: 4Gi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: ubuntu}
spec: {source: ubuntu-22-template}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: desk}
spec:
  vmid: 7000
  classRef: {name: small}
  imageRef: {name: ubuntu}
  networks: [{name: lan}]
`)
	l.must("apply", "-f", file)
	// Long enough that a machine which is busy with other tests gets to both disks meanwhile.
	held := pvesim.Fault{Method: "DELETE", Path: "/nodes/*/qemu/7000", Times: 1, Hold: "storage:nfs", For: pvesim.Duration(4 * time.Minute)}
	if _, err := l.sim.AddFault(held); err != nil {
		t.Fatal(err)
	}
	wantText(t, l.must("delete", "-f", file, "--yes"),
		`^✓ vm/desk +remove nfs:\S*/vm-7000-disk-0\.\S+: Proxmox couldn't remove it when VM 7000 was destroyed`,
		`^✓ vm/desk +gone`)
}
