package terraform

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/manifest"
)

// document is a manifest.
type document struct {
	kind, name string
	labels     map[string]any
	spec       map[string]any
}

// provided is the name of the Provider in the manifests that resources become.
const provided = "proxmox"

// translate checks manifests and translates them, as for files. Errors are in the words of
// the resource.
func (d *door) translate(docs ...document) (manifest.Wanted, diag.Diagnostics) {
	docs = append([]document{{kind: "Provider", name: provided, spec: d.config.provider}}, docs...)
	var all []byte
	for _, doc := range docs {
		text, err := doc.text()
		if err != nil {
			return manifest.Wanted{}, told(err)
		}
		all = append(all, text...)
	}
	set, err := manifest.Parse("configuration", all)
	if err != nil {
		return manifest.Wanted{}, told(err)
	}
	wanted, err := d.wanted(set)
	if err != nil {
		return manifest.Wanted{}, told(err)
	}
	var diags diag.Diagnostics
	for _, n := range set.Remarks() {
		if n.Field != "spec.sourceVMRef.name" { // a source is one of Proxmox' own here
			diags.AddWarning(worthKnowing, fmt.Sprintf("%s: %s: %s", n.Object.Name, attributeOf(n), ownWords(n.Text)))
		}
	}
	return wanted, diags
}

const worthKnowing = "Worth knowing"

// wanted is what manifests want of Proxmox.
func (d *door) wanted(set *manifest.Set) (manifest.Wanted, error) {
	all, err := set.Wanted(manifest.Options{Set: d.config.set, Door: Door, Getenv: d.config.getenv, ReadFile: os.ReadFile})
	if err != nil {
		return manifest.Wanted{}, err
	}
	return all[0], nil
}

// text is the document as YAML, which JSON is.
func (doc document) text() ([]byte, error) {
	b, err := json.Marshal(doc.object())
	return append(append([]byte("---\n"), b...), "\n---\n"...), err
}

func (doc document) object() map[string]any {
	meta := map[string]any{"name": doc.name}
	if len(doc.labels) > 0 {
		meta["labels"] = doc.labels
	}
	return map[string]any{"apiVersion": api.GroupVersion.String(), "kind": doc.kind, "metadata": meta, "spec": doc.spec}
}

// told puts errors of manifests into the words of Terraform.
func told(err error) (diags diag.Diagnostics) {
	var list manifest.Errors
	if !errors.As(err, &list) {
		diags.AddError("The configuration can't be used", err.Error())
		return diags
	}
	for _, e := range list {
		if noCredentials(e) {
			diags.AddError("The provider has no credentials", "Say token_id and token_secret, or username and password, in its block or in the environment: PVE_TOKEN_ID and PVE_TOKEN_SECRET, PVE_USERNAME and PVE_PASSWORD, or PROXMOX_VE_API_TOKEN.")
			continue
		}
		diags.AddError(fmt.Sprintf("%s isn't right", attributeOf(e)), ownWords(e.Text))
	}
	return diags
}

// manifestField is a field as texts about manifests name it.
var manifestField = regexp.MustCompile(`(^|[ (])spec\.([a-z])`)

// ownWords is a text about manifests in the words of Terraform: "spec.networks of the Provider" is "networks of the provider's block".
func ownWords(text string) string {
	return objects.Replace(attributesIn(manifestField.ReplaceAllString(text, "$1$2")))
}

// objects are the kinds of manifests as they are called here.
var objects = strings.NewReplacer("the VMClass", "the class", "the Provider", "the provider's block", "the VMImage", "the image", "VirtualMachine ", "machine ")

// noCredentials reports whether a Provider lacks the reference to its Secret, which has no attribute here.
func noCredentials(e *manifest.Error) bool {
	return e.Object.Kind == "Provider" && e.Field == "spec.credentialSecretRef"
}

// toldAsWritten says what is wrong with manifests that people wrote as such: in which line of which object.
func toldAsWritten(err error) (diags diag.Diagnostics) {
	var list manifest.Errors
	if !errors.As(err, &list) {
		return told(err)
	}
	for _, e := range list {
		if noCredentials(e) {
			return told(err)
		}
		diags.AddAttributeError(path.Root("yaml"), "The manifests aren't right", e.Error())
	}
	return diags
}

// attributeOf names the attribute that a field of a manifest stands for.
func attributeOf(e *manifest.Error) string {
	words := strings.Split(strings.TrimPrefix(e.Field, "spec."), ".")
	for i, w := range words {
		name, rest, indexed := strings.Cut(w, "[")
		if words[i] = snake(name); indexed {
			words[i] += "[" + rest
		}
	}
	name := strings.Join(words, ".")
	switch name {
	case snake("sourceVMRef") + ".name":
		return "source"
	case "metadata.name":
		return "name"
	case "count":
		return "replicas"
	}
	switch e.Object.Kind {
	case "VMClass":
		return "class." + name
	case "VMImage":
		return "image." + name
	case "VMPlacementPolicy":
		return "placement." + name
	case "Provider":
		if name == "" {
			return "The provider's block"
		}
		return "The provider's " + name
	case "":
		return "The configuration"
	}
	return name
}
