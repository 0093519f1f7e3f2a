package plan

import (
	"fmt"
	"net/url"

	"github.com/proxplane/proxplane/model"
)

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

func (p *planner) makeImage(o *Object, i model.Image, owner model.Owner, vmid int) {
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
	why := absent(o.Owner)
	volume := p.fetchedFile(i, storage, node)
	fetched := 0
	if volume == "" {
		if t := p.fetching(i, node, p.sharedOn(storage)); t != nil {
			o.Wait = &Wait{Reason: model.WaitTask, Text: "the image is being fetched", Task: t.UPID}
			return
		}
		if i.On != "" && p.sharedOn(storage) && p.fetcher(i) != i.On {
			o.wait(model.WaitSource, fmt.Sprintf("the image is fetched onto %s by %s", storage, p.fetcher(i)))
			return
		}
		// What is to be looked at is asked for at once.
		unsure := i.Packing() == "" && p.unfetchable(o, node, i.URL) || i.Packing() != "" && p.unsureOfUpload(o, storage)
		if o.Wait != nil {
			return
		}
		format := p.imageFormat(o, i)
		if format == "" || unsure {
			return
		}
		if full := p.roomFor(i, node, storage); full.no() {
			o.wait(model.WaitPlace, full.reason+fmt.Sprintf("; make room on %s", node))
			return
		}
		full := p.roomForDisk(i, node, imageSite{fetch: storage, storage: i.Storage}, &o.Look)
		if full.no() {
			o.wait(model.WaitPlace, full.reason+fmt.Sprintf("; make room on %s, or name another storage", node))
		}
		if full.no() || !o.Look.Empty() {
			return
		}
		if size := p.fileSize(i, node); size > 0 {
			o.Space = map[string]int64{storage: size}
			p.fetches[o.Owner.Key] = fetchOf{p.spaceAt(node, storage), size}
		}
		file := fileStem(i) + format
		volume = storage + ":import/" + file
		fetched = o.step(p.fetch(i, node, storage, file, why))
	}
	disk := p.formatted(model.Disk{Slot: "scsi0", Storage: i.Storage})
	made := o.step(Step{
		Action: model.Create{
			Target: model.Target{VMID: vmid, Node: node}, Name: i.Owner.Name,
			Description: model.Describe(i.Description, model.Marker{Owner: owner, VMID: vmid, Version: i.Version(), Seed: volume}),
			Options:     i.Options, Disks: []model.NewDisk{{Disk: disk, Import: volume}},
			Tags: append([]string{model.Tag, model.StateTag(owner, i.Version())}, i.Tags...),
		},
		What: fmt.Sprintf("make VM %d on %s from it", vmid, node), Why: why, Effect: New,
	}, fetched)
	template := o.step(Step{
		Action: model.MakeTemplate{Target: model.Target{VMID: vmid, Node: node}},
		What:   fmt.Sprintf("make VM %d a template", vmid), Why: why, Effect: New,
	}, made)
	if i.On == "" || !p.awaited(i, volume) {
		o.step(Step{Action: model.RemoveFile{Node: node, Volume: volume}, What: "remove " + volume, Why: "it was needed only once", Effect: Live}, template)
	}
}

// imagePlace chooses the node and the storage that an image is fetched to.
func (p *planner) imagePlace(o *Object, i model.Image) (node, storage string, wait *Wait) {
	if i.On != "" {
		site, why := p.imageSite(i, i.On, &o.Look)
		if why.no() {
			kind := model.WaitPlace
			if why.lasting {
				kind = model.WaitUnfit
			}
			return "", "", &Wait{Reason: kind, Text: fmt.Sprintf("%s can't make a template of it: %s", i.On, why.reason)}
		}
		return i.On, site.fetch, nil
	}
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
