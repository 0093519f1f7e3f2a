package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/model"
)

func (t *translator) readSnapshots() {
	type name struct {
		vm   model.Key
		name string
	}
	first := map[name]model.Key{}
	each(t, func(s scope, obj *api.VMSnapshot) {
		s.checkName()
		m := s.machineFor(obj.Spec.VMRef.Name)
		if obj.Spec.Keep < 0 {
			s.fail("spec.keep", "want a number from 1 on, have %d", obj.Spec.Keep)
		}
		s.checkDescription(obj.Spec.Description)
		if m == nil {
			return
		}
		if obj.Spec.IncludeMemory && m.filesystems {
			s.fail("spec.includeMemory", "isn't possible while %s has filesystems: what is shared with the node isn't part of its memory", title(m.o.key))
		}
		snap := model.Snapshot{
			Owner: s.owner(), VM: m.o.key, Name: SnapshotName(obj.Name), Description: strings.TrimRight(obj.Spec.Description, "\n"),
			Memory: obj.Spec.IncludeMemory, Revert: obj.Spec.Revert, Keep: obj.Spec.Keep, Deleted: s.deleted(), Hold: s.hold(m.provider),
		}
		if other, twice := first[name{snap.VM, snap.Name}]; twice {
			s.fail("metadata.name", "is called %s in Proxmox, as %s is", snap.Name, title(other))
		}
		first[name{snap.VM, snap.Name}] = s.o.key
		d := &m.provider.wanted.Desired
		d.Snapshots = append(d.Snapshots, snap)
	})
}

// machineFor finds the machine that a snapshot is of.
func (s scope) machineFor(name string) *machine {
	const field = "spec.vmRef.name"
	if name == "" {
		s.fail(field, "is missing")
		return nil
	}
	o := s.namedMachine(name, model.Key{})
	if o == nil {
		if !s.deleted() { // with the machine, its snapshots have gone
			s.fail(field, "there is no VirtualMachine or VMClone %s %s%s", name, s.here(), s.others(name, "VirtualMachine", "VMClone"))
		}
		return nil
	}
	if s.isWrong(o.key) {
		s.fail(field, "%s isn't right itself", title(o.key))
	}
	return s.machines[o.key]
}

const maxSnapshotName = 40

var notInSnapshotName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// SnapshotName is the name of a snapshot in Proxmox, which wants a letter first,
// two characters or more, 40 at most, and keeps some names to itself.
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
