package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// Schema is the API of one release. It is read only and safe for concurrent use.
type Schema struct {
	Release string // "9.2"
	Version string // "9.2.11"
	RepoID  string

	endpoints []*Endpoint
	byKey     map[string]*Endpoint // "GET /path/{template}"
	root      *folder
	formats   map[string]*PropFormat // named property-string formats
	named     map[string]*Format     // all formats that parameters name
	facts     *facts

	rawFormats  map[string]formatKeys
	hasCPUModel func(name string) bool // see [CPUModels]
}

// Endpoint is one call: a method on a path template.
type Endpoint struct {
	Method string
	Path   string // template, e.g. /nodes/{node}/qemu/{vmid}/config
	Name   string // Proxmox' name of the method, e.g. update_vm

	Protected  bool   // runs in pvedaemon, as root
	ProxyTo    string // parameter that names the node which does the work
	AllowToken bool   // usable with an API token

	Permissions Permissions

	// Params are the declared parameters by the name in the schema; families
	// stand here once, as "net[n]". Use [Endpoint.Param] to look one up.
	Params               map[string]*Param
	AdditionalProperties bool // unknown parameters are let through
	Returns              json.RawMessage

	schema *Schema
	root   *Param // the parameters as one object, what Verify walks
}

// releases in the order in which Releases lists them, newest first.
var releases = []string{"9.2", "8.4"}

var (
	newest = sync.OnceValues(load92)
	older  = sync.OnceValues(load84)
)

// Load gives the schema of a release ("9.2", "8.4"). It is parsed once.
func Load(release string) (*Schema, error) {
	var s *Schema
	var err error
	switch release {
	case "9.2":
		s, err = newest()
	case "8.4":
		s, err = older()
	default:
		return nil, fmt.Errorf("load API schema: no release %q, only %q", release, releases)
	}
	if err != nil {
		return nil, fmt.Errorf("load API schema %s: %w", release, err)
	}
	return s, nil
}

// Releases lists what Load knows, newest first.
func Releases() []string { return slices.Clone(releases) }

// Endpoints lists all calls in the order of Proxmox' own dump.
func (s *Schema) Endpoints() []*Endpoint { return slices.Clone(s.endpoints) }

// Lookup gives the endpoint of a path template, or nil.
func (s *Schema) Lookup(method, pathTemplate string) *Endpoint {
	return s.byKey[method+" "+pathTemplate]
}

// String returns "GET /path/{template}".
func (ep *Endpoint) String() string { return ep.Method + " " + ep.Path }
