package manifest

import (
	"slices"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
)

// image is a VMImage with who uses it.
type image struct {
	scope
	object *api.VMImage
	spec   spec.Image
	usedBy []*provider
}

func (t *translator) readImages() {
	t.images = map[model.Key]*image{}
	each(t, func(s scope, i *api.VMImage) {
		s.checkName()
		img := &image{scope: s, object: i, spec: s.imageOf(&i.Spec)}
		t.images[s.o.key] = img
		s.take(img.spec.Check(), nil, nil)
		for _, name := range i.Status.Providers {
			img.madeOn(name)
		}
	})
}

func (s scope) imageOf(i *api.VMImageSpec) spec.Image {
	return spec.Image{
		Owner: s.owner(), Source: i.Source, SourceSelector: (*spec.Selector)(i.SourceSelector), URL: i.URL, Checksum: i.Checksum, ChecksumType: i.ChecksumType,
		ISO: i.ISO, Storage: i.Storage, Nodes: i.Nodes, Copies: i.Copies, OS: spec.OS(i.OS), Deleted: s.deleted(),
	}
}

// madeOn notes that a Provider has a template of the image, whether or not machines
// use it.
func (i *image) madeOn(name string) {
	for _, p := range i.providers {
		if p.cluster.Name == name && p.wanted.Provider.Namespace == i.o.key.Namespace {
			i.use(p)
		}
	}
}

// use notes that machines of a Provider are made from the image.
func (i *image) use(p *provider) {
	if !slices.Contains(i.usedBy, p) {
		i.usedBy = append(i.usedBy, p)
	}
}

// lend puts an image of another namespace to the Providers whose machines are made from
// it. What has to be fetched is fetched by a Provider of its own namespace, and is found
// by the VMID that is written down there.
func (i *image) lend() {
	for _, p := range i.usedBy {
		if p.cluster.Forbids(&i.spec) != nil {
			continue // the machines that need it there say so
		}
		m, _ := p.cluster.Image(i.spec)
		m.Lent, m.Deleted = true, false
		if m.URL != "" {
			m.VMID = i.object.Status.VMID
			m.Storage = i.spec.Storage
		}
		p.wanted.Desired.Images = append(p.wanted.Desired.Images, m)
	}
}

// assignImages puts each image to the Providers that need it.
func (t *translator) assignImages() {
	each(t, func(s scope, obj *api.VMImage) {
		img := t.images[s.o.key]
		switch {
		case s.o.lent:
			img.lend()
			return
		case obj.Spec.ProviderRef != nil:
			p := s.providerFor(obj.Spec.ProviderRef)
			for _, user := range img.usedBy {
				if p != nil && user != p {
					s.fail("spec.providerRef.name", "machines of Provider %s use it too", user.cluster.Name)
				}
			}
			img.usedBy = nil
			if p != nil {
				img.usedBy = []*provider{p}
			}
		case len(img.usedBy) == 0 && len(t.providers) == 1:
			img.usedBy = t.providers
		case len(img.usedBy) == 0 && img.spec.URL != "" && len(t.providers) > 1:
			s.tell("spec", "isn't fetched: no machine uses it, and no providerRef says for which Provider it is")
		}
		denied := 0
		for _, p := range img.usedBy {
			if e := p.cluster.Forbids(&img.spec); e != nil && !img.spec.Deleted {
				if denied++; denied == len(img.usedBy) {
					s.take(spec.Errors{e}, nil, nil)
				}
				continue // the machines that need it there say so
			}
			m, _ := p.cluster.Image(img.spec)
			m.Hold = s.hold(p)
			p.wanted.Desired.Images = append(p.wanted.Desired.Images, m)
		}
	})
}
