package spec

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/firstboot/hookblock"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec/suggest"
)

// Cluster has the settings for all machines and images of one Proxmox cluster.
type Cluster struct {
	Name  string      // name for messages
	Range model.Range // of VMIDs; zero: [DefaultRange]
	Nodes []string    // that machines may be on; empty: all
	// Facts are settings of nodes, see [Nodes].
	Facts    map[string]model.NodeFacts
	Defaults Defaults
	Networks Networks // by the names that machines use
	SSH      bool     // there is a login to nodes, for snippets
	Allow    *Allow   // what machines and images may use; nil: everything
}

// Defaults are for fields that machines leave out.
type Defaults struct {
	Storage        string // of disks
	ISOStorage     string // empty: local
	SnippetStorage string // empty: local
	Hook           string // volume of proxplane's hook; empty: where it is installed by default
	Bridge         string // of networks without an entry in Networks
}

// Networks defines the names of networks.
type Networks map[string]ClusterNetwork

// ClusterNetwork defines the name of a network.
type ClusterNetwork struct {
	Bridge   string
	VLAN     int
	MTU      int
	Firewall *bool
	Pool     *Pool // addresses for machines; nil: none
}

// DefaultRange is the range of VMIDs if none is given.
var DefaultRange = model.DefaultRange

// What else holds then.
const (
	defaultISOStorage = "local"
	defaultHook       = "local:snippets/" + hookblock.Script
)

var defaultNetworks = map[string]string{
	"lan": "vmbr0", "default": "vmbr0",
	"dmz":  "vmbr1",
	"mgmt": "vmbr2", "management": "vmbr2",
}

// Check returns an error that names what is wrong with the settings.
func (c *Cluster) Check() Errors {
	var r report
	r.checkAllow(c)
	if v := c.Range; v != (model.Range{}) && (v.First < MinVMID || v.Last > MaxVMID || v.Last < v.First) {
		r.fail("vmidRange", "want first and last from %d to %d, have %d to %d", MinVMID, MaxVMID, v.First, v.Last)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Networks)) {
		n := c.Networks[name]
		r.checkNetwork("networks."+name, n.Bridge, n.VLAN, n.MTU)
	}
	r.checkPools(c)
	r.checkStorage("defaults.storage", c.Defaults.Storage)
	r.checkStorage("defaults.isoStorage", c.Defaults.ISOStorage)
	if h := c.Defaults.Hook; h != "" && (hookblock.Block{HookScripts: []string{h}}).Check() != nil {
		r.fail("defaults.hook", "want a volume such as %s, have %q", defaultHook, suggest.Shortened(h))
	}
	r.checkStorage("defaults.snippetStorage", c.Defaults.SnippetStorage)
	return r.errs
}

// checkAllow checks what a cluster allows.
func (r *report) checkAllow(c *Cluster) {
	if c.Allow == nil {
		return
	}
	for i, dir := range c.Allow.Paths {
		if !strings.HasPrefix(dir, "/") || path.Clean(dir) != dir || dir == "/" {
			r.fail(fmt.Sprintf("allow.paths[%d]", i), "want a directory of the hosts such as /srv/data, have %q", suggest.Shortened(dir))
		}
	}
	for i, name := range c.Allow.Networks {
		if _, ok := c.network(name); !ok && name != "*" {
			r.fail(fmt.Sprintf("allow.networks[%d]", i), "no bridge is known for a network named %q; name one in %s", suggest.Shortened(name), inCluster("networks"))
		}
	}
}

// vmids is the range of VMIDs.
func (c *Cluster) vmids() model.Range {
	if c.Range == (model.Range{}) {
		return DefaultRange
	}
	return c.Range
}

// hook is where the hook is.
func (c *Cluster) hook() string {
	if h := c.Defaults.Hook; h != "" {
		return h
	}
	return defaultHook
}

func (c *Cluster) snippetStorage() string {
	if c.Defaults.SnippetStorage != "" {
		return c.Defaults.SnippetStorage
	}
	return defaultISOStorage
}

func (c *Cluster) isoStorage() string {
	if c.Defaults.ISOStorage != "" {
		return c.Defaults.ISOStorage
	}
	return defaultISOStorage
}

var bridgeName = regexp.MustCompile(`^vmbr\d{1,4}$`)

// network says what the name of a network means; false: nothing.
func (c *Cluster) network(name string) (ClusterNetwork, bool) {
	if n, ok := c.Networks[name]; ok {
		return n, true
	}
	if b, ok := defaultNetworks[name]; ok {
		return ClusterNetwork{Bridge: b}, true
	}
	if bridgeName.MatchString(name) {
		return ClusterNetwork{Bridge: name}, true
	}
	return ClusterNetwork{Bridge: c.Defaults.Bridge}, c.Defaults.Bridge != ""
}

func (c *Cluster) networkNames() []string {
	names := slices.Sorted(maps.Keys(defaultNetworks))
	for _, n := range slices.Sorted(maps.Keys(c.Networks)) {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}
