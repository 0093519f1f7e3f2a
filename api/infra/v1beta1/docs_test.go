package v1beta1

import (
	"testing"

	"github.com/proxplane/proxplane/test/kit/types"
)

func TestEveryFieldIsExplained(t *testing.T) { types.Explained(t, 100) }
