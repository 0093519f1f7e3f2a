package terraform

import (
	"maps"
	"slices"
	"sync"

	"github.com/proxplane/proxplane/deploy/crds"
)

// shape is what kind of value a field has.
type shape int

const (
	text shape = iota
	integer
	number
	boolean
	list    // of items
	mapping // of items, by name
	object
)

// field is a field of a kind, as Terraform sees it.
type field struct {
	name     string // in Terraform
	key      string // in manifests
	shape    shape
	item     *field  // of a list or a mapping
	fields   []field // of an object
	required bool
	about    string
	secret   bool // it is neither shown nor kept
}

// writeOnly ends the names of attributes that are for secrets.
const writeOnly = "_wo"

// foreign are the fields that name other objects of Kubernetes. Here, others are given as they are.
var foreign = map[string]bool{
	"providerRef": true, "classRef": true, "imageRef": true, "placementRef": true, "secretRef": true, "configMapRef": true,
	"sourceVMRef": true, "vmRef": true, "credentialSecretRef": true, "sharedWith": true, "allow": true, "ssh": true, "runtime": true, "type": true,
}

// fieldsOf are the fields of a kind, without those that Terraform has another way for.
func fieldsOf(kind string, without ...string) []field {
	known, ok := kinds.Load(kind)
	if !ok {
		spec, err := crds.Spec(kind)
		if err != nil {
			panic(err) // the definitions are part of this program
		}
		known, _ = kinds.LoadOrStore(kind, objectOf(spec, true))
	}
	all, _ := known.([]field)
	return slices.DeleteFunc(slices.Clone(all), func(f field) bool { return slices.Contains(without, f.key) })
}

// kinds are the fields of kinds that were read, since each request makes its resource anew:
// they are never changed.
var kinds sync.Map

// objectOf are the fields of an object.
func objectOf(p *crds.Property, top bool) (all []field) {
	for _, key := range slices.Sorted(maps.Keys(p.Properties)) {
		if foreign[key] && (top || key != "type" && key != "allow") {
			continue
		}
		f := fieldOf(key, p.Properties[key])
		f.required = p.Requires(key)
		all = append(all, f)
		if key == "inline" {
			hidden := f
			hidden.name, hidden.secret, hidden.required = f.name+writeOnly, true, false
			hidden.about = "The same for what is secret: it is handed to Proxmox, and neither the state nor a plan has it (write-only)."
			all = append(all, hidden)
		}
	}
	return all
}

func fieldOf(key string, p *crds.Property) field {
	f := field{name: snake(key), key: key, about: ourWords(p.Text())}
	switch {
	case p.Items != nil:
		item := fieldOf("", p.Items)
		f.shape, f.item = list, &item
	case p.Values != nil && len(p.Properties) == 0:
		item := fieldOf("", p.Values)
		f.shape, f.item = mapping, &item
	case len(p.Properties) > 0:
		f.shape, f.fields = object, objectOf(p, false)
	case p.Type == "integer":
		f.shape = integer
	case p.Type == "number":
		f.shape = number
	case p.Type == "boolean":
		f.shape = boolean
	}
	return f
}
