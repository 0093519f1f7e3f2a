package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/proxplane/proxplane/model"
)

// Snapshot is a wanted snapshot.
type Snapshot struct {
	Owner         model.Owner
	Of            *Machine
	Description   string
	IncludeMemory bool
	Revert        string // each new value requests a rollback; empty: none
	Keep          int    // keep only the newest of this machine; 0: all
	Deleted       bool
	Hold          model.Hold
}

// Translate makes a [model.Snapshot], and reports errors.
func (s Snapshot) Translate() (model.Snapshot, Errors) {
	r := report{object: s.Owner.Key}
	if s.Keep < 0 {
		r.fail("keep", "want a number from 1 on, have %d", s.Keep)
	}
	r.checkDescription(s.Description)
	if s.IncludeMemory && len(s.Of.Filesystems) > 0 {
		r.fail("includeMemory", "isn't possible while %s has filesystems: what is shared with the node isn't part of its memory", s.Of.Owner.Title())
	}
	return model.Snapshot{
		Owner: s.Owner, VM: s.Of.Owner.Key, Name: SnapshotName(s.Owner.Name), Description: strings.TrimRight(s.Description, "\n"),
		Memory: s.IncludeMemory, Revert: s.Revert, Keep: s.Keep, Deleted: s.Deleted, Hold: s.Hold,
	}, r.errs
}

const maxSnapshotName = 40

var notInSnapshotName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// SnapshotName returns a valid name of a snapshot in Proxmox: it begins with a letter, has
// 2 to 40 characters and isn't reserved.
func SnapshotName(name string) string {
	if name == "" {
		return ""
	}
	out := notInSnapshotName.ReplaceAllString(name, "_")
	if c := out[0] | 0x20; c < 'a' || c > 'z' || len(out) < 2 || out == "current" || out == "pending" {
		out = "s-" + out
	}
	if len(out) > maxSnapshotName {
		sum := sha256.Sum256([]byte(name))
		out = out[:maxSnapshotName-9] + "-" + hex.EncodeToString(sum[:4])
	}
	return out
}
