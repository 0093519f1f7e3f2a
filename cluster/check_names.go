package cluster

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/proxplane/proxplane/spec/suggest"
)

// checkLabels checks labels and taints: with one that Kubernetes refuses, the kubelet ends, and the machine
// never becomes a node.
func (r *reading) checkLabels(at string, pool *Pool) {
	for _, key := range slices.Sorted(maps.Keys(pool.Labels)) {
		field := at + ".labels." + key
		value := pool.Labels[key]
		switch {
		case len(validation.IsQualifiedName(key)) > 0:
			r.fail(field, "isn't a label that Kubernetes takes: want letters, digits, '-', '_' and '.', such as example.com/disk, have %q", suggest.Shortened(key))
		case len(validation.IsValidLabelValue(value)) > 0:
			r.fail(field, "want up to 63 letters, digits, '-', '_' and '.', have %q", suggest.Shortened(value))
		case !ownLabel(key):
			r.fail(field, "is a label that a node may not give to itself, and its kubelet would not start; leave it out, and set it later with: kubectl label node")
		}
	}
	for i, t := range pool.Taints {
		field := fmt.Sprintf("%s.taints[%d]", at, i)
		key, value, _ := strings.Cut(t[:max(0, strings.LastIndex(t, ":"))], "=")
		switch {
		case !taint.MatchString(t):
			r.fail(field, "want key=value:NoSchedule, or :NoExecute, or :PreferNoSchedule, have %q", suggest.Shortened(t))
		case len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(value)) > 0:
			r.fail(field, "isn't a taint that Kubernetes takes: want letters, digits, '-', '_' and '.', such as example.com/gpu=yes:NoSchedule, have %q", suggest.Shortened(t))
		}
	}
}

// ownLabels are labels of Kubernetes' own names that a kubelet may give to its node, beside those of
// ownNamespaces.
var (
	ownLabels = []string{
		"kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type",
		"topology.kubernetes.io/zone", "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
	}
	ownNamespaces = []string{"node.kubernetes.io", "kubelet.kubernetes.io"}
)

// ownLabel reports whether a kubelet starts with a label.
func ownLabel(key string) bool {
	namespace, _, has := strings.Cut(key, "/")
	within := func(of string) bool { return namespace == of || strings.HasSuffix(namespace, "."+of) }
	if !has || !within("kubernetes.io") && !within("k8s.io") {
		return true
	}
	return slices.Contains(ownLabels, key) || slices.ContainsFunc(ownNamespaces, within)
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkNames checks further names of the API server, variables and registries.
func (r *reading) checkNames(k *Kubernetes) {
	for i, san := range k.SANs {
		if _, err := netip.ParseAddr(san); err != nil && len(validation.IsDNS1123Subdomain(strings.TrimPrefix(strings.ToLower(san), "*."))) > 0 {
			r.fail(fmt.Sprintf("kubernetes.sans[%d]", i), "want a name or an address such as k8s.example.com, have %q", suggest.Shortened(san))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.Env)) {
		switch {
		case !envName.MatchString(name):
			r.fail("kubernetes.env."+name, "want a name of letters, digits and underscores, such as HTTPS_PROXY, have %q", suggest.Shortened(name))
		case strings.ContainsAny(k.Env[name], "\r\n"):
			r.fail("kubernetes.env."+name, "want a single line")
		}
	}
	known := []string{"mirrors", "configs", "auths"}
	for _, key := range slices.Sorted(maps.Keys(k.Registries)) {
		field := "kubernetes.registries." + key
		_, fields := k.Registries[key].(map[string]any)
		switch {
		case !slices.Contains(known, key):
			r.fail(field, "is unknown; %s", suggest.DidYouMean(key, known))
		case !fields && k.Registries[key] != nil:
			r.fail(field, "want registries below it, by their hosts")
		}
	}
}
