package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
)

// TestACopyThatCannotBecomeATemplateGoes: Proxmox calls a VM a template before it makes base volumes of its disks. One
// whose disks stay as they are, since the name of a base volume is taken, is of use to nobody.
func TestACopyThatCannotBecomeATemplateGoes(t *testing.T) {
	for _, c := range []struct {
		reason string
		disk   string // the first part of the name of the copy's volume
		hard   bool
		waits  bool // a machine waits for it
		goes   bool
	}{
		{"a template that is finished stays, whatever has failed", "base", true, false, false},
		{"it can't become one, and nobody waits for it", "vm", true, false, true},
		{"it is tried again", "vm", false, false, false},
		{"a machine waits for it on that node", "vm", true, true, false},
	} {
		w, d := newWorld(), desired()
		w.template(9000, "debian", "pve1", "local-lvm")
		image := model.Image{Owner: owner("VMImage", "debian"), Template: "debian", Ahead: []string{"pve2"}, Range: model.Range{First: 6000, Last: 6999}}
		d.Images = []model.Image{image}
		w.settle(t, &d)
		d.Images[0].Ahead = nil
		made := w.Guests[0]
		for _, g := range w.Guests {
			if g.Name == "debian-copy" {
				made = g
			}
		}
		if made == nil || !made.Template {
			t.Fatalf("%s: there is no copy: %v", c.reason, made)
		}
		made.Config.Disks[0].Volume = fmt.Sprintf("local-lvm:%s-%d-disk-0", c.disk, made.VMID)
		of := Key{Kind: "VMImage", Name: "debian@pve2"}
		w.fails = map[Key]model.Failure{of: {What: "make it a template", Text: "file exists", Hard: c.hard}}
		if c.waits {
			w.also = func(have *model.Observed) {
				have.Bound = map[Key]model.Bound{{Kind: "VirtualMachine", Name: "web"}: {Node: "pve2", Template: of}}
			}
		}
		p, _ := w.planLooks(d)
		goes := strings.Contains(p.String(), "destroy VM")
		if goes != c.goes {
			t.Errorf("%s: it goes: %t, want %t\n%s", c.reason, goes, c.goes, p)
		}
	}
}
