package privileges

import (
	"cmp"
	"maps"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// fetched is the life of an image that is fetched from a URL and made a template.
func (l *life) fetched(i model.Image) {
	l.see("see guests and read their configs", "/vms")
	for _, storage := range l.importStorages(i) {
		l.seeStorage(storage)
		d := deed{of: i.Owner.Key}
		volume := storage + ":import/image.qcow2"
		for _, d.action = range []model.Action{model.Download{Storage: storage, Content: "import", URL: i.URL}, model.RemoveFile{Volume: volume}} {
			l.deeds = append(l.deeds, d)
		}
		for _, to := range l.imageStorages(i) {
			l.seeStorage(to)
			l.deeds = append(l.deeds, deed{of: i.Owner.Key, guest: "/vms", newID: "/vms", action: model.Create{
				Name: i.Owner.Name, Description: "made from a URL", Options: i.Options, Tags: []string{model.Tag},
				Disks: []model.NewDisk{{Disk: model.Disk{Slot: "scsi0", Storage: to}, Import: volume}},
			}})
		}
	}
	d := deed{of: i.Owner.Key, guest: "/vms"}
	for _, d.action = range []model.Action{model.MakeTemplate{}, model.Destroy{Owner: i.Owner}} {
		l.deeds = append(l.deeds, d)
	}
}

// allGuests is the path of rights on all guests.
const allGuests = "/vms"

// copied is the life of the copies of a template that people made and whose disks are on local storages of a
// cluster: each node that machines are placed on may get one.
func (l *life) copied(i model.Image) {
	for _, s := range l.imageSources(i) {
		if !l.copies(i, s) || s.path == allGuests {
			continue
		}
		tags := []string{model.Tag}
		d := deed{of: i.Owner.Key, guest: allGuests, newID: allGuests, source: s.path, had: s.config}
		for _, d.action = range []model.Action{
			model.Clone{Name: i.CopyName(), Full: true}, model.Configure{Tags: &tags}, model.Migrate{}, model.MakeTemplate{}, model.Destroy{Owner: i.Owner},
		} {
			l.deeds = append(l.deeds, d)
		}
	}
}

// copies reports whether a template that people made may be copied to other nodes.
func (l *life) copies(i model.Image, s source) bool {
	return i.Made() && !i.NoCopies && !i.Implied && len(l.at.Have.Nodes) > 1 && s.template && s.config != nil && l.local(s.config)
}

// local reports whether a guest has disks on a storage that nodes don't share.
func (l *life) local(c *model.Config) bool {
	return slices.ContainsFunc(c.Disks, func(d model.Disk) bool {
		s := l.at.Have.Storages[storageOf(d)]
		return s != nil && !s.Shared
	})
}

// imageStorages are the storages that the disk of an image may go to.
func (l *life) imageStorages(i model.Image) []string {
	if i.Storage != "" {
		return []string{i.Storage}
	}
	return l.diskStorages(i.Owner.Key, nil)
}

// importStorages are the storages that an image may be fetched to: of each node,
// the first that takes images.
func (l *life) importStorages(i model.Image) []string {
	out := l.eachNode(nil, "import", func(_ string, a, b *model.Storage) int { return cmp.Compare(a.Name, b.Name) })
	if len(out) == 0 {
		l.unsure("no storage is seen that takes images for %s: one needs the content type import, and Datastore.Audit to be seen", i.Owner.Key)
		return []string{""}
	}
	return out
}

// diskStorages are the storages that disks may go to when nobody says where: of
// each node a shared one, else the one with the most room. As plans do, it chooses among
// those that the credentials may use already, if there are any.
func (l *life) diskStorages(of model.Key, nodes []string) []string {
	out := l.eachNode(nodes, "images", func(node string, a, b *model.Storage) int { return a.CompareFor(node, b) })
	if len(out) == 0 {
		l.unsure("no storage is seen that takes the disks of %s: one needs the content type images, and Datastore.Audit to be seen", of)
		return []string{""}
	}
	return out
}

// eachNode finds the first storage of each node that takes a kind of content.
func (l *life) eachNode(nodes []string, content string, order func(node string, a, b *model.Storage) int) []string {
	if len(nodes) == 0 {
		nodes = slices.Collect(maps.Keys(l.at.Have.Nodes))
	}
	needs := map[string]string{"images": newDiskPriv, "import": "Datastore.AllocateTemplate"}
	found := map[string]bool{}
	for _, node := range nodes {
		var takes []*model.Storage
		for _, s := range l.at.Have.Storages {
			if _, there := s.OnNode[node]; there && s.Content[content] {
				takes = append(takes, s)
			}
		}
		may := slices.DeleteFunc(slices.Clone(takes), func(s *model.Storage) bool { return !l.at.Have.May(storagePath(s.Name), needs[content]) })
		if len(may) > 0 {
			takes = may
		}
		if len(takes) > 0 {
			found[slices.MinFunc(takes, func(a, b *model.Storage) int { return order(node, a, b) }).Name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
