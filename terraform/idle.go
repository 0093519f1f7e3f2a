package terraform

import (
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// idle says which changes of a configuration do nothing to the machines that are there.
func idle(w part, objects []plan.Object) (diags diag.Diagnostics) {
	if w.was == nil || slices.ContainsFunc(objects, func(o plan.Object) bool { return w.has(o.Owner) && replaced(o) }) {
		return nil
	}
	before := map[any]map[string]any{}
	for _, d := range objectsIn(w.was["disks"]) {
		before[d["name"]] = d
	}
	for i, d := range objectsIn(w.said["disks"]) {
		was := before[d["name"]]
		if was == nil || d["slot"] != nil || was["slot"] != nil || said(was["bus"], "scsi") == said(d["bus"], "scsi") {
			continue
		}
		diags.AddAttributeWarning(path.Root("disks").AtListIndex(i), w.key.Name+": a disk stays on its bus", fmt.Sprintf("disks[%d].bus counts when %v is made. The disk that is there stays on its bus, with its data; one with another name comes on bus %v, empty.",
			i, d["name"], said(d["bus"], "scsi")))
	}
	if said(w.was["linkedClone"], true) != said(w.said["linkedClone"], true) {
		diags.AddAttributeWarning(path.Root("linked_clone"), w.key.Name+": its disks stay what they are", "linked_clone counts when a machine is made. The disks of machines that are there stay linked clones, or full ones.")
	}
	return diags
}

// said is a value, or what it is by default.
func said[T comparable](value any, otherwise T) T {
	is, _ := value.(T)
	if value == nil {
		return otherwise
	}
	return is
}

// objectsIn are the objects in a list.
func objectsIn(list any) (all []map[string]any) {
	items, _ := list.([]any)
	for _, item := range items {
		object, _ := item.(map[string]any)
		all = append(all, object)
	}
	return all
}

// replaced reports whether a machine is made anew.
func replaced(o plan.Object) bool {
	return slices.ContainsFunc(o.Steps, func(s plan.Step) bool { return s.Effect == plan.Replace })
}

// atFirstBoot reports whether a step changes nothing but what a machine reads when it boots for the first time.
func atFirstBoot(s plan.Step) bool {
	return s.Effect == plan.Live && slices.ContainsFunc(s.Diff, func(d model.Difference) bool { return d.Field == model.FieldFirstBoot && d.Verb == model.VerbSet })
}
