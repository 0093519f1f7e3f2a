package plan

import "github.com/proxplane/proxplane/model"

// Look lists what must be read before more can be planned.
type Look = model.Look
