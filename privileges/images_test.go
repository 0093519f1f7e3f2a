package privileges_test

import (
	"context"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

// localDisks is a world of nodes with disks of their own, and a template on the first.
func localDisks(w *pvesim.World) {
	w.Storages = []pvesim.WorldStorage{
		{Name: "local", Type: "dir", Path: "/var/lib/vz", Size: 100 << 30, Content: []string{"iso", "import"}},
		{Name: "local-lvm", Type: "lvmthin", Size: 300 << 30, Content: []string{"images"}, Options: map[string]string{"vgname": "pve", "thinpool": "data"}},
	}
	w.Guests = []pvesim.WorldGuest{{ID: 9000, Node: "pve1", Template: true, Config: map[string]string{
		"name": "debian-12", "memory": "1024", "scsi0": "local-lvm:4", "ide2": "local-lvm:cloudinit", "net0": "virtio,bridge=vmbr0", "boot": "order=scsi0",
	}}}
}

func securityGroup(c *cluster, _ model.Desired) error {
	return c.root.Call(context.Background(), "POST", "/cluster/firewall/groups", pve.Params{"group": "web"}, nil)
}

// imageStories are about images on several nodes, and firewalls.
func imageStories() []story {
	apart := func(image string) string {
		return class + `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMPlacementPolicy
metadata: {name: apart}
spec:
  antiAffinity: [{key: app, operator: In, values: [web]}]
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: ubuntu}
spec: {` + image + `}
---
` + machine("one", fromImage+"  placementRef: {name: apart}\n") + machine("two", fromImage+"  placementRef: {name: apart}\n")
	}
	return []story{
		{name: "an image that each node fetches", world: localDisks, yaml: apart(`url: "https://images.example.com/os.qcow2"`)},
		{name: "a packed image that this process uploads", world: localDisks, yaml: apart(`url: "https://images.example.com/os.qcow2.gz"`)},
		{name: "a template that is copied", world: localDisks, yaml: apart("source: debian-12")},
		{name: "a machine with a firewall", prepare: securityGroup, yaml: class + image + machine("one", fromImage+`
  networks: [{name: lan}]
  firewall: {policyIn: DROP, rules: [{type: in, action: ACCEPT, macro: SSH}, {securityGroup: web, network: lan}]}`)},
	}
}

func TestExactlyTheComputedPrivilegesAreEnoughForImagesAndFirewalls(t *testing.T) {
	for _, s := range imageStories() {
		s.suffice(t, root)
	}
}

// One is left out at a time. A template whose copies lack a privilege is used where it is, and the plan says which: the
// machines that keep apart aren't all made then.
func TestNoneOfThePrivilegesForImagesAndFirewallsCanBeLeftOut(t *testing.T) {
	for _, s := range imageStories() {
		s.needsAll(t)
	}
}
