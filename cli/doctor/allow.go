package doctor

import (
	"strings"

	"github.com/proxplane/proxplane/manifest"
)

// allowed says what the Provider allows its machines and images. What they ask for
// beyond that is an error of the manifests.
func (e *examination) allowed() {
	if lines := manifest.Allows(e.allow); len(lines) > 0 {
		e.good(areaManifests, "the Provider allows %s (spec.allow)", strings.Join(lines, "; "))
	}
}
