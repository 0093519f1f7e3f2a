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
		made := w.copied(t, "debian-copy")
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

// TestNothingIsMadeFromACopyThatIsBeingDestroyed, nor from one of which nobody knows whose it is: machines wait, and say for what.
func TestNothingIsMadeFromACopyThatIsBeingDestroyed(t *testing.T) {
	w, d := newWorld(), desired()
	w.template(9000, "debian", "pve1", "local-lvm")
	d.Images = []model.Image{{Owner: owner("VMImage", "debian"), Template: "debian", Ahead: []string{"pve2"}, Range: model.Range{First: 6000, Last: 6999}}}
	w.settle(t, &d)
	web := testVM("web")
	web.Source.Image, web.Place.Nodes = d.Images[0].Owner.Key, []string{"pve2"}
	d.VMs = []model.VM{web}
	made := w.copied(t, "debian-copy")
	for _, c := range []struct {
		reason string
		also   func(*model.Observed)
		want   string
	}{
		{"it is there", nil, fmt.Sprintf("clone debian-copy (%d)", made.VMID)},
		{"it is being destroyed", func(have *model.Observed) {
			have.Tasks = []model.Task{{UPID: "UPID:x", Node: "pve2", Type: "qmdestroy", VMID: made.VMID}}
		}, "first: debian on pve2"},
		{"it was left half made", func(have *model.Observed) {
			have.Guests[made.VMID] = &model.Guest{VMID: made.VMID, Node: "pve2", Lock: "create", Config: &model.Config{Half: true}}
		}, fmt.Sprintf("first: debian on pve2: VM %d on pve2 is being made and doesn't say yet whose it is", made.VMID)},
	} {
		w.also = c.also
		p, _ := w.planLooks(d)
		if !strings.Contains(p.String(), c.want) || c.also != nil && strings.Contains(p.String(), "clone debian-copy") {
			t.Errorf("%s: want %q\n%s", c.reason, c.want, p)
		}
	}
}

// copied is the copy of a template.
func (w *world) copied(t *testing.T, name string) *model.Guest {
	t.Helper()
	for _, g := range w.Guests {
		if g.Name == name && g.Template {
			return g
		}
	}
	t.Fatalf("there is no template %s", name)
	return nil
}

// TestATemplateThatMayBeThereIsWaitedFor, but not one whose VMIDs are all taken: it was never made.
func TestATemplateThatMayBeThereIsWaitedFor(t *testing.T) {
	image := model.Image{Owner: owner("VMImage", "debian"), Template: "debian"}
	on := func(node string) model.Owner { return versioned(image.Copy(node)) }
	for _, c := range []struct {
		reason string
		found  finding
		there  bool
		waits  bool
	}{
		{"it is there", finding{guest: &model.Guest{VMID: 6000}}, true, false},
		{"it may be, under a VMID with a task", finding{wait: &Wait{Reason: model.WaitTask}}, false, true},
		{"its VMIDs are taken", finding{wait: &Wait{Reason: model.WaitVMID}}, false, false},
		{"others are to take a VMID first", finding{wait: &Wait{Reason: model.WaitTurn}}, false, false},
		{"nothing is known of it", finding{free: 6000}, false, false},
	} {
		p, o := &planner{found: map[model.Owner]finding{on("pve1"): {free: 6001}, on("pve2"): c.found}}, &Object{}
		if there := p.inTheMaking(o, image, "pve1", "pve2"); there != c.there || (o.Wait != nil) != c.waits {
			t.Errorf("%s: it is there: %v, it is waited for: %v", c.reason, there, o.Wait)
		}
	}
}
