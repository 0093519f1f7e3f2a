package terraform

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/status"
)

// machine is the resource proxplane_virtual_machine: one VirtualMachine, or several of a kind, with
// its class, image and placement.
type machine struct {
	base
	shown
	of     string // the kind of its manifest
	about  string
	fields []field
}

func newMachine() *machine {
	r := &machine{of: "VirtualMachine", about: "A virtual machine, or several of a kind.", fields: machineFields()}
	r.base = base{kind: r, suffix: "_virtual_machine"}
	return r
}

// machineFields are all that a machine can say.
func machineFields() []field {
	all := fieldsOf("VirtualMachine", "name", "count")
	image := append(fieldsOf("VMImage"), field{name: "name", key: "name", about: "The name of the image. Images with a url belong to a proxplane_image, which has it."})
	return append(
		append(all, namedFields()...),
		field{name: "replicas", key: "count", shape: integer, about: "Make several machines at once, called by the name and a number: web-1, web-2 and so on. vmid and static addresses are those of the first. " +
			"A smaller number takes the last ones away, if update_policy.scale_down allows it."},
		field{name: "taken_over", key: takenOver, shape: boolean, about: "The machine was made by others, and goes on as it is: its arguments for QEMU, hookscripts and notes, and what it got at its first boot, stay whatever user_data, " +
			"filesystems, hookscripts and description say, and so does what it was made from. With replicas, the MAC addresses of machines that are there stay, too. Machines that aren't there yet get all of it when they are made, and keep it."},
		field{name: "vmids", key: vmidsOf, shape: list, item: &field{shape: integer}, about: "The VMIDs of the first replicas, in their order, where they don't follow one another: those of machines that were imported. Machines beyond them choose their own."},
		field{name: "class", key: "class", shape: object, required: true, fields: fieldsOf("VMClass"), about: "The size of the machine, and its virtual hardware."},
		field{name: "image", key: "image", shape: object, fields: image, about: "What the machine is made from: image = proxplane_image.debian, or a template that is there: image = { source = \"debian-13\" }. " +
			"Without it the machine begins with empty disks."},
	)
}

// namedFields are what machines and clones can say beside what their kinds have.
func namedFields() []field {
	return []field{
		{name: "name", key: "name", required: true, about: "The name of the machine: of the object that it is to proxplane, and of the guest unless guest_name says otherwise. Another name is another machine."},
		{name: "guest_name", key: "guestName", about: "The name of the guest in Proxmox, and its host name. Default: name."},
		{name: "labels", key: "labels", shape: mapping, item: &field{}, about: "Labels, for the anti-affinity of placements."},
		{name: "placement", key: "placement", shape: object, fields: fieldsOf("VMPlacementPolicy"), about: "Which nodes the machine may be on: placement = proxplane_placement.apart, or what such a one says."},
	}
}

func (r *machine) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	a := attributes(r.fields)
	a["machines"] = machinesAttribute()
	common(ctx, a)
	resp.Schema = schema.Schema{Description: r.about, Attributes: a}
}

// parse reads a configuration, a plan or a state. It reports false if not all of it is known yet.
func (r *machine) parse(raw tftypes.Value) (w part, known bool, diags diag.Diagnostics) {
	said, name, diags := saidOf(r.fields, raw)
	if name == "" {
		return w, false, diags
	}
	docs, diags := r.documents(name, said)
	if diags.HasError() {
		return w, true, diags
	}
	w.key, w.hidden = model.Key{Kind: r.of, Name: name}, hideFirstBoot(docs[len(docs)-1].spec)
	if r.of == "VirtualMachine" {
		w.said = said
	}
	source, _ := said["source"].(string)
	w.from, _ = strconv.Atoi(source) // else it is a name
	wanted, more := r.door.translate(docs...)
	diags.Append(more...)
	w.wanted = wanted
	diags.Append(numbered(wanted.Desired.VMs, said)...)
	if said[takenOver] == true {
		goOn(wanted.Desired.VMs)
	}
	w.anew, w.fewer = consents(said, "replace"), consents(said, "scaleDown")
	for _, v := range wanted.Desired.VMs {
		w.owners = append(w.owners, v.Owner)
	}
	return w, true, diags
}

// documents are the manifests that a resource stands for. The machine's own is the last.
func (r *machine) documents(name string, said map[string]any) (docs []document, diags diag.Diagnostics) {
	spec := map[string]any{}
	if class, ok := said["class"].(map[string]any); ok {
		doc := document{kind: "VMClass", name: called("class", class), spec: class}
		docs = append(docs, doc)
		spec["classRef"] = map[string]any{"name": doc.name}
	}
	if image, ok := said["image"].(map[string]any); ok {
		doc, wrong := imageDocument(image)
		if diags.Append(wrong...); diags.HasError() {
			return docs, diags
		}
		docs = append(docs, doc)
		spec["imageRef"] = map[string]any{"name": doc.name}
	}
	if place, ok := said["placement"].(map[string]any); ok {
		doc := document{kind: "VMPlacementPolicy", name: called("placement", place), spec: place}
		docs = append(docs, doc)
		spec["placementRef"] = map[string]any{"name": doc.name}
	}
	for key, value := range said {
		switch key {
		case "name", "labels", "class", "image", "placement", takenOver, vmidsOf:
		case "guestName":
			spec["name"] = value
		case "source":
			spec["sourceVMRef"] = map[string]any{"name": value}
		default:
			spec[key] = value
		}
	}
	labels, _ := said["labels"].(map[string]any)
	return append(docs, document{kind: r.of, name: name, labels: labels, spec: spec}), diags
}

// takenOver is the field that says that a machine goes on as somebody else has made it.
const takenOver = "takenOver"

// vmidsOf is the field with the VMIDs of replicas.
const vmidsOf = "vmids"

// numbered gives replicas the VMIDs that are said.
func numbered(vms []model.VM, said map[string]any) (diags diag.Diagnostics) {
	ids, there := said[vmidsOf].([]any)
	at := path.Root("vmids")
	switch {
	case !there:
		return nil
	case said["vmid"] != nil:
		diags.AddAttributeError(at, "vmids and vmid say the same thing", "Leave one of them out: vmid is that of the first machine, which the others follow.")
	case len(ids) > len(vms) && len(vms) > 0:
		diags.AddAttributeError(at, "There are more VMIDs than machines", fmt.Sprintf("%d VMIDs for %d replicas.", len(ids), len(vms)))
	}
	for i, id := range ids {
		n, _ := id.(int64)
		if slices.Contains(ids[:i], id) || n < 100 {
			diags.AddAttributeError(at, "A VMID can't be used", fmt.Sprintf("Want a number from 100 on that is there once, have %d.", n))
		}
		if !diags.HasError() {
			vms[i].VMID = int(n)
		}
	}
	return diags
}

// goOn has machines that are there keep what they got when they were made, as copies do.
func goOn(vms []model.VM) {
	for i := range vms {
		vms[i].Source.Copy = true
		vms[i].Inherited = append(slices.Clone(vms[i].Inherited), "args", "hookscript", model.InheritedSeed, model.InheritedText)
		if len(vms) > 1 { // networks can't say the addresses of several
			vms[i].Inherited = append(vms[i].Inherited, model.InheritedMACs)
		}
	}
}

// called is a name for something that has none: the same for what is the same.
func called(word string, spec map[string]any) string {
	b, _ := json.Marshal(spec) // which has nothing but texts, numbers and the like
	sum := sha256.Sum256(b)
	return word + "-" + hex.EncodeToString(sum[:6])
}

// hidden are texts in the place of first-boot data that a state doesn't have, since they were write-only.
var hidden = map[string]string{"cloudInit": "#cloud-config\n{}\n", "ignition": `{"ignition":{"version":"3.3.0"}}`, "butane": "variant: flatcar\nversion: 1.1.0\n"}

// hideFirstBoot gives a manifest others in the place of first-boot data that aren't there: they were write-only, and
// this is a state. That they differ from what the machine got is no drift, see [part.visible].
func hideFirstBoot(spec map[string]any) bool {
	data, _ := spec["userData"].(map[string]any)
	for format, text := range hidden {
		if of, ok := data[format].(map[string]any); ok && of["inline"] == nil && of["snippets"] == nil {
			of["inline"] = text
			return true
		}
	}
	return false
}

// shrink: machines that a smaller number of replicas, or another name, leaves out go.
func (r *machine) shrink(w *part, state tfsdk.State) diag.Diagnostics {
	was, known, diags := r.recall(state.Raw)
	if !known || diags.HasError() {
		return diags
	}
	w.was = was.said
	for _, v := range was.wanted.Desired.VMs {
		if slices.Contains(w.owners, v.Owner) {
			continue
		}
		v.Deleted = true
		w.wanted.Desired.VMs, w.leaves = append(w.wanted.Desired.VMs, v), append(w.leaves, v.Owner)
	}
	switch another := w.another(was); {
	case len(w.leaves) == 0:
	case another && !w.anew:
		diags.Append(w.anotherMachine(names(w.leaves)))
	case !another && !w.fewer:
		diags.AddAttributeError(path.Root("replicas"), "Machines would be destroyed", fmt.Sprintf("With that number of replicas %s would be destroyed, with all disks: set %s to allow it.", names(w.leaves), status.Terraform.Consent(model.AllowScaleDown))+plansFirst)
	}
	return diags
}

// names are owners by their names.
func names(owners []model.Owner) string {
	list := make([]string, len(owners))
	for i, o := range owners {
		list[i] = o.Name
	}
	return strings.Join(list, ", ")
}

func (r *machine) leave(want model.Desired) model.Desired {
	want.Images = nil // they have a resource of their own
	want.Delete()
	return want
}
