package privs_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
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

// mirror answers every URL with the same image, which boots.
type mirror struct{}

func (mirror) RoundTrip(r *http.Request) (*http.Response, error) {
	const cluster = 1 << 16
	image := make([]byte, 3*cluster+512)
	be := binary.BigEndian
	copy(image, "QFI\xfb")
	be.PutUint32(image[4:], 3)
	be.PutUint32(image[20:], 16)               // bits of a cluster
	be.PutUint64(image[24:], 2<<30)            // size of the disk
	be.PutUint64(image[40:], cluster)          // first table
	be.PutUint64(image[cluster:], 2*cluster)   // second table
	be.PutUint64(image[2*cluster:], 3*cluster) // first sector
	image[3*cluster+510], image[3*cluster+511] = 0x55, 0xaa
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/octet-stream"}}, ContentLength: int64(len(image)), Body: io.NopCloser(bytes.NewReader(image)),
	}, nil
}
