package plan

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// imageGuests are the templates that an image stands for: several when there
// is one of the name on several nodes.
func (p *planner) imageGuests(i model.Image) ([]*model.Guest, *Wait, Look) {
	switch {
	case i.Template != "":
		return p.templates(i)
	case i.Lent && i.URL != "":
		return p.lentTemplate(i)
	case i.VMID != 0:
		g := p.have.Guests[i.VMID]
		if g == nil {
			return nil, &Wait{Reason: model.WaitMissing, Text: fmt.Sprintf("there is no VM %d", i.VMID)}, Look{}
		}
		if i.OnlyTemplate && !g.Template {
			return nil, &Wait{Reason: model.WaitForbidden, Do: model.Advice{Do: model.AllowSource, VMID: i.VMID}, Text: fmt.Sprintf("VM %d isn't a template, and nothing but templates is allowed here", i.VMID)}, Look{}
		}
		return []*model.Guest{g}, nil, Look{}
	case i.URL != "":
		f := p.find(versioned(i), 0, i.Range)
		if f.wait != nil && f.wait.Reason == model.WaitTurn {
			f.wait = nil // which VMID it takes is its own affair
		}
		if f.guest == nil || !f.guest.Template {
			return nil, f.wait, f.look
		}
		return []*model.Guest{f.guest}, nil, Look{}
	}
	return nil, nil, Look{}
}

// lentTemplate is the template of an image that another namespace has fetched. Its VMID is
// written down there, and its marker has to agree: this may be another Proxmox.
func (p *planner) lentTemplate(i model.Image) ([]*model.Guest, *Wait, Look) {
	if i.VMID == 0 {
		return nil, &Wait{Reason: model.WaitSource, Text: fmt.Sprintf("%s hasn't been fetched yet", i.Owner.Key)}, Look{}
	}
	switch g := p.have.Guests[i.VMID]; {
	case g == nil:
		return nil, &Wait{Reason: model.WaitSource, Text: fmt.Sprintf("template %d of %s isn't here, or isn't visible to this login: it is on the Proxmox that its namespace has fetched it to", i.VMID, i.Owner.Key)}, Look{}
	case g.Config == nil:
		return nil, nil, Look{Configs: []int{g.VMID}}
	case !g.OwnedBy(versioned(i)) || !g.Template:
		return nil, &Wait{Reason: model.WaitSource, Text: fmt.Sprintf("VM %d on %s isn't the template of %s, or isn't yet", g.VMID, g.Node, i.Owner.Key)}, Look{}
	default:
		return []*model.Guest{g}, nil, Look{}
	}
}

// noTemplate says that there is none, and which names come close.
func (p *planner) noTemplate(i model.Image) *Wait {
	for _, g := range p.have.Named(i.Template) {
		if g.Template && pinned(i.Pin, g) && g.Lock != "" {
			return &Wait{Reason: model.WaitLock, Text: fmt.Sprintf("template %s (%d) on %s is locked (%s)", g.Name, g.VMID, g.Node, g.Lock)}
		}
	}
	return &Wait{Reason: model.WaitMissing, Text: p.closeTo(i)}
}

// closeTo says that no template has a name, and what comes close.
func (p *planner) closeTo(i model.Image) string {
	name := i.Template
	for _, g := range p.have.Named(name) {
		if !g.Template {
			return fmt.Sprintf("VM %d is named %q, but isn't a template; make it one, or name its VMID as the source", g.VMID, name)
		}
	}
	if others := slices.DeleteFunc(slices.Clone(p.have.Named(name)), func(g *model.Guest) bool { return !g.Template }); len(others) > 0 {
		return fmt.Sprintf("none of the templates named %q is %s; there %s", name, pinText(i.Pin), templateList(others))
	}
	var names []string
	for _, g := range p.have.Guests {
		if g.Template && !slices.Contains(names, g.Name) {
			names = append(names, g.Name)
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("no template is named %q, and no templates can be seen at all (that needs the privilege VM.Audit on them)", name)
	}
	model.SortNames(names)
	const most = 8
	if len(names) > most {
		names = append(names[:most], "…")
	}
	is := "there are"
	if len(names) == 1 {
		is = "there is"
	}
	return fmt.Sprintf("no template is named %q; %s %s", name, is, strings.Join(names, ", "))
}

// versioned is the owner of one generation of an image: another URL or
// checksum is another template, made before the old one goes.
func versioned(i model.Image) model.Owner {
	o := i.Owner
	o.UID = strings.TrimPrefix(o.UID+"+"+i.Version(), "+")
	return o
}

// image plans what guests are made from.
func (p *planner) image(i model.Image) Object {
	o := p.imageSteps(i)
	if i.Deleted || i.ISO != "" {
		return o
	}
	guests, _, _ := p.imageGuests(i)
	for _, g := range guests {
		o.Templates = append(o.Templates, model.Template{VMID: g.VMID, Name: g.Name, Node: g.Node})
	}
	return o
}

func (p *planner) imageSteps(i model.Image) Object {
	o := Object{Owner: i.Owner}
	switch {
	case i.Deleted:
		p.removeImage(&o, i)
	case i.URL != "":
		p.fetchImage(&o, i)
	case i.ISO != "":
		p.findISO(&o, i)
	default:
		guests, wait, look := p.imageGuests(i)
		o.Wait, o.Look = wait, look
		if len(guests) > 0 {
			o.VMID, o.Node, o.Wait = guests[0].VMID, guests[0].Node, p.converting(guests[0])
			p.resolved(&o, i, guests)
		}
	}
	return o
}

// findISO looks for a file that people put there.
func (p *planner) findISO(o *Object, i model.Image) {
	if p.have.Files == nil {
		o.Look.Files = true
		return
	}
	for volume := range p.have.Files {
		if volume == i.ISO || path.Base(volume) == i.ISO {
			return
		}
	}
	o.wait(model.WaitMissing, fmt.Sprintf("no storage has the ISO %q", i.ISO))
}

// fetchImage plans a template that is made from a URL: fetch the file, make a
// guest from it, make that a template, remove the file.
func (p *planner) fetchImage(o *Object, i model.Image) {
	owner := versioned(i)
	f := p.find(owner, 0, i.Range)
	noteOf(o, f)
	o.Look = f.look
	if !f.look.Empty() || f.wait != nil {
		o.Wait = f.wait
		return
	}
	if p.have.Files == nil {
		o.Look.Files = true
		return
	}
	file := imageFile(i)
	if g := f.guest; g != nil {
		o.VMID, o.Node = g.VMID, g.Node
		p.finishImage(o, i, g, file)
		return
	}
	if former := p.formerImage(i); former.unsure() {
		o.Look, o.Wait = former.look, former.wait
		return
	}
	if !p.makes(o.Owner.Key, f.free) && p.hidden(o, i.Owner, f.free) || p.backOff(o) {
		return
	}
	p.makeImage(o, i, owner, f.free, file)
}

// formerImage looks for a template that was fetched for another object of the same
// name, which is gone: nobody would remove it.
func (p *planner) formerImage(i model.Image) finding {
	f, was, g := p.madeFor(i.Owner, i.Range, true, "+"+i.Version())
	if g == nil {
		return f
	}
	return finding{wait: &Wait{Reason: model.WaitForeign, Do: takeOver(i.Owner, was), Text: fmt.Sprintf("template %d on %s was fetched for another object of this name, which is gone", g.VMID, g.Node)}}
}

// imageFile is the name under which an image is fetched: one for each
// generation. Proxmox wants to see what it is by the ending.
func imageFile(i model.Image) string {
	ext := strings.ToLower(path.Ext(strings.SplitN(path.Base(i.URL), "?", 2)[0]))
	switch ext {
	case ".qcow2", ".raw", ".vmdk":
	default:
		ext = ".qcow2"
	}
	return "proxplane-" + i.Owner.ID() + "-" + i.Version() + ext
}

// unfetchable reports whether a node can't fetch a URL: its server has no such file. One that
// the node doesn't reach is noted, since it may answer later. Proxmox logs the URLs that it is
// asked about: those that may hold a secret are left out.
func (p *planner) unfetchable(o *Object, node, address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.RawQuery != "" {
		return false
	}
	said, asked := p.have.URLs[model.URLKey(node, address)]
	switch {
	case !asked:
		o.Look.URLs = append(o.Look.URLs, model.URLKey(node, address))
	case said.Missing != "":
		o.wait(model.WaitMissing, fmt.Sprintf("there is no image at %s: %s; correct the URL, or put the file there", address, said.Missing))
	case said.Unreachable != "":
		o.note("node %s doesn't reach %s: %s", node, address, said.Unreachable)
	}
	return o.Wait != nil || !o.Look.Empty()
}

func (p *planner) makeImage(o *Object, i model.Image, owner model.Owner, vmid int, file string) {
	if p.lacksStorage(o, appendNew(nil, storageUse{i.Storage, "images"})) {
		return
	}
	node, storage, wait := p.imagePlace(o, i)
	if wait != nil || !o.Look.Empty() {
		o.Wait = wait
		return
	}
	if i.Storage == "" && p.unsureOfRights(&o.Look, node, "images") {
		return
	}
	if i.Storage == "" {
		if i.Storage = p.diskStorage(node); i.Storage == "" {
			p.noDiskStorage(o, node)
			return
		}
	}
	o.VMID, o.Node = vmid, node
	p.placed[vmid] = model.Placement{Owner: owner, Node: node}
	why := absent(i.Owner)
	volume := storage + ":import/" + file
	fetched := 0
	if !p.fileOn(volume, node) {
		if t := p.fetching(file); t != nil {
			o.Wait = &Wait{Reason: model.WaitTask, Text: "the image is being fetched", Task: t.UPID}
			return
		}
		if p.unfetchable(o, node, i.URL) {
			return
		}
		fetched = o.step(Step{
			Action: model.Download{Node: node, Storage: storage, Content: "import", File: file, URL: i.URL, Checksum: i.Checksum, Algorithm: i.ChecksumAlgorithm},
			What:   "fetch " + i.URL + " onto " + storage, Why: why, Effect: New,
		})
	}
	disk := p.formatted(model.Disk{Slot: "scsi0", Storage: i.Storage})
	made := o.step(Step{
		Action: model.Create{
			Target: model.Target{VMID: vmid, Node: node}, Name: i.Owner.Name,
			Description: model.Describe("", model.Marker{Owner: owner, VMID: vmid, Version: i.Version(), Seed: volume}),
			Options:     i.Options, Disks: []model.NewDisk{{Disk: disk, Import: volume}},
			Tags: []string{model.Tag, model.StateTag(owner, i.Version())},
		},
		What: fmt.Sprintf("make VM %d on %s from it", vmid, node), Why: why, Effect: New,
	}, fetched)
	template := o.step(Step{
		Action: model.MakeTemplate{Target: model.Target{VMID: vmid, Node: node}},
		What:   fmt.Sprintf("make VM %d a template", vmid), Why: why, Effect: New,
	}, made)
	o.step(Step{Action: model.RemoveFile{Node: node, Volume: volume}, What: "remove " + volume, Why: "it was needed only once", Effect: Live}, template)
}

// fetching finds the task that fetches a file: Proxmox files it under the
// file's name.
func (p *planner) fetching(file string) *model.Task {
	for _, t := range p.have.Tasks {
		if t.Type == "download" && t.ID == file {
			return &t
		}
	}
	return nil
}

// finishImage completes a template that is there in part, removes the file
// that it was made from and the generations before it.
func (p *planner) finishImage(o *Object, i model.Image, g *model.Guest, file string) {
	if p.busy(o, g) {
		return
	}
	if !g.Template {
		o.step(Step{
			Action: model.MakeTemplate{Target: model.Target{VMID: g.VMID, Node: g.Node}},
			What:   fmt.Sprintf("make VM %d a template", g.VMID), Why: "guests are cloned from templates", Effect: New,
		})
		return
	}
	if p.convert(o, g) {
		return
	}
	p.noteTemplate(o, i, g)
	for _, volume := range model.NamesOf(p.have.Files) {
		if path.Base(volume) != file {
			continue
		}
		for _, node := range p.fileNodes(volume, p.have.Files[volume].Node) {
			o.step(Step{Action: model.RemoveFile{Node: node, Volume: volume}, What: "remove " + volume, Why: "it was needed only once", Effect: Live})
		}
	}
	for _, old := range p.candidates(i) {
		// Whether new ones are templates the list shows as late as their names.
		if old.VMID != g.VMID && old.Config == nil && (old.Template || unnamed(old)) && slices.Contains(old.Tags, model.Tag) {
			o.Look.Configs = append(o.Look.Configs, old.VMID) // is it an earlier generation?
		}
	}
	p.removeOld(o, i, g)
}

// imagePlace chooses the node and the storage that an image is fetched to.
func (p *planner) imagePlace(o *Object, i model.Image) (node, storage string, wait *Wait) {
	target := p.have.Storages[i.Storage]
	if i.Storage != "" && target == nil {
		return "", "", &Wait{Reason: model.WaitMissing, Text: fmt.Sprintf("there is no storage %s, or these credentials don't see it (it needs Datastore.Audit)", i.Storage)}
	}
	var online []string
	var seen []*model.Storage
	for _, n := range p.nodesFor(model.VM{}) {
		if !n.Online {
			continue
		}
		online = append(online, n.Name)
		if target != nil {
			if _, ok := target.OnNode[n.Name]; !ok {
				continue
			}
		}
		if p.unsureOfRights(&o.Look, n.Name, "import") {
			return "", "", nil
		}
		takes := p.taking(n.Name, "import")
		seen = append(seen, takes...)
		for _, s := range takes {
			if p.have.May("/storage/"+s.Name, mayFetch) {
				return n.Name, s.Name, nil
			}
		}
	}
	if p.late(&o.Look, "import", online...) || target != nil && p.late(&o.Look, "images", online...) {
		return "", "", nil
	}
	if len(seen) > 0 {
		return "", "", &Wait{Reason: model.WaitUnfit, Text: fmt.Sprintf("these credentials may fetch images to no storage: grant %s on one that takes them (%s)", mayFetch, storageNames(seen))}
	}
	return "", "", &Wait{Reason: model.WaitUnfit, Text: "no storage takes images: add the content type import to one (pvesm set STORAGE --content …,import)"}
}
