package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/privileges"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/status"
)

// images checks what machines are made from.
func (e *examination) images() {
	for _, i := range e.want.Images {
		switch {
		case i.Template != "":
			e.template(i)
		case i.VMID != 0:
			if g := e.have.Guests[i.VMID]; g != nil {
				e.good(areaManifests, "VM %d (%s) is on %s", g.VMID, g.Name, g.Node)
			} else {
				e.notSeen(i, fmt.Sprintf("VM %d", i.VMID), fmt.Sprintf("/vms/%d", i.VMID))
			}
		case i.URL != "":
			e.url(i)
		case i.ISO != "":
			e.iso(i)
		}
	}
}

// notSeen is about a source that doesn't exist, or isn't shown.
func (e *examination) notSeen(i model.Image, what, path string) {
	var names []string
	for _, g := range e.have.Guests {
		if g.Template && !slices.Contains(names, g.Name) {
			names = append(names, g.Name)
		}
	}
	model.SortNames(names)
	do := "No templates are shown at all."
	if len(names) > 0 {
		do = "Shown are " + strings.Join(names, ", ") + "."
	}
	if e.lacks(path, "VM.Audit") {
		do += " These credentials lack VM.Audit on " + path + ", so there may be more."
		e.bad(areaManifests, fmt.Sprintf("%s, which %s needs, isn't there or isn't visible", what, i.Owner.Key), do)
		return
	}
	e.bad(areaManifests, fmt.Sprintf("there is no %s, which %s needs", what, i.Owner.Key), do)
}

// url asks for a file: this machine, which unpacks what is packed, or a node, if that is allowed.
func (e *examination) url(i model.Image) {
	switch {
	case slices.ContainsFunc(e.have.Named(i.Owner.Name), func(g *model.Guest) bool { return g.Template && ofVersion(g, i.Version()) }):
		e.good(areaManifests, "%s was fetched already", i.Owner.Key)
	case i.Packing() != "":
		e.packedURL(i)
	case i.Address() != i.URL:
		e.skip(areaManifests, fmt.Sprintf("whether nodes can fetch %s isn't asked: Proxmox would log its query, which may hold a secret", i.Address()), "")
	default:
		e.nodeURL(i)
	}
}

// ofVersion reports whether the tag of a template says that it was made from this URL and checksum.
func ofVersion(g *model.Guest, version string) bool {
	_, of, tagged := model.ParseStateTag(g.Tags)
	return tagged && of == version
}

// packedURL looks at a file that passes through this machine.
func (e *examination) packedURL(i model.Image) {
	key := model.URLKey("", i.URL)
	if err := e.c.Observer.URL(e.ctx, key); err != nil {
		e.skip(areaManifests, fmt.Sprintf("whether this machine can fetch %s isn't known: %v", i.Address(), err), "")
		return
	}
	said := e.c.Observer.Snapshot().URLs[key]
	if why := cmp.Or(said.Missing, said.Unreachable, said.Wrong); why != "" {
		e.bad(areaManifests, fmt.Sprintf("this machine can't fetch %s, which Proxmox doesn't unpack: %s", i.Address(), why), "Check the URL, and let this machine reach it (HTTPS_PROXY names a proxy), or give an image that isn't packed.")
		return
	}
	e.good(areaManifests, "this machine can fetch %s (%s), which Proxmox doesn't unpack", i.Address(), status.Size(said.Size))
}

// nodeURL has a node ask for a file.
func (e *examination) nodeURL(i model.Image) {
	for _, name := range model.NamesOf(e.have.Nodes) {
		if !e.have.Nodes[name].Online {
			continue
		}
		meta, err := e.c.Client.Node(name).URLMetadata(e.ctx, i.URL, nil)
		switch {
		case errors.Is(err, pve.ErrForbidden):
			e.skip(areaManifests, fmt.Sprintf("whether nodes can fetch %s isn't known", i.URL), "")
		case err != nil:
			e.bad(areaManifests, fmt.Sprintf("%s can't fetch %s: %s", name, i.URL, ui.ShortCause(err)), "The nodes themselves must reach it: check the URL, their DNS, their gateway, or the proxy in the data centre's options.")
		default:
			e.good(areaManifests, "%s can fetch %s (%s)", name, i.URL, status.Size(meta.Size))
		}
		return
	}
}

func (e *examination) iso(i model.Image) {
	storage := model.StorageOf(i.ISO)
	s := e.have.Storages[storage]
	if s == nil {
		return // the check of storages reports it
	}
	for node := range s.OnNode {
		list, err := e.c.Client.Storage(node, storage).Content(e.ctx, pve.ContentFilter{Content: "iso"})
		if err != nil {
			continue
		}
		if slices.ContainsFunc(list, func(v pve.Volume) bool { return v.ID == i.ISO }) {
			e.good(areaManifests, "ISO image %s", i.ISO)
			return
		}
	}
	e.bad(areaManifests, fmt.Sprintf("there is no ISO image %s, which %s needs", i.ISO, i.Owner.Key), "Upload it to the storage, or name another one.")
}

// bridges checks that machines can be plugged in wherever they may go.
func (e *examination) bridges() {
	wanted := map[string]map[string]bool{} // bridge → nodes
	for _, v := range e.want.VMs {
		for _, n := range v.NICs {
			if wanted[n.Bridge] == nil {
				wanted[n.Bridge] = map[string]bool{}
			}
			for _, node := range e.nodesFor(v) {
				wanted[n.Bridge][node] = true
			}
		}
	}
	there := e.bridgesOf(wanted)
	for _, bridge := range model.NamesOf(wanted) {
		if bridge == "" {
			continue
		}
		var on, not []string
		for _, node := range model.NamesOf(wanted[bridge]) {
			switch names, asked := there[node]; {
			case !asked:
			case slices.Contains(names, bridge):
				on = append(on, node)
			default:
				not = append(not, node)
			}
		}
		e.bridge(bridge, on, not)
	}
}

func (e *examination) bridge(bridge string, on, not []string) {
	hidden := slices.ContainsFunc(e.missing, func(g privileges.Grant) bool {
		return strings.HasPrefix(g.Path+"/", "/sdn/zones/localnetwork/"+bridge+"/")
	})
	switch {
	case len(not) == 0 && len(on) > 0:
		e.good(areaManifests, "bridge %s is on %s", bridge, strings.Join(on, ", "))
	case hidden:
		e.warn(areaManifests, fmt.Sprintf("bridge %s isn't shown to these credentials, so it couldn't be checked", bridge), grantFirst)
	case len(not) > 0:
		e.bad(areaManifests, fmt.Sprintf("bridge %s isn't on %s, where machines that need it may go", bridge, strings.Join(not, ", ")),
			"Make it there, name another one, or keep the machines off these nodes with a VMPlacementPolicy.")
	}
}

// bridgesOf reads the bridges of the nodes that are online.
func (e *examination) bridgesOf(wanted map[string]map[string]bool) map[string][]string {
	there := map[string][]string{}
	for _, nodes := range wanted {
		for node := range nodes {
			if n := e.have.Nodes[node]; n == nil || !n.Online || there[node] != nil {
				continue
			}
			list, err := e.c.Client.Node(node).Network(e.ctx, "any_bridge")
			if err != nil {
				e.warn(areaManifests, fmt.Sprintf("the bridges of %s can't be read: %s", node, ui.ShortCause(err)), "")
				continue
			}
			there[node] = []string{}
			for _, i := range list {
				there[node] = append(there[node], i.Name)
			}
		}
	}
	return there
}

// guests checks what machines ask for beyond disks and networks.
func (e *examination) guests() {
	var silent, waiting, unknown []string
	for _, v := range e.want.VMs {
		if !v.WaitAddress {
			continue
		}
		switch on, known := e.agentOn(v); {
		case !known:
			unknown = append(unknown, v.Name)
		case on:
			waiting = append(waiting, v.Name)
		default:
			silent = append(silent, v.Name)
		}
	}
	if len(unknown) > 0 {
		e.skip(areaManifests, fmt.Sprintf("guest agent: whether it is on for %s isn't known, since the template can't be seen", ui.AndList(unknown)), "")
	}
	if len(waiting) > 0 {
		e.good(areaManifests, "guest agent: %s ready once the agent has reported an address; it must be in the image", areIs(len(waiting), "machine"))
	}
	e.discs()
	if len(silent) > 0 {
		e.skip(areaManifests, fmt.Sprintf("guest agent: it is off for %s, so addresses won't be known", ui.AndList(silent)),
			"If it is in the image: agent: {enabled: true}, or os: {agent: true} of the VMImage.")
	}
}

// agentOn reports whether Proxmox uses the agent of a machine; known: everything that decides it is visible.
func (e *examination) agentOn(v model.VM) (on, known bool) {
	if _, said := v.Options["agent"]; said {
		return model.AgentOn(v.Options), true
	}
	if at := slices.IndexFunc(e.want.VMs, func(o model.VM) bool { return o.Owner.Key == v.Source.VM }); at >= 0 {
		return e.agentOn(e.want.VMs[at])
	}
	at := slices.IndexFunc(e.want.Images, func(i model.Image) bool { return i.Owner.Key == v.Source.Image })
	if at < 0 {
		return false, true
	}
	image := e.want.Images[at]
	known = image.Template == "" && image.VMID == 0 // it is made without one
	for _, g := range guestsOf(image, e.have) {
		if g.Config != nil {
			on, known = on || model.AgentOn(g.Config.Options), true
		}
	}
	return on, known
}

// discs reports whether machines can be moved with their first-boot data.
func (e *examination) discs() {
	stuck := users{}
	for _, v := range e.want.VMs {
		if v.Seed == nil || v.Seed.Apart || len(v.Seed.Snippets) > 0 || len(e.nodesFor(v)) < 2 {
			continue
		}
		if s := e.have.Storages[v.Seed.Storage]; s != nil && !s.Shared {
			stuck.add(s.Name, v)
		}
	}
	for _, name := range model.NamesOf(stuck) {
		e.skip(areaManifests, fmt.Sprintf("first-boot data is on %s, of which each node has its own: Proxmox can't migrate %s", name, ui.AndList(stuck[name])),
			"A storage that the nodes share changes that: isoStorage in the Provider's defaults.")
	}
}

// unseen names machines whose VMIDs guests have that these credentials may not see: an entry on /vms/VMID takes the place of one on
// /vms. Plans say the same of them.
func (e *examination) unseen() {
	want := e.want
	want.Quick = true
	p, err := e.c.Site.Plan(e.ctx, want)
	if err != nil {
		e.skip(areaManifests, "whether there are machines that these credentials can't see isn't known: "+ui.ShortCause(err), "")
		return
	}
	for _, o := range p.Objects {
		if o.Wait != nil && o.Wait.Reason == model.WaitUnseen {
			e.bad(areaManifests, status.CLI.Wait(*o.Wait), "")
		}
	}
}
