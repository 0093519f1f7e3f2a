package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// A copy stands alone once it is made. What it got from its source stays as it is, and
// where it came from is history: whether the source has changed since, is gone, or
// another object has its name, is never a reason to do something to the copy.

// idle reports whether an object waits for a template that no object describes and
// that nothing is made from any more: all copies of it are there.
func (p *planner) idle(o Object) bool {
	if !p.images[o.Owner.Key].Implied || o.Wait == nil {
		return false
	}
	return !slices.ContainsFunc(p.want.VMs, func(v model.VM) bool {
		return v.Source.Image == o.Owner.Key && !v.Deleted && p.found[v.Owner].guest == nil
	})
}

// standAlone makes an existing copy keep what it got from its source.
func (c *change) standAlone() {
	wanted := c.v
	c.alone, c.v = true, c.v.Alone()
	c.noteOtherSource(wanted)
	if wanted.Inherits(model.InheritedText) {
		c.v.Description = c.have.Text
	}
	if !wanted.Inherits(model.InheritedSeed) {
		return
	}
	c.v.Seed = c.seedThatItHas()
	if c.v.Seed == nil {
		return
	}
	switch {
	case wanted.Seed == nil:
	case c.v.Seed.Digest == "" && wanted.Seed.Volume(c.g.VMID) == c.have.Marker.Seed:
		c.v.Seed.Digest = wanted.Seed.Digest
	case wanted.Seed.Seal().Match(c.v.Seed.Digest) == model.SameSecret:
		c.v.Seed.Digest = wanted.Seed.Digest
	case wanted.Seed.Volume(c.g.VMID) != c.have.Marker.Seed:
		c.o.Notes = append(c.o.Notes, Note{
			Text: fmt.Sprintf("its first-boot data stay as they were made from %s", c.have.Marker.Source),
			Do:   model.Advice{Do: model.OwnData},
		})
	}
	if c.v.Seed.Apart {
		c.keepHookPart()
	}
}

// noteOtherSource adds a note if the manifest names another source than that of the copy. A source of
// another kind with the same name has only replaced the former one.
func (c *change) noteOtherSource(v model.VM) {
	was, is := c.have.Marker.Source, v.Source.Name()
	if was == "" || is == "" || nameIn(was) == nameIn(is) {
		return
	}
	c.o.note("it was copied from %s and stays as it is, though its source is declared as %s now; delete the clone and apply again to copy that", was, is)
}

// nameIn returns the name in the text of a key, without its kind.
func nameIn(key string) string {
	_, name, _ := strings.Cut(key, "/")
	return name
}

// seedThatItHas returns the first-boot data that the marker names; nil: none. Markers of earlier releases
// have no mark for them.
func (c *change) seedThatItHas() *model.Seed {
	volume, mark := c.have.Marker.Seed, markOf(c.have.Marker, seedPrefix)
	if volume == "" {
		return nil
	}
	s := model.Seed{Storage: model.StorageOf(volume), Digest: mark, Lost: true}
	s.Apart = strings.Contains(c.have.Text, volume)
	if model.SeedSnippets(volume) {
		for _, part := range model.SnippetParts {
			if strings.Contains(c.have.Options[snippetsOption], model.SnippetVolume(volume, part)) {
				s.Snippets = append(s.Snippets, part)
			}
		}
	}
	s, ok := s.At(volume)
	if !ok {
		return nil
	}
	return &s
}

// keepHookPart keeps the part of the description that the hook of the node reads.
func (c *change) keepHookPart() {
	own := strings.TrimRight(strings.Replace(c.v.Description, hookPart(c.v.Description), "", 1), "\n")
	c.v.Description = strings.TrimLeft(own+"\n\n"+hookPart(c.have.Text), "\n")
}
