//go:build linux

package hook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/proxplane/proxplane/firstboot/hookblock"
)

// Policy has the allowed requests of VMs. Everything else is refused.
type Policy struct {
	// Virtiofsd is the daemon that shares directories; empty: that of the
	// distribution.
	Virtiofsd string `yaml:"virtiofsd"`
	Rules     []Rule `yaml:"rules"`
}

// Rule allows something to some VMs.
type Rule struct {
	VMs     []vmRange   `yaml:"vms"`   // 100, 200-299, all
	Pools   []string    `yaml:"pools"` // and the members of these
	Shares  []shareRule `yaml:"shares"`
	Scripts []string    `yaml:"scripts"` // volumes of hookscripts
	// Seeds are ISOs that Ignition files may come from: volumes, with * and {vmid}
	// in the file's name, or "attached": those that the guest can read anyway.
	Seeds []string `yaml:"seeds"`
}

type shareRule struct {
	Path     string `yaml:"path"`     // {vmid} in it is the VM's own
	Below    bool   `yaml:"below"`    // and any directory in it
	ReadOnly bool   `yaml:"readOnly"` // whatever the VM asks for
}

// vmRange is a range of VMIDs, both ends included.
type vmRange struct{ first, last int }

func (r *vmRange) UnmarshalYAML(node *yaml.Node) error {
	text := node.Value
	if node.Kind == yaml.ScalarNode && text == "all" {
		*r = vmRange{1, 999_999_999}
		return nil
	}
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	var errs [2]error
	r.first, errs[0] = strconv.Atoi(strings.TrimSpace(first))
	r.last, errs[1] = strconv.Atoi(strings.TrimSpace(last))
	if errors.Join(errs[:]...) != nil || node.Kind != yaml.ScalarNode || r.first < 1 || r.last < r.first {
		return fmt.Errorf("line %d: %q isn't a VMID, a range like 100-199, or all", node.Line, text)
	}
	return nil
}

// attached stands for the CD-ROMs of a VM.
const attached = "attached"

// ParsePolicy parses a policy. Unknown fields are errors, since a misspelt restriction
// would have no effect.
func ParsePolicy(text []byte) (Policy, error) {
	var p Policy
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&p); err != nil && !errors.Is(err, io.EOF) {
		return Policy{}, err
	}
	if err := decoder.Decode(&Policy{}); !errors.Is(err, io.EOF) {
		return Policy{}, errors.New("there is more than one document")
	}
	if p.Virtiofsd != "" && !isCleanPath(p.Virtiofsd) {
		return Policy{}, fmt.Errorf("virtiofsd: %q isn't an absolute path in its shortest form", p.Virtiofsd)
	}
	for i, r := range p.Rules {
		if err := r.check(); err != nil {
			return Policy{}, fmt.Errorf("rules[%d]: %w", i, err)
		}
	}
	return p, nil
}

func isCleanPath(p string) bool { return path.IsAbs(p) && path.Clean(p) == p }

var poolName = regexp.MustCompile(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$`)

func (r Rule) check() error {
	if len(r.VMs)+len(r.Pools) == 0 {
		return errors.New("it says neither vms nor pools, so it is for nobody")
	}
	for _, pool := range r.Pools {
		if !poolName.MatchString(pool) {
			return fmt.Errorf("pools: %q isn't the name of a pool", pool)
		}
	}
	for _, s := range r.Shares {
		if !isCleanPath(s.Path) {
			return fmt.Errorf("shares: %q isn't an absolute path in its shortest form", s.Path)
		}
	}
	for _, s := range r.Scripts {
		if err := (hookblock.Block{HookScripts: []string{s}}).Check(); err != nil {
			return fmt.Errorf("scripts: %w", err)
		}
	}
	for _, s := range r.Seeds {
		if s == attached {
			continue
		}
		if err := (hookblock.Block{CloudInit: strings.ReplaceAll(ofVM(s, 100), "*", "x")}).Check(); err != nil || strings.Contains(strings.SplitN(s, "/", 2)[0], "*") {
			return fmt.Errorf("seeds: %q is neither %q nor a volume like local:iso/name-*.iso", s, attached)
		}
	}
	return nil
}

// grant is what one VM may have, by all rules together.
type grant struct {
	vmid  int
	rules []Rule
}

// ofVM is a text of a rule for one VM.
func ofVM(text string, vmid int) string {
	return strings.ReplaceAll(text, "{vmid}", strconv.Itoa(vmid))
}

func (p Policy) grant(vmid int, pools []string) grant {
	g := grant{vmid: vmid}
	for _, r := range p.Rules {
		if slices.ContainsFunc(r.VMs, func(v vmRange) bool { return v.first <= vmid && vmid <= v.last }) ||
			slices.ContainsFunc(r.Pools, func(pool string) bool { return slices.Contains(pools, pool) }) {
			g.rules = append(g.rules, r)
		}
	}
	return g
}

// script reports whether a hookscript may run.
func (g grant) script(volid string) bool {
	return slices.ContainsFunc(g.rules, func(r Rule) bool { return slices.Contains(r.Scripts, volid) })
}

// share reports whether a directory may be shared, and whether read-only at most.
// Where several rules allow it, the most generous counts.
func (g grant) share(dir string) (ok, readOnly bool) {
	readOnly = true
	for _, r := range g.rules {
		for _, s := range r.Shares {
			allowed := ofVM(s.Path, g.vmid)
			if dir == allowed || s.Below && strings.HasPrefix(dir, strings.TrimSuffix(allowed, "/")+"/") {
				ok, readOnly = true, readOnly && s.ReadOnly
			}
		}
	}
	return ok, ok && readOnly
}

// seed reports whether an Ignition file may come from an ISO.
func (g grant) seed(volid string, isAttached bool) bool {
	return slices.ContainsFunc(g.rules, func(r Rule) bool {
		return slices.ContainsFunc(r.Seeds, func(pattern string) bool {
			if pattern == attached {
				return isAttached
			}
			return matches(ofVM(pattern, g.vmid), volid)
		})
	})
}

// matches compares with a pattern in which * stands for anything but slashes.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	ok, err := regexp.MatchString("^"+strings.Join(parts, "[^/]*")+"$", text)
	return ok && err == nil
}
