package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// otherImage says that the guest's image stands for another template now; empty: it
// doesn't, or that isn't known. The guest works as it is.
func (c *change) otherImage() (why string, diff model.Difference) {
	img, ok := c.p.images[c.v.Source.Image]
	was, is := c.have.Marker.Image, img.Identity()
	if !ok || c.v.Source.Copy || c.have.Marker.Source != c.v.Source.Name() || was == "" || is == "" || was == is {
		return "", diff
	}
	diff = differs(model.FieldSource, was, is)
	if img.URL != "" {
		return fmt.Sprintf("%s was changed since it was made from it", img.Owner.Key), diff
	}
	return fmt.Sprintf("it was made from %s, and %s is %s now", was, img.Owner.Key, is), diff
}

// noteMade says what is wanted of how a guest is made, and has changed since it was.
func (c *change) noteMade() {
	d, ok := c.have.BootDisk()
	if ok && c.v.Source.Full && !fresh(c.have) && strings.Contains(d.Volume, "base-") && strings.Contains(d.Volume, "vm-") {
		c.o.note("%s is a linked clone, and that it is to be a full one holds for new machines; move it to another storage to make it independent", d.Slot)
	}
	if from, img := c.p.have.Guests[c.have.Marker.From], c.p.images[c.v.Source.Image]; from != nil && !c.v.Source.Copy && excluded(img, from) {
		c.o.note("it was cloned from VM %d on %s, which %s doesn't select; that is for new machines", from.VMID, from.Node, img.Owner.Key)
	}
}

// excluded reports whether a template has the name that an image stands for, and isn't
// one of those that the image's pin selects.
func excluded(i model.Image, g *model.Guest) bool {
	if !g.Template || i.Template == "" || g.Name != i.Template {
		return false
	}
	return !pinned(i.Pin, g) || i.DiskStorage != "" && g.Config != nil && rootStorage(g.Config) != i.DiskStorage
}

// media says which ISO images are to be in drives that hold something else, and puts them
// there.
func (c *change) media(act *model.Configure, d, have model.Disk) {
	c.say(Live, model.Difference{Verb: model.VerbInsert, Field: have.Slot, From: have.Volume, To: d.Volume})
	act.Disks = append(act.Disks, model.NewDisk{Disk: model.Disk{Slot: have.Slot, Volume: d.Volume, CDROM: true}})
}

// noteTemplate says what is wanted of a fetched image, and has changed since its template
// was made.
func (p *planner) noteTemplate(o *Object, i model.Image, g *model.Guest) {
	if g.Config == nil {
		return
	}
	if d, ok := g.Config.BootDisk(); ok && i.Storage != "" && d.Storage != "" && d.Storage != i.Storage {
		o.note("its template is on storage %s and stays there; %s is for templates that are fetched from now on", d.Storage, i.Storage)
	}
	var other []model.Difference
	for _, k := range slices.Sorted(keysOf(i.Options)) {
		if want, have := i.Options[k], g.Config.Options[k]; want != have && !(k == "machine" && sameMachine(want, have)) {
			other = append(other, one(differs(k, have, want), New)...)
		}
	}
	if len(other) > 0 {
		o.Notes = append(o.Notes, Note{Text: "its template stays as it was made; for templates that are fetched from now on", Diff: other})
	}
}

// unlike says why the guest can't become what is wanted; empty: it can.
func (c *change) unlike() (why string, diff model.Difference) {
	was, is := c.have.Marker.Source, c.v.Source.Name()
	switch {
	case !c.v.Source.Copy && was != "" && is != "" && was != is:
		return fmt.Sprintf("it was made from %s, not from %s", was, is), differs(model.FieldSource, was, is)
	case c.v.VMID != 0 && c.v.VMID != c.g.VMID:
		return fmt.Sprintf("its VMID is %d, not %d", c.g.VMID, c.v.VMID), differs(model.FieldVMID, itoa(c.g.VMID), itoa(c.v.VMID))
	case c.v.Seed != nil && c.v.Seed.Once && !c.v.Seed.Lost && !c.done() && !c.seedKnown():
		return "its Ignition config is another one, and is read at the first boot only", differs(model.FieldFirstBoot, "", "")
	}
	return "", diff
}
