package inspect

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/proxplane/proxplane/cli/target"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/pve/prop"
	"github.com/proxplane/proxplane/status"
)

// listImages lists templates, ISO files and files to import.
func listImages(ctx context.Context, g *Get, names []string) (listing, error) {
	if len(g.c.Desired.Images) > 0 {
		return listWantedImages(ctx, g, names)
	}
	if _, err := g.c.Look(ctx); err != nil {
		return listing{}, err
	}
	if err := g.c.Observer.Files(ctx); err != nil {
		return listing{}, g.c.Fail(err)
	}
	have, err := readUsers(ctx, g.c)
	if err != nil {
		return listing{}, err
	}
	rows := templatesNamed(have, nil)
	for _, volume := range model.NamesOf(have.Files) {
		f := have.Files[volume]
		rows = append(rows, status.Image{Name: path.Base(volume), Type: f.Content, Volume: volume, Node: f.Node, Size: f.Size})
	}
	var l listing
	var all []string
	for _, i := range rows {
		all = append(all, i.Name)
	}
	byVMID := func(name string) bool {
		return slices.ContainsFunc(rows, func(i status.Image) bool { return strconv.Itoa(i.VMID) == name })
	}
	if err := missing("image", slices.DeleteFunc(slices.Clone(names), byVMID), all); err != nil {
		return l, err
	}
	rows = slices.DeleteFunc(rows, func(i status.Image) bool { return !named(names, i.Name) && !named(names, strconv.Itoa(i.VMID)) })
	for _, i := range rows {
		l.add(fmt.Sprintf("%s %d%s", i.Name, i.VMID, i.Volume), i)
	}
	l.table = status.ImageTable(rows, time.Now())
	return l, nil
}

// templatesNamed are the templates of some names; none: of all.
func templatesNamed(have *model.Observed, names []string) (rows []status.Image) {
	for _, t := range target.Sorted(have, func(g *model.Guest) bool { return g.Template && !g.Container && named(names, g.Name) }) {
		rows = append(rows, templateRow(status.Image{Name: t.Name, VMID: t.VMID, Node: t.Node}, have))
	}
	return rows
}

// readUsers reads what tells how old templates are, and what was made from them: the disks of all
// storages, and configs where disks don't say it.
func readUsers(ctx context.Context, c *target.Site) (*model.Observed, error) {
	if err := c.Observer.Volumes(ctx); err != nil {
		return nil, c.Fail(err)
	}
	have := c.Observer.Snapshot()
	silent := slices.ContainsFunc(model.NamesOf(have.Storages), func(name string) bool {
		return slices.Contains([]string{"lvmthin", "lvm"}, have.Storages[name].Type)
	})
	var ids []int
	for _, guest := range target.Sorted(have, func(g *model.Guest) bool { return !g.Container && g.Config == nil }) {
		_, _, ours := model.ParseStateTag(guest.Tags)
		if ours && (silent || guest.Template) || guest.Template && dated(guest, have.Volumes).IsZero() {
			ids = append(ids, guest.VMID)
		}
	}
	if err := c.ReadAll(ctx, ids, c.Observer.Config); err != nil {
		return nil, err
	}
	return c.Observer.Snapshot(), nil
}

// templateRow completes a row by what is known of its template.
func templateRow(i status.Image, have *model.Observed) status.Image {
	t := have.Guests[i.VMID]
	if t == nil {
		return i
	}
	i.Type, i.Size, i.Ours = "template", t.Disk, status.VMOf(t).Ours
	if i.Created = dated(t, have.Volumes); i.Created.IsZero() {
		i.Created = created(t)
	}
	for _, user := range plan.Users(t, have) {
		i.UsedBy = append(i.UsedBy, user.Name)
	}
	model.SortNames(i.UsedBy)
	return i
}

// dated is when the first disk of a guest was made; zero: the storages don't say.
func dated(g *model.Guest, volumes model.Volumes) (first time.Time) {
	for _, v := range volumes.Of(g.VMID) {
		if first.IsZero() || v.Created.Before(first) {
			first = v.Created
		}
	}
	return first
}

// created is when Proxmox made a guest, as its config says; a clone has the date of its source. ZFS and Ceph list no
// dates of disks.
func created(g *model.Guest) time.Time {
	if g.Config == nil {
		return time.Time{}
	}
	meta, _ := prop.ParseList(g.Config.Options["meta"])
	text, _ := meta.Get("ctime")
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// listWantedImages lists the images of the manifests.
func listWantedImages(ctx context.Context, g *Get, names []string) (listing, error) {
	rows, all, err := wantedImages(ctx, g.c, names)
	if err != nil {
		return listing{}, err
	}
	var l listing
	for _, i := range rows {
		l.add(i.Object, i)
	}
	l.table = status.ImageTable(rows, time.Now())
	return l, missing("image", names, all)
}

// wantedImages are the templates of the manifests' images, also those that are being made and earlier
// ones that stay, and the names of all images.
func wantedImages(ctx context.Context, c *target.Site, names []string) (rows []status.Image, all []string, err error) {
	p, err := c.Site.Replan(ctx, c.Desired)
	if err != nil {
		return nil, nil, c.Fail(err)
	}
	have, err := readUsers(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	made := map[int]bool{} // templates that have rows of their own
	for _, o := range p.Objects {
		made[o.VMID] = made[o.VMID] || o.On != ""
	}
	for n, o := range p.Objects {
		if o.Owner.Kind != "VMImage" {
			continue
		}
		image := of(o)
		if all = append(all, image.Name); !named(names, image.Name) {
			continue
		}
		out := status.CLI.Of(o)
		ready := out.State == model.StateReady
		row := status.Image{Name: image.Name, VMID: o.VMID, Node: o.Node, Object: status.Name(o.Owner.Key), Ready: &ready, Message: out.Message}
		spread := n+1 < len(p.Objects) && o.On == "" && p.Objects[n+1].On != ""
		if o.On != "" || len(o.Templates) == 0 && !spread {
			rows = append(rows, templateRow(row, have))
		}
		for _, t := range o.Templates {
			if row.VMID, row.Node = t.VMID, t.Node; o.On == "" && !made[t.VMID] {
				rows = append(rows, templateRow(row, have))
			}
		}
		for _, e := range o.Earlier {
			old := false
			rows = append(rows, templateRow(status.Image{Name: image.Name, VMID: e.VMID, Node: e.Node, Object: row.Object, Ready: &old, Message: e.String()}, have))
		}
		if n+1 == len(p.Objects) || of(p.Objects[n+1]) != image {
			owner := o.Owner
			owner.Key = image
			rows = append(rows, keptRows(owner, rows, have)...)
		}
	}
	return rows, all, nil
}

// of is the image that an object of a plan stands for, or for a template of which.
func of(o plan.Object) model.Key {
	image, _, _ := o.Owner.CopyOf()
	return image
}

// keptRows lists the templates of an image that its plan doesn't name: those of an earlier version while the present one can't
// be made, and copies of a template that is gone.
func keptRows(image model.Owner, rows []status.Image, have *model.Observed) (kept []status.Image) {
	for _, t := range target.Sorted(have, func(g *model.Guest) bool { return g.Template && status.VMOf(g).Ours }) {
		m := t.Marker()
		if m == nil || m.Owner.Door != image.Door || m.Owner.Set != image.Set || m.Owner.Key != image.Key ||
			slices.ContainsFunc(rows, func(i status.Image) bool { return i.VMID == t.VMID }) {
			continue
		}
		ready := false
		row := status.Image{Name: image.Name, VMID: t.VMID, Node: t.Node, Object: status.Name(image.Key), Ready: &ready, Message: "kept until the image is ready"}
		kept = append(kept, templateRow(row, have))
	}
	return kept
}
