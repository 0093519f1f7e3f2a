package operator

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
)

// An image is made by a Provider of its own namespace. A machine of another namespace that is placed where there is no template of
// it waits, and the image's namespace has it made there.

// askIn has the namespace of an image translated again, when the machines of another namespace that wait for a template of it
// have changed. The caller holds the lock.
func (l *ledger) askIn(namespace string, template model.Key) {
	if template.Namespace != "" && template.Namespace != namespace {
		l.asked.Wake(types.NamespacedName{Namespace: template.Namespace})
	}
}

// asks are the nodes that machines of other namespaces wait on for templates of images of a namespace.
func (l *ledger) asks(namespace string) map[model.Key][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	nodes := map[model.Key]map[string]bool{}
	for key, e := range l.entries {
		for _, out := range e.outcomes {
			image, node, ok := out.Awaits.CopyOf()
			if !ok || image.Namespace != namespace || key.Namespace == namespace {
				continue
			}
			if nodes[image] == nil {
				nodes[image] = map[string]bool{}
			}
			nodes[image][node] = true
		}
	}
	sorted := map[model.Key][]string{}
	for image, on := range nodes {
		sorted[image] = slices.Sorted(maps.Keys(on))
	}
	return sorted
}

// handOn has images made where machines of other namespaces wait for them.
func handOn(wanted []manifest.Wanted, asks map[model.Key][]string) {
	for _, w := range wanted {
		for i := range w.Desired.Images {
			if image := &w.Desired.Images[i]; !image.Lent {
				image.Asked = asks[image.Owner.Key]
			}
		}
	}
}
