package v1beta1

import (
	"testing"

	"github.com/proxplane/proxplane/test/kit/types"
)

// TestGeneratedFilesAreUpToDate keeps the CRDs and the deep copies as the types
// want them.
func TestGeneratedFilesAreUpToDate(t *testing.T) { types.UpToDate(t, "../../..", "deploy/crds") }
