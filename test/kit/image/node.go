package image

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// nodePackages are what a node of Kubernetes has beside what guests have anyway.
var nodePackages = strings.Fields(`containerd runc iptables conntrack curl ca-certificates ethtool util-linux mount`)

// nodeModules are what containers and their network need of the kernel.
var nodeModules = strings.Fields(`overlay br_netfilter bridge veth`)

// nodeMiB is the size of the disk: a kubelet comes on top of what is there.
const nodeMiB = 3072

// Node builds a disk with a Debian that can be made a node of Kubernetes: as [Debian], without Ignition,
// with Debian's containerd. It trusts an authority, and takes these addresses for those of hosts.
func Node(ctx context.Context, authority string, hosts map[string]string, say io.Writer) (path string, err error) {
	var names strings.Builder
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		fmt.Fprintf(&names, "%s %s\n", hosts[host], host)
	}
	return system{
		name: "node", packages: append(slices.Clone(debianPackages), nodePackages...), overlays: []string{"debian", "node"}, mib: nodeMiB, modules: nodeModules,
		files: map[string]string{"usr/local/share/ca-certificates/tests.crt": authority, "etc/hosts.tests": names.String()},
	}.build(ctx, say)
}
