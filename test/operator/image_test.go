package operator_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/pvesim"
)

// localDisks makes it a world of nodes with disks of their own, and a template on the first.
func localDisks(w *pvesim.World) {
	w.Storages = []pvesim.WorldStorage{
		{Name: "local", Type: "dir", Path: "/var/lib/vz", Size: 100 << 30, Content: []string{"iso", "import"}},
		{Name: "local-lvm", Type: "lvmthin", Size: 300 << 30, Content: []string{"images"}, Options: map[string]string{"vgname": "pve", "thinpool": "data"}},
	}
	w.Guests = []pvesim.WorldGuest{{ID: 9000, Node: "pve1", Template: true, System: pvesim.WithAgent, Config: map[string]string{
		"name": "debian-12", "memory": "1024", "agent": "1", "scsihw": "virtio-scsi-pci", "scsi0": "local-lvm:4", "ide2": "local-lvm:cloudinit", "net0": "virtio,bridge=vmbr0", "boot": "order=scsi0",
	}}}
}

// apart are three machines of an image that keep apart.
func apart(image string) string {
	return fmt.Sprintf(`---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 1, memory: 1Gi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMPlacementPolicy
metadata: {name: apart}
spec:
  antiAffinity: [{key: app, operator: In, values: [web]}]
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: img}
spec: {%s}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: web, labels: {app: web}}
spec:
  count: 3
  classRef: {name: small}
  imageRef: {name: img}
  placementRef: {name: apart}
  networks: [{name: lan}]
`, image)
}

// nodesOf are the nodes of the guests that are, or aren't, templates, but for the one that people made.
func (s *story) nodesOf(template bool) (nodes []string) {
	s.pve.Do(func(st *pvesim.State) {
		for id, vm := range st.VMs {
			if id != 9000 && (vm.Conf["template"] == "1") == template {
				nodes = append(nodes, vm.Node)
			}
		}
	})
	slices.Sort(nodes)
	return nodes
}

func TestATemplateIsCopiedToTheNodesOfItsMachines(t *testing.T) {
	t.Parallel()
	s := beginAlone(t, localDisks)
	s.apply(apart("source: debian-12"))
	s.waitFor("--for=condition=Ready", "vm/web", "vmimage/img")
	if machines, copies := s.nodesOf(false), s.nodesOf(true); !slices.Equal(machines, []string{"pve1", "pve2", "pve3"}) || !slices.Equal(copies, []string{"pve2", "pve3"}) {
		t.Errorf("machines are on %v, copies of the template on %v", machines, copies)
	}
	s.until("the templates are written down", func() bool {
		return len(strings.Fields(s.field("vmimage/img", `.status.templates[*].node`))) == 3
	})
	// The copies go with the image, and the template stays.
	s.kubectl("delete", "vm/web", "vmimage/img", "--timeout", patience.String())
	if copies := s.nodesOf(true); len(copies) > 0 {
		t.Errorf("copies are left on %v", copies)
	}
	s.pve.Do(func(st *pvesim.State) {
		if st.VMs[9000] == nil {
			t.Error("the template that people made is gone")
		}
	})
}

func TestAPackedImageIsUnpackedOnItsWay(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(pvesim.BootableImage()); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/os") {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(packed.Bytes())
	}))
	t.Cleanup(files.Close)
	sum := sha256.Sum256(packed.Bytes())
	image := func(name, checksum string) string {
		return fmt.Sprintf("url: %q, checksum: %q", files.URL+name, "sha256:"+checksum)
	}

	s := beginAlone(t, localDisks)
	// What isn't there, and what isn't what the checksum says, is told, and nothing is made of it.
	s.apply(apart(image("/gone.qcow2.gz", hex.EncodeToString(sum[:]))))
	s.waits("vmimage/img", "there is no image at .*/gone.qcow2.gz: .*404 Not Found")
	s.apply(apart(image("/os.qcow2.gz", strings.Repeat("0", 64))))
	s.waits("vmimage/img", "the file isn't what the checksum says")
	if templates := s.nodesOf(true); len(templates) > 0 {
		t.Errorf("there are templates on %v", templates)
	}

	s.apply(apart(image("/os.qcow2.gz", hex.EncodeToString(sum[:]))))
	s.waitFor("--for=condition=Ready", "vm/web", "vmimage/img")
	if machines, templates := s.nodesOf(false), s.nodesOf(true); len(slices.Compact(machines)) != 3 || !slices.Equal(machines, templates) {
		t.Errorf("machines are on %v, templates on %v", machines, templates)
	}
	// The next version is made on all nodes, and takes the place of the old one.
	templates := func() []string {
		vmids := strings.Fields(s.field("vmimage/img", `.status.templates[*].vmid`))
		slices.Sort(vmids)
		return vmids
	}
	old := templates()
	s.apply(apart(image("/os-2.qcow2.gz", hex.EncodeToString(sum[:]))))
	s.until("the new version has taken the place of the old one", func() bool {
		now := templates()
		return len(now) == 3 && len(s.nodesOf(true)) == 3 && !slices.ContainsFunc(now, func(id string) bool { return slices.Contains(old, id) })
	})
	s.kubectl("delete", "vm/web", "vmimage/img", "--timeout", patience.String())
	s.pve.Do(func(st *pvesim.State) {
		for at, space := range st.Spaces {
			for name := range space.Volumes {
				if strings.HasPrefix(name, "import/") || strings.HasPrefix(name, "base-") && !strings.HasPrefix(name, "base-9000-") {
					t.Errorf("%s is left on %s", name, at.Node)
				}
			}
		}
	})
}
