package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/proxplane/proxplane/model"
)

// snippetsOption names the snippets that Proxmox puts onto its own drive.
const snippetsOption = "cicustom"

// snippets reports whether first-boot data are snippets.
func (c *change) snippets() bool { return c.v.Seed != nil && len(c.v.Seed.Snippets) > 0 }

// snippetSteps put snippets onto each node that may run the guest and doesn't have
// them: Proxmox reads them wherever it is started.
func (p *planner) snippetSteps(v model.VM, to model.Target, what, why string) []Step {
	base := v.Seed.Volume(to.VMID)
	volumes := map[string]string{}
	for _, part := range v.Seed.Snippets {
		volumes[part] = model.SnippetVolume(base, part)
	}
	var steps []Step
	for _, node := range p.snippetNodes(v, to.Node) {
		missing := false
		for _, volume := range volumes {
			missing = missing || !p.fileOn(volume, node)
		}
		if missing {
			steps = append(steps, Step{
				Action: model.UploadSnippets{Node: node, Volumes: volumes, Files: v.Seed.Files, Recipe: v.Seed.Recipe, For: to.VMID},
				What:   fmt.Sprintf("%s onto %s", what, node), Why: why, Effect: New,
			})
		}
	}
	return steps
}

// snippetNodes returns the nodes that may run a guest and have the storage; one of them
// if they share it.
func (p *planner) snippetNodes(v model.VM, now string) []string {
	if p.sharedVolume(v.Seed.Storage + ":") {
		return []string{now}
	}
	nodes := []string{now}
	for _, n := range p.nodesFor(v) {
		if _, has := p.have.Storages[v.Seed.Storage].OnNode[n.Name]; has && n.Online && n.Name != now {
			nodes = append(nodes, n.Name)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// withoutSnippets leaves the option away that can be set only when the snippets are
// there.
func withoutSnippets(options map[string]string) map[string]string {
	delete(options, snippetsOption)
	return options
}

// withOption returns options with another value of one.
func withOption(options map[string]string, key, value string) map[string]string {
	options = maps.Clone(options)
	options[key] = value
	return options
}
