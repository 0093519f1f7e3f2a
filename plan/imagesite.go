package plan

import (
	"fmt"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// imageSite is where a node makes a template of a fetched image.
type imageSite struct {
	fetch   string // the storage that the file is fetched to
	storage string // the storage that the disk goes to
	shared  bool   // other nodes reach that, too
}

// imageSite finds where a node would make a template of an image, or why it can't.
func (p *planner) imageSite(i model.Image, node string, look *Look) (imageSite, unfit) {
	if n := p.have.Nodes[node]; n == nil || !n.Online {
		return imageSite{}, now("offline")
	}
	if p.unsureOfRights(look, node, "import") || i.Storage == "" && p.unsureOfRights(look, node, "images") {
		return imageSite{}, unfit{}
	}
	takes := p.taking(node, "import")
	at := slices.IndexFunc(takes, func(s *model.Storage) bool { return p.have.May("/storage/"+s.Name, mayFetch) })
	switch {
	case at < 0 && p.late(look, "import", node):
		return imageSite{}, unfit{}
	case at < 0 && len(takes) > 0:
		return imageSite{}, never("these credentials lack %s on %s", mayFetch, storageNames(takes))
	case at < 0:
		return imageSite{}, never("no storage has the content type import: add it to one")
	}
	site := imageSite{fetch: takes[at].Name, storage: i.Storage}
	if site.storage == "" {
		site.storage = p.diskStorage(node)
	}
	s := p.have.Storages[site.storage]
	switch {
	case s == nil && p.late(look, "images", node):
		return imageSite{}, unfit{}
	case s == nil && i.Storage == "":
		return imageSite{}, never("no storage takes disks")
	case s == nil:
		return imageSite{}, never("there is no storage %s", i.Storage)
	case len(s.Content) > 0 && !s.Content["images"]:
		return imageSite{}, never("storage %s doesn't take disks", s.Name)
	}
	if _, there := s.OnNode[node]; !there {
		if s.Late[node] {
			look.Storages = append(look.Storages, node)
			return imageSite{}, unfit{}
		}
		return imageSite{}, never("storage %s isn't there", s.Name)
	}
	site.shared = s.Shared
	return site, unfit{}
}

// copySlot returns the node that a node's template is made for: itself, or the first of those that
// share the storage of the template.
func (p *planner) copySlot(i model.Image, node string, look *Look) (string, unfit) {
	if i.Made() {
		_, from := p.origin(i, look)
		if from == nil {
			return node, now("what it would be a copy of isn't there")
		}
		return node, p.copySite(from, node, look)
	}
	site, why := p.imageSite(i, node, look)
	if why.no() || !site.shared {
		return node, why
	}
	for _, n := range p.nodesFor(model.VM{}) {
		if other, why := p.imageSite(i, n.Name, look); !why.no() && other.storage == site.storage {
			return n.Name, unfit{}
		}
	}
	return node, unfit{}
}

// makeable returns the template that is or would be made for a node, as something to clone from, or
// why none can be.
func (p *planner) makeable(i model.Image, node string, look *Look) (*source, unfit) {
	if i.Made() {
		return p.copyTo(i, node, look)
	}
	cannot := func(why unfit) (*source, unfit) {
		why.reason = fmt.Sprintf("%s can't be made there: %s", i.Owner.Name, why.reason)
		return nil, why
	}
	slot, why := p.copySlot(i, node, look)
	if why.no() {
		return cannot(why)
	}
	site, why := p.imageSite(i, slot, look)
	if why.no() || !look.Empty() {
		return cannot(why)
	}
	c := i.Copy(slot)
	if f, failed := p.have.Failed[c.Object().Key]; failed && !f.Unread && (f.Hard || f.Full) {
		return cannot(now("%s failed: %s", f.What, f.Text))
	}
	switch g := p.find(versioned(c), 0, i.Range).guest; {
	case g == nil:
	case g.Node != slot:
		return cannot(never("its template for %s, VM %d, was moved to %s; move it back, or destroy it", slot, g.VMID, g.Node))
	case g.Template && g.Config != nil && g.Lock == "" && p.converting(g) == nil:
		return &source{guest: g, shared: p.allShared(g.Config)}, unfit{}
	}
	if why := p.roomFor(c, slot, site.fetch); why.no() {
		return cannot(why)
	}
	if why := p.roomForDisk(c, slot, site, look); why.no() || !look.Empty() {
		return cannot(why)
	}
	g := expected(model.Target{Node: slot}, i.Owner.Name, "")
	g.Template = true
	for k, v := range i.Options {
		g.Config.Options[k] = v
	}
	g.Config.Disks = []model.Disk{{Slot: "scsi0", Storage: site.storage, Volume: site.storage + ":base-0-disk-0", Size: p.have.URLs[model.URLKey("", i.URL)].Disk}}
	return &source{guest: g, shared: site.shared, future: &c}, unfit{}
}

// roomFor says that a storage has too little room for the file of an image, as far as its
// size is known.
func (p *planner) roomFor(i model.Image, node, storage string) unfit {
	size := p.fileSize(i, node)
	s := p.have.Storages[storage]
	if s == nil || size == 0 || p.fetchedFile(i, storage, node) != "" {
		return unfit{}
	}
	r, there := s.OnNode[node]
	others := p.promisedBeside(i, p.spaceAt(node, storage))
	free := max(0, r.Free()-others)
	switch {
	case !there || r.Total == 0 || free >= size:
		return unfit{}
	case others > 0:
		return now("storage %s has %s free beside the %s that is for what is being made, and the file has %s", storage, model.Bytes(free), model.Bytes(others), model.Bytes(size))
	}
	return now("storage %s has %s free, and the file has %s", storage, model.Bytes(free), model.Bytes(size))
}

// roomForDisk says that a storage has too little room for the disk of an image, as far as its size is known: of
// storages whose disks take all of their size at once.
func (p *planner) roomForDisk(i model.Image, node string, site imageSite, look *Look) unfit {
	s := p.have.Storages[site.storage]
	if s == nil || thin(s) || s.OnNode[node].Total == 0 || p.fetchedFile(i, site.fetch, node) != "" {
		return unfit{}
	}
	said, asked := p.have.URLs[model.URLKey("", i.URL)]
	if !asked {
		look.URLs = append(look.URLs, model.URLKey("", i.URL))
		return unfit{}
	}
	if free := p.spaceLeft(s, node); free < said.Disk {
		return now("storage %s has %s free, and the disk of the image has %s", s.Name, model.Bytes(free), model.Bytes(said.Disk))
	}
	return unfit{}
}

// promisedBeside returns what others get on a storage: guests that are being made, and files of other images that
// are fetched. A file of the image itself is the one that is asked about, whichever node fetches it.
func (p *planner) promisedBeside(i model.Image, at spaceAt) (sum int64) {
	other := func(k model.Key) bool {
		image, _, _ := k.CopyOf()
		return image != i.Owner.Key
	}
	for _, pl := range p.have.Placed {
		if other(pl.Owner.Key) && p.spaceAt(pl.Node, at.storage) == at {
			sum += pl.Space[at.storage]
		}
	}
	for key, f := range p.fetches {
		if other(key) && f.at == at {
			sum += f.size
		}
	}
	return sum
}

// fetchOf is the file of an image that this plan fetches.
type fetchOf struct {
	at   spaceAt
	size int64
}

// imageFirst says that a template has to be made before a guest can be.
func (p *planner) imageFirst(c model.Image) *Wait {
	text := fmt.Sprintf("first: %s on %s", c.Owner.Name, c.On)
	if f, failed := p.have.Failed[c.Object().Key]; failed && !f.Unread {
		return &Wait{Reason: model.WaitSource, Text: text + fmt.Sprintf(", where %s failed: %s", f.What, f.Text)}
	}
	if f := p.find(versioned(c), 0, c.Range); f.wait != nil && f.unsure() {
		return &Wait{Reason: model.WaitSource, Text: text + ": " + f.wait.Text}
	}
	if c.Lent {
		return &Wait{Reason: model.WaitSource, Text: text + ", which namespace " + c.Owner.Namespace + " makes"}
	}
	if _, from := p.origin(c, &Look{}); from != nil {
		return &Wait{Reason: model.WaitSource, Text: text + fmt.Sprintf(", a copy of template %d on %s", from.VMID, from.Node)}
	}
	if size := p.fileSize(c, c.On); size > 0 {
		text += fmt.Sprintf(", %s to fetch", model.Bytes(size))
	}
	if c.Packing() != "" {
		text += " through this machine"
	}
	return &Wait{Reason: model.WaitSource, Text: text}
}
