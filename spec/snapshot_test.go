package spec

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/proxplane/proxplane/pve/schema"
	_ "github.com/proxplane/proxplane/test/kit/chance"
)

func TestSnapshotNamesAreThoseThatProxmoxTakes(t *testing.T) {
	s, err := schema.Load("9.2")
	if err != nil {
		t.Fatal(err)
	}
	p := s.Lookup("POST", "/nodes/{node}/qemu/{vmid}/snapshot").Param("snapname")
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9]([a-z0-9.-]{0,60}[a-z0-9])?`).Draw(t, "name")
		if bad := p.Verify("snapname", SnapshotName(name)); bad != nil || SnapshotName(name) == "current" {
			t.Fatalf("%s becomes %s: %v", name, SnapshotName(name), bad)
		}
	})
}
