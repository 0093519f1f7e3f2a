package cluster

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/proxplane/proxplane/spec/suggest"
)

// Distributions are those that can be installed.
var Distributions = []string{"rke2", "k3s"}

var (
	clusterName = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$`)
	poolName    = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,14}[a-z0-9])?$`)
	channel     = regexp.MustCompile(`^v?(\d+)\.(\d+)(\.\d+)?$`)
	release     = regexp.MustCompile(`^v\d+\.\d+\.\d+\+(rke2r|k3s)\d+$`)
	sha256Text  = regexp.MustCompile(`^[0-9a-f]{64}$`)
	taint       = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9./_-]*(=[A-Za-z0-9._-]*)?:(NoSchedule|PreferNoSchedule|NoExecute)$`)
)

// check finds all that can be known to be wrong without asking anybody.
func (r *reading) check(f *File) {
	switch {
	case f.Name == "":
		r.fail("name", "is missing: give the cluster a name, such as lab")
	case strings.Contains(f.Name, "."):
		r.fail("name", "%q has dots, and names of machines are made from it; use hyphens: %s", suggest.Shortened(f.Name), strings.ReplaceAll(f.Name, ".", "-"))
	case !clusterName.MatchString(f.Name):
		r.fail("name", "want up to 40 small letters, digits and hyphens, a letter first, have %q", suggest.Shortened(f.Name))
	}
	if !r.checkProvider(&f.Provider) {
		return
	}
	r.checkNetwork(f)
	r.checkKubernetes(&f.Kubernetes)
	r.checkPodNetworks(f)
	r.checkNodes(f)
	r.checkComponents(f)
}

// checkProvider checks where the machines go; false: the file isn't for Proxmox.
func (r *reading) checkProvider(p *Provider) bool {
	const kind = "provider.type"
	switch {
	case p.Type == "":
		r.fail(kind, "is missing: want proxmox")
		return false
	case strings.EqualFold(p.Type, "proxmox") && p.Type != "proxmox":
		r.fail(kind, "want proxmox, in small letters, have %q", p.Type)
		return false
	case p.Type != "proxmox":
		r.fail(kind, "%q isn't Proxmox: this file is for another provider; want proxmox", suggest.Shortened(p.Type))
		return false
	}
	for _, f := range []struct {
		name string
		has  bool
	}{{"region", p.Region != ""}, {"location", p.Location != ""}, {"vpc", p.VPC != nil}, {"vcenter", p.VCenter != ""}, {"datacenter", p.Datacenter != ""}} {
		if f.has {
			r.fail("provider."+f.name, "is for another provider than proxmox; leave it out")
		}
	}
	switch {
	case p.Node == "" && len(p.Nodes) == 0:
		r.fail("provider.node", "is missing: name the Proxmox node, or several with nodes: [pve1, pve2], or all with nodes: [\"*\"]")
	case p.Node != "" && len(p.Nodes) > 0:
		r.fail("provider.nodes", "is instead of node; leave one of them out")
	}
	if slices.Contains(p.Nodes, "*") && len(p.Nodes) > 1 {
		r.fail("provider.nodes", "* are all nodes; name no others beside it")
	}
	r.checkTwice("provider.nodes", p.Nodes)
	if p.VLANTag < 0 || p.VLANTag > 4094 {
		r.fail("provider.vlanTag", "want a number from 1 to 4094, have %d", p.VLANTag)
	}
	if p.Template != "" && p.Image != (Image{}) {
		r.fail("provider.template", "is instead of an image; leave one of them out")
	}
	return true
}

// checkTwice finds nodes that a list has twice: machines are spread over as many as it has.
func (r *reading) checkTwice(field string, list []string) {
	for i, n := range list {
		if slices.Contains(list[:i], n) {
			r.fail(fmt.Sprintf("%s[%d]", field, i), "%q is there twice", suggest.Shortened(n))
		}
	}
}

// FieldOf returns the field that a pool is written in, by its name.
func (f *File) FieldOf(pool string) string { return fieldOf(f, f.Pool(pool)) }

// fieldOf is where a pool is written.
func fieldOf(f *File, pool *Pool) string {
	switch pool {
	case &f.Nodes.ControlPlane:
		return "nodes.controlPlane"
	case &f.Nodes.Workers:
		return "nodes.workers"
	}
	for i := range f.Nodes.Pools {
		if pool == &f.Nodes.Pools[i] {
			return fmt.Sprintf("nodes.pools[%d]", i)
		}
	}
	return "nodes"
}

// checkKubernetes checks what is installed.
func (r *reading) checkKubernetes(k *Kubernetes) {
	if !slices.Contains(Distributions, k.Distribution) {
		r.fail("kubernetes.distribution", "%s", suggest.OneOf(k.Distribution, Distributions))
		return
	}
	d := distributions[k.Distribution]
	switch {
	case channel.MatchString(k.Version):
		if k.Checksum != "" {
			r.fail("kubernetes.checksum", "is of one release; give the version in full, such as v1.30.4%s1", d.suffix)
		}
	case !release.MatchString(k.Version) || !strings.Contains(k.Version, d.suffix):
		r.fail("kubernetes.version", "want a version such as \"1.30\", or a release in full such as v1.30.4%s1, have %q", d.suffix, suggest.Shortened(k.Version))
	}
	if k.Checksum != "" && !sha256Text.MatchString(k.Checksum) {
		r.fail("kubernetes.checksum", "want a SHA-256 checksum, 64 hexadecimal digits, have %q", suggest.Shortened(k.Checksum))
	}
	for _, at := range []struct{ field, url string }{{"kubernetes.source", k.Source}, {"kubernetes.channels", k.Channels}} {
		if at.url != "" && !isWebURL(at.url) {
			r.fail(at.field, "want a URL such as https://mirror.example.com/rke2, have %q", suggest.Shortened(at.url))
		}
	}
	for i, a := range k.Images {
		if !isWebURL(a.URL) || !sha256Text.MatchString(a.Checksum) {
			r.fail(fmt.Sprintf("kubernetes.images[%d]", i), "want a url and its checksum (SHA-256)")
		}
	}
	if k.CNI != "" && !slices.Contains(d.cnis, k.CNI) {
		r.fail("kubernetes.cni", "%s", suggest.OneOf(k.CNI, d.cnis))
	}
	for _, c := range []struct{ field, text string }{{"kubernetes.podCIDR", k.PodCIDR}, {"kubernetes.serviceCIDR", k.ServiceCIDR}} {
		for part := range strings.SplitSeq(c.text, ",") {
			if _, err := netip.ParsePrefix(strings.TrimSpace(part)); err != nil && c.text != "" {
				r.fail(c.field, "want a network such as 10.42.0.0/16, have %q", suggest.Shortened(c.text))
			}
		}
	}
	for _, key := range []string{"token", "server", "cluster-init", "tls-san", "node-name", "write-kubeconfig-mode"} {
		if _, own := k.Config[key]; own {
			r.fail("kubernetes.config."+key, "is set by proxplane; leave it out")
		}
	}
	r.checkNames(k)
	for i, c := range k.Charts {
		if c.Name == "" || c.Chart == "" {
			r.fail(fmt.Sprintf("kubernetes.charts[%d]", i), "want name and chart")
		}
	}
	for i, m := range k.Manifests {
		if !poolName.MatchString(m.Name) {
			r.fail(fmt.Sprintf("kubernetes.manifests[%d].name", i), "want up to 16 small letters, digits and hyphens, have %q", suggest.Shortened(m.Name))
		}
	}
}

// isWebURL reports whether nodes can fetch from a URL.
func isWebURL(text string) bool {
	at, err := url.Parse(text)
	return err == nil && (at.Scheme == "http" || at.Scheme == "https") && at.Host != ""
}

// MaxMachines is the maximal number of machines of a cluster.
const MaxMachines = 200

// checkNodes checks how many machines there are, and what they are.
func (r *reading) checkNodes(f *File) {
	cp := *f.Nodes.ControlPlane.Count
	switch {
	case cp <= 0:
		r.fail("nodes.controlPlane.count", "want 1, 3 or 5, have %d: a cluster needs a control plane", cp)
	case cp%2 == 0:
		r.fail("nodes.controlPlane.count", "want an odd number, have %d: %d control planes survive the loss of no more machines than %d do", cp, cp, cp-1)
	case cp > 7:
		r.fail("nodes.controlPlane.count", "want 1, 3, 5 or 7, have %d: etcd gets slower with each member", cp)
	}
	for _, field := range []string{"nodes.controlPlane.name", "nodes.workers.name"} {
		if r.lines[field] > 0 {
			r.fail(field, "is for nodes.pools only; the machines of this pool are named by its role")
		}
	}
	total, names := 0, map[string]bool{controlPool: true, WorkerPool: true}
	for i, pool := range f.Nodes.Pools {
		at := fmt.Sprintf("nodes.pools[%d].name", i)
		switch {
		case !poolName.MatchString(pool.Name):
			r.fail(at, "want up to 16 small letters, digits and hyphens, a letter first, have %q", suggest.Shortened(pool.Name))
		case names[pool.Name]:
			r.fail(at, "%s is the name of another pool", pool.Name)
		}
		names[pool.Name] = true
	}
	for _, pool := range f.Pools() {
		at := fieldOf(f, pool)
		total += max(0, *pool.Count)
		switch n, workers := *pool.Count, pool == &f.Nodes.Workers; {
		case workers && n < 0:
			r.fail(at+".count", "want a number from 0 on, have %d", n)
		case !workers && pool != &f.Nodes.ControlPlane && (n < 0 || n == 0 && r.lines[at+".count"] > 0):
			r.fail(at+".count", "want a number from 1 on, have %d", n)
		}
		if pool == &f.Nodes.Workers && *pool.Count == 0 && len(f.Nodes.Pools) == 0 && len(f.Nodes.ControlPlane.Taints) > 0 {
			r.fail(at+".count", "is 0, and the control plane has taints: nothing could run anywhere")
		}
		if pool.InstanceType != "" {
			r.fail(at+".instanceType", "is for clouds; give cpu, memory (MiB) and disk (GiB)")
		}
		if pool.CPU < 1 || pool.CPU > 128 {
			r.fail(at+".cpu", "want a number from 1 to 128, have %d", pool.CPU)
		}
		if pool.Memory < 2048 {
			r.fail(at+".memory", "want 2048 MiB or more, have %d: Kubernetes doesn't start with less", pool.Memory)
		}
		if pool.Disk < 20 {
			r.fail(at+".disk", "want 20 GiB or more, have %d: the images of Kubernetes need that", pool.Disk)
		}
		r.checkTwice(at+".nodes", pool.Nodes)
		r.checkLabels(at, pool)
	}
	if total > MaxMachines {
		r.fail("nodes", "has %d machines, more than the %d that a cluster may have", total, MaxMachines)
	}
}

// checkComponents checks what the cluster comes with.
func (r *reading) checkComponents(f *File) {
	if f.GitOps.Enabled && f.GitOps.Repository == "" {
		r.fail("gitops.repository", "is missing: give the URL of the Git repository")
	}
	v := f.Components.Vault
	if v.Enabled && v.Mode != "deploy" && v.Mode != "external" {
		r.fail("components.vault.mode", "%s", suggest.OneOf(v.Mode, []string{"deploy", "external"}))
	}
	if v.Enabled && v.Mode == "external" && v.Address == "" {
		r.fail("components.vault.address", "is missing: give the address of the Vault that is there")
	}
}
