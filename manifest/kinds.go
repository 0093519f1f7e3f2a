package manifest

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/proxplane/proxplane/api/infra/v1beta1"
	"github.com/proxplane/proxplane/spec/suggest"
)

// Secret is Kubernetes' Secret, with the fields that are used.
type Secret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Type is read unchecked; it shows whether the Secret is a credential.
	Type string `json:"type,omitempty"`

	// Immutable is read and ignored.
	Immutable *bool `json:"immutable,omitempty"`

	// Data are the entries, in base64 where they are written.
	Data map[string][]byte `json:"data,omitempty"`

	// StringData are entries as plain text, which come before those of Data.
	StringData map[string]string `json:"stringData,omitempty"`
}

// Get returns an entry.
func (s *Secret) Get(key string) (string, bool) {
	if text, ok := s.StringData[key]; ok {
		return text, true
	}
	b, ok := s.Data[key]
	return string(b), ok
}

// keys are the names of the entries.
func (s *Secret) keys() []string {
	all := append(sortedKeys(s.StringData), sortedKeys(s.Data)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// ConfigMap is Kubernetes' ConfigMap, with the fields that are used.
type ConfigMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Immutable is read and ignored.
	Immutable *bool `json:"immutable,omitempty"`

	// Data are the entries.
	Data map[string]string `json:"data,omitempty"`

	// BinaryData are further entries, in base64 where they are written.
	BinaryData map[string][]byte `json:"binaryData,omitempty"`
}

// Get returns an entry.
func (c *ConfigMap) Get(key string) (string, bool) {
	if text, ok := c.Data[key]; ok {
		return text, true
	}
	b, ok := c.BinaryData[key]
	return string(b), ok
}

// keys are the names of the entries.
func (c *ConfigMap) keys() []string {
	all := append(sortedKeys(c.Data), sortedKeys(c.BinaryData)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// files are the entries as files.
func (c *ConfigMap) files() map[string][]byte {
	all := map[string][]byte{}
	for _, key := range c.keys() {
		text, _ := c.Get(key)
		all[key] = []byte(text)
	}
	return all
}

// A kind is a kind of object that can be read.
type kind struct {
	apiVersion string
	make       func() metav1.Object
}

var kinds = map[string]*kind{
	"ConfigMap":         {"v1", func() metav1.Object { return new(ConfigMap) }},
	"Provider":          {api.APIVersion, func() metav1.Object { return new(api.Provider) }},
	"Secret":            {"v1", func() metav1.Object { return new(Secret) }},
	"VMClass":           {api.APIVersion, func() metav1.Object { return new(api.VMClass) }},
	"VMClone":           {api.APIVersion, func() metav1.Object { return new(api.VMClone) }},
	"VMImage":           {api.APIVersion, func() metav1.Object { return new(api.VMImage) }},
	"VMPlacementPolicy": {api.APIVersion, func() metav1.Object { return new(api.VMPlacementPolicy) }},
	"VMSnapshot":        {api.APIVersion, func() metav1.Object { return new(api.VMSnapshot) }},
	"VirtualMachine":    {api.APIVersion, func() metav1.Object { return new(api.VirtualMachine) }},
}

func kindNames() []string { return sortedKeys(kinds) }

// savedPlan is how the kind of the files begins that proxplane plan -o writes.
const savedPlan = "proxplane.io/plan."

// known reports whether a document is of a kind that can be read.
func (r *reader) known(d *document) bool {
	k, version := kinds[d.key.Kind], d.apiVersion
	line := d.node.Line
	switch {
	case d.key.Kind == "" && version == "":
		r.fail(d.file, line, "this has neither apiVersion nor kind, so what it is isn't known")
	case d.key.Kind == "":
		r.fail(d.file, line, "kind is missing; known kinds are %s", strings.Join(kindNames(), ", "))
	case k != nil && version == "":
		r.fail(d.file, line, "%s has no apiVersion; it is %s", d.key.Kind, k.apiVersion)
	case k != nil && version != k.apiVersion:
		r.fail(d.file, line, "%s of %s isn't known; there is that of %s", d.key.Kind, version, k.apiVersion)
	case k != nil:
		return true
	case strings.HasPrefix(version, api.Group+"/"):
		r.fail(d.file, line, "kind %s isn't known; %s", d.key.Kind, suggest.DidYouMean(d.key.Kind, kindNames()))
	case strings.HasPrefix(d.key.Kind, savedPlan):
		r.fail(d.file, line, "this is a saved plan, not a manifest: proxplane apply takes it without -f")
	case version == "":
		r.fail(d.file, line, "kind %s isn't known, and apiVersion is missing; known kinds are %s", d.key.Kind, strings.Join(kindNames(), ", "))
	default:
		r.fail(d.file, line, "%s of %s isn't for Proxmox but for Kubernetes: use kubectl for it; known here are %s",
			d.key.Kind, version, strings.Join(kindNames(), ", "))
	}
	return false
}
