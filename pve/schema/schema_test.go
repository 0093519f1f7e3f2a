package schema

import "testing"

func TestLoadsAllReleases(t *testing.T) {
	for _, release := range Releases() {
		s, err := Load(release)
		if err != nil {
			t.Fatal(err)
		}
		ep, params := s.Find("PUT", "/nodes/pve1/qemu/100/config")
		if ep == nil || params["vmid"] != "100" {
			t.Fatalf("%s: found %v %v", release, ep, params)
		}
		_, errs := ep.Verify(map[string]any{"node": "pve1", "vmid": "100", "net3": "foo", "scsi31": "x"})
		t.Log(release, len(s.Endpoints()), errs)
	}
}

func BenchmarkLoad92(b *testing.B) {
	for b.Loop() {
		if _, err := load92(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad84(b *testing.B) {
	for b.Loop() {
		if _, err := load84(); err != nil {
			b.Fatal(err)
		}
	}
}
