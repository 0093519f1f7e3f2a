package plan

import (
	"path"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// The file of an image is needed until its template is made, and by each node that fetches it
// for itself. Where the storage is shared one file serves several nodes.

// filePrefix begins the names of all files of an image, of every generation.
func filePrefix(i model.Image) string { return "proxplane-" + i.Owner.ID() + "-" }

// removeFiles removes the file that a finished template was made from, unless others need it.
func (p *planner) removeFiles(o *Object, c model.Image) {
	for _, volume := range model.NamesOf(p.have.Files) {
		if !fileOf(c, path.Base(volume)) {
			continue
		}
		for _, node := range p.fileNodes(volume, p.have.Files[volume].Node) {
			if node != c.On && !p.sharedVolume(volume) || p.awaited(c, volume) {
				continue
			}
			o.step(Step{Action: model.RemoveFile{Node: node, Volume: volume}, What: "remove " + volume, Why: "it was needed only once", Effect: Live})
		}
	}
}

// awaited reports whether another template of the image is still to be made from a file.
func (p *planner) awaited(c model.Image, volume string) bool {
	if !p.sharedVolume(volume) {
		return false
	}
	return slices.ContainsFunc(p.making[c.Owner.Key], func(node string) bool {
		return node != c.On && !p.finished(c.Copy(node))
	})
}

// finished reports whether a template of an image is made.
func (p *planner) finished(c model.Image) bool {
	g := p.find(versioned(c), 0, c.Range).guest
	return g != nil && g.Template
}

// fetcher returns the node that fetches a file for all that share its storage: the first of those
// that need it and haven't failed to.
func (p *planner) fetcher(c model.Image) string {
	for _, node := range p.making[c.Owner.Key] {
		n := p.have.Nodes[node]
		if _, failed := p.have.Failed[c.Copy(node).Object().Key]; n != nil && n.Online && !failed && !p.finished(c.Copy(node)) {
			return node
		}
	}
	return c.On
}

// removeStrays removes files of an image that no template is made from any more: of an earlier
// generation, or for a node that doesn't need one.
func (p *planner) removeStrays(o *Object, i model.Image, making []string) {
	for _, volume := range model.NamesOf(p.have.Files) {
		name := path.Base(volume)
		if !strings.HasPrefix(name, filePrefix(i)) {
			continue
		}
		for _, node := range p.fileNodes(volume, p.have.Files[volume].Node) {
			used := fileOf(i, name) && (slices.Contains(making, node) || p.sharedVolume(volume) && len(making) > 0)
			if used || p.task(name, node, p.sharedVolume(volume)) != nil {
				continue
			}
			s := Step{Action: model.RemoveFile{Node: node, Volume: volume}, What: "remove " + volume, Why: "it was needed only once", Effect: Live}
			if i.Deleted {
				s.Why = ending(i.Owner)
			}
			if !p.sharedVolume(volume) {
				s.What += " on " + node
			}
			o.step(s)
		}
	}
}
