package privs

import (
	"maps"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// fetched is the life of an image that is fetched from a URL and made a template.
func (l *life) fetched(i model.Image) {
	d := deed{of: i.Owner.Key, newID: "/vms"}
	l.see("see it and read its config", "/vms")
	for _, storage := range l.importStorages(i) {
		l.seeStorage(storage)
		volume := storage + ":import/image.qcow2"
		d.guest = ""
		d.action = model.Download{Storage: storage, Content: "import", URL: i.URL}
		l.deeds = append(l.deeds, d)
		d.action = model.RemoveFile{Volume: volume}
		l.deeds = append(l.deeds, d)
		d.guest = "/vms"
		d.action = model.Create{
			Name: i.Owner.Name, Description: "made from a URL", Options: i.Options, Tags: []string{model.Tag},
			Disks: []model.NewDisk{{Disk: model.Disk{Slot: "scsi0", Storage: i.Storage}, Import: volume}},
		}
		l.deeds = append(l.deeds, d)
	}
	if i.Storage != "" {
		l.seeStorage(i.Storage)
	}
	for _, d.action = range []model.Action{model.MakeTemplate{}, model.Destroy{Owner: i.Owner}} {
		l.deeds = append(l.deeds, d)
	}
}

// importStorages are the storages that an image may be fetched to: of each node,
// the first that takes images.
func (l *life) importStorages(i model.Image) []string {
	var out []string
	names := slices.Sorted(maps.Keys(l.at.Have.Storages))
	for _, node := range slices.Sorted(maps.Keys(l.at.Have.Nodes)) {
		for _, name := range names {
			s := l.at.Have.Storages[name]
			if _, there := s.OnNode[node]; there && s.Content["import"] {
				if !slices.Contains(out, name) {
					out = append(out, name)
				}
				break
			}
		}
	}
	if len(out) == 0 {
		l.unsure("no storage is seen that takes images for %s: one needs the content type import, and Datastore.Audit to be seen", i.Owner.Key)
		return []string{""}
	}
	return out
}
