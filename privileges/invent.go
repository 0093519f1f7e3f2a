package privileges

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan/stage"
)

// unnamed begins the names of nodes and storages that nobody knows: rights on them are rights
// on all.
const unnamed = "?"

// Where templates are that are copied to other nodes.
const (
	apartNode    = unnamed + "template"
	apartStorage = unnamed + "local"
)

// What invented clusters have: enough of everything.
const (
	muchMemory = 1 << 50
	muchSpace  = 1 << 60
	muchCPU    = 1 << 12
	smallDisk  = 64 << 20 // all that is wanted is larger

	unseenVMID = 999_000_000 // what isn't seen gets VMIDs from there on
)

// invent makes a cluster that has all that plans may use: what the credentials see, with
// nobody else's guests and with room for everything, and in the place of what they don't see
// something that stands for it.
func (l *life) invent() {
	l.w, l.stands = stage.New(), map[int]string{}
	l.w.Release, l.w.Minor, l.w.Root = l.at.Release, max(l.at.Have.Minor, newestMinor), true
	l.w.Live = func(*model.Guest, string) bool { return false } // so that guests have to be restarted
	for _, name := range l.nodes() {
		l.w.Nodes[name] = &model.Node{Name: name, Online: true, CPUs: muchCPU, Memory: muchMemory}
	}
	if l.apart {
		l.w.Nodes[apartNode] = &model.Node{Name: apartNode, Online: true, CPUs: muchCPU, Memory: muchMemory}
	}
	for _, i := range l.want.Images {
		if i.Made() {
			l.inventTemplates(i)
		}
	}
	l.inventStorages()
	l.inventFiles()
	for name, d := range l.at.Have.Dirs {
		if !d.Made {
			l.w.Dirs[name] = d
		}
	}
}

// newestMinor is the newest minor release: what the privileges are for may be updated.
const newestMinor = 9

// nodes returns the nodes that there are, as far as anybody knows.
func (l *life) nodes() []string {
	names := map[string]bool{}
	for name := range l.at.Have.Nodes {
		names[name] = true
	}
	for _, v := range l.want.VMs {
		for _, name := range v.Place.Nodes {
			names[name] = true
		}
	}
	for _, i := range l.want.Images {
		for _, g := range l.templates(i) {
			names[g.Node] = true
		}
	}
	if len(names) == 0 {
		names[unnamed], names[unnamed+unnamed] = true, true
	}
	return model.NamesOf(names)
}

// templates returns the guests that an image which people made may stand for.
func (l *life) templates(i model.Image) []*model.Guest {
	if !i.Made() {
		return nil
	}
	if i.VMID != 0 {
		if g := l.at.Have.Guests[i.VMID]; g != nil {
			return []*model.Guest{g}
		}
		return nil
	}
	return slices.DeleteFunc(slices.Clone(l.at.Have.Named(i.Template)), func(g *model.Guest) bool { return !g.Template })
}

// inventTemplates puts the templates of an image into the cluster.
func (l *life) inventTemplates(i model.Image) {
	seen := l.templates(i)
	if len(seen) == 0 {
		l.unsure("%s isn't seen: it isn't there, or VM.Audit on it is missing", sourceName(i))
		vmid := cmp.Or(i.VMID, unseenVMID+len(l.w.Guests))
		l.stands[vmid] = vmPath(i.VMID)
		node := l.nodes()[0]
		if l.apart {
			node = apartNode
		}
		seen = []*model.Guest{{VMID: vmid, Name: i.Template, Node: node, Template: true, Pool: i.Pool, Tags: strings.Fields(i.Tag)}}
	}
	for _, g := range seen {
		one := *g
		if one.Config == nil && l.stands[g.VMID] == "" {
			l.unsure("the config of %s couldn't be read: its storages and bridges aren't known", sourceName(i))
		}
		if one.Config = configOf(g); one.Config == nil {
			storage := cmp.Or(i.DiskStorage, unnamed)
			if l.apart {
				storage = apartStorage
			}
			one.Config = l.guess(storage)
		}
		one.Status, one.Lock, one.Snapshots = model.StatusStopped, "", []model.SnapshotInfo{}
		one.Config.Digest = l.w.NextDigest()
		l.w.Guests[g.VMID] = &one
	}
}

// guess returns a config in the place of one that nobody could read: with a cloud-init drive, or without.
func (l *life) guess(storage string) *model.Config {
	l.guessed = true
	c := &model.Config{
		Options: map[string]string{"agent": "1"}, NICs: []model.NIC{{Slot: "net0", Bridge: unnamed}},
		Disks: []model.Disk{{Slot: "scsi0", Storage: storage, Volume: storage + ":base-disk-0", Size: smallDisk}},
	}
	if l.drive {
		c.Disks = append(c.Disks, model.Disk{Slot: "ide2", Storage: storage, Volume: storage + ":vm-cloudinit", CDROM: true, CloudInit: true})
	}
	return c
}

func sourceName(i model.Image) string {
	if i.Template != "" {
		return "template " + i.Template
	}
	return strings.Replace(vmPath(i.VMID), "/vms/", "VM ", 1)
}

// configOf returns a copy of a guest's config; nil: it isn't known.
func configOf(g *model.Guest) *model.Config {
	if g.Config == nil {
		return nil
	}
	c := *g.Config
	c.Options, c.Disks, c.NICs = maps.Clone(c.Options), slices.Clone(c.Disks), slices.Clone(c.NICs)
	c.Pending, c.Running = nil, nil
	if c.Options == nil {
		c.Options = map[string]string{}
	}
	return &c
}

// inventStorages puts the storages that are seen into the cluster, with those that something
// names, and one that stands for others where none is seen.
func (l *life) inventStorages() {
	for name, s := range l.at.Have.Storages {
		one := *s
		one.Content, one.Late, one.OnNode = maps.Clone(s.Content), nil, map[string]model.Room{}
		for node, room := range s.OnNode {
			one.OnNode[node] = model.Room{Total: muchSpace + room.Free()}
		}
		l.w.Storages[name] = &one
	}
	for _, g := range l.w.Guests {
		for _, d := range g.Config.Disks {
			l.inventStorage(storageOf(d))
		}
	}
	for _, v := range l.want.VMs {
		for _, d := range v.Disks {
			l.inventStorage(storageOf(d), "images", "iso")
			if v.Source.Blank && !d.CDROM && storageOf(d) == "" {
				l.lacking(v.Owner.Key, "images", "the disks of")
			}
		}
		l.inventStorage(v.Source.Storage, "images")
		if v.Seed != nil {
			l.inventStorage(v.Seed.Storage, "iso", "snippets")
		}
	}
	for _, i := range l.want.Images {
		l.inventStorage(i.Storage, "images")
		if i.URL == "" {
			continue
		}
		l.lacking(i.Owner.Key, "import", "images for")
		if i.Storage == "" {
			l.lacking(i.Owner.Key, "images", "the disks of")
		}
	}
}

// inventStorage has a storage take content that it is named for.
func (l *life) inventStorage(name string, content ...string) {
	if name == "" {
		return
	}
	s := l.w.Storages[name]
	if s == nil {
		kind := "nfs"
		if name == apartStorage {
			kind = "lvmthin"
		}
		s = &model.Storage{Name: name, Type: kind, Shared: name != apartStorage, Content: map[string]bool{"images": true}, OnNode: map[string]model.Room{}}
		l.w.Storages[name] = s
	}
	if len(s.OnNode) == 0 {
		for node := range l.w.Nodes {
			s.OnNode[node] = model.Room{Total: muchSpace}
		}
	}
	for _, c := range content {
		s.Content[c] = true
	}
}

// lacking invents a storage for content that no storage takes.
func (l *life) lacking(of model.Key, content, what string) {
	for _, s := range l.w.Storages {
		if s.Content[content] && len(s.OnNode) > 0 && s.Name != unnamed {
			return
		}
	}
	l.unsure("no storage is seen that takes %s %s: one needs the content type %s, and Datastore.Audit to be seen", what, of, content)
	l.inventStorage(unnamed, content)
}

// inventFiles puts files into the cluster that guests need and nobody makes: media and hookscripts.
func (l *life) inventFiles() {
	nodes := l.nodes()
	file := func(volume, content string) model.File {
		return model.File{Volume: volume, Node: nodes[0], Also: nodes[1:], Content: content}
	}
	for _, v := range l.want.VMs {
		for _, d := range v.Disks {
			if d.CDROM && strings.Contains(d.Volume, ":") {
				l.w.Files[d.Volume] = file(d.Volume, "iso")
			}
		}
		for _, script := range v.Scripts {
			l.w.Snippets[script] = file(script, "snippets")
		}
	}
	for _, i := range l.want.Images {
		if i.ISO != "" {
			l.w.Files[i.ISO] = file(i.ISO, "iso")
			l.inventStorage(model.StorageOf(i.ISO), "iso")
			l.seeStorage(model.StorageOf(i.ISO))
		}
	}
}

// mayUse returns what credentials may do on a path, as far as plans choose by it. They are about to get
// what copies of templates take; among the storages that can be taken, those that they may use
// already come first. Nothing: nobody knows.
func (l *life) mayUse(path string) map[string]bool {
	switch {
	case path == allGuests:
		return map[string]bool{"VM.Audit": true, "VM.Allocate": true, "VM.Clone": true, "VM.Migrate": true, "VM.Config.Options": true}
	case strings.HasPrefix(path, "/storage/"):
		return l.at.Have.Rights[path]
	}
	return nil
}
