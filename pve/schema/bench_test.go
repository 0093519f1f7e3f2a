package schema

import "testing"

func BenchmarkLoad(b *testing.B) {
	for name, load := range map[string]func() (*Schema, error){"9.2": load92, "8.4": load84} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := load(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The cost of a call is that of its path and its parameters: the deepest path
// of 661 is found about as fast as one of a schema with a handful of endpoints.
func BenchmarkFind(b *testing.B) {
	whole := mustLoad(b, "9.2")
	few := &Schema{root: buildTree([]*Endpoint{whole.Lookup("PUT", "/nodes/{node}/qemu/{vmid}/config")})}
	for name, s := range map[string]*Schema{"of 661": whole, "of 1": few} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if ep, _ := s.Find("PUT", "/nodes/pve1/qemu/100/config"); ep == nil {
					b.Fatal("not found")
				}
			}
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	s := mustLoad(b, "9.2")
	create := map[string]any{
		"node": "pve1", "vmid": "100", "name": "web-1", "memory": "2048", "cores": "2", "ostype": "l26", "scsihw": "virtio-scsi-single",
		"scsi0": "local:32,format=qcow2,iothread=1", "net0": "virtio,bridge=vmbr0,firewall=1", "ipconfig0": "ip=10.0.0.5/24,gw=10.0.0.1",
		"agent": "enabled=1", "tags": "a;b", "boot": "order=scsi0;net0", "onboot": "1",
	}
	for _, c := range []struct {
		name, method, path string
		in                 map[string]any
	}{
		{"status", "GET", "/nodes/pve1/qemu/100/status/current", map[string]any{"node": "pve1", "vmid": "100"}},
		{"create", "POST", "/nodes/pve1/qemu", create},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				ep, _ := s.Find(c.method, c.path)
				if _, errs := ep.Verify(c.in); errs != nil {
					b.Fatal(errs)
				}
			}
		})
	}
}
