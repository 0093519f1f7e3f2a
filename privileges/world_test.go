package privileges_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
)

// exampleWorld has all that the examples name.
func exampleWorld(w *pvesim.World) {
	for _, name := range []string{"pve-1", "pve-2", "pve-3", "pve-node-1", "pve-node-2"} {
		node := w.Nodes[0]
		node.Name, node.IP = name, ""
		w.Nodes = append(w.Nodes, node)
	}
	for _, name := range []string{"nvme-storage", "ssd-storage"} {
		w.Storages = append(w.Storages, pvesim.WorldStorage{
			Name: name, Type: "nfs", Path: "/mnt/pve/" + name, Content: []string{"images"}, Size: 4 << 40,
			Options: map[string]string{"server": "192.168.77.10", "export": "/srv/" + name},
		})
	}
	template := w.Guests[0]
	template.ID = 9001
	template.Config = map[string]string{"name": "template-vm", "scsi0": "nfs:4", "net0": "virtio,bridge=vmbr1", "agent": "1", "boot": "order=scsi0"}
	w.Guests = append(w.Guests, template)
}

// stories are the examples, and what they have nothing of.
func stories(t *testing.T) []story {
	folders, err := filepath.Glob(filepath.Join("..", "examples", "seed", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var all []story
	for _, f := range folders {
		all = append(all, story{name: filepath.Base(f), yaml: example(t, "seed/"+filepath.Base(f)), world: exampleWorld})
	}
	all = append(all, story{name: "quickstart", yaml: example(t, "quickstart"), world: exampleWorld})
	return slices.Concat(all, ownStories())
}
