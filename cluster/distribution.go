package cluster

import "path"

// distribution is what differs between the distributions of Kubernetes.
type distribution struct {
	name     string
	suffix   string // of its releases, behind the version of Kubernetes
	source   string // where releases are
	channels string // where it says which release a version is
	archive  string // the file of a release that nodes fetch
	cnis     []string
	join     int // port by which further nodes join
	ingress  string
}

var distributions = map[string]*distribution{
	"rke2": {
		name: "rke2", suffix: "+rke2r", source: "https://github.com/rancher/rke2/releases/download", channels: "https://update.rke2.io/v1-release/channels",
		archive: "rke2.linux-amd64.tar.gz", cnis: []string{"canal", "calico", "cilium", "flannel", "none"}, join: 9345, ingress: "rke2-ingress-nginx",
	},
	"k3s": {
		name: "k3s", suffix: "+k3s", source: "https://github.com/k3s-io/k3s/releases/download", channels: "https://update.k3s.io/v1-release/channels",
		archive: "k3s", cnis: []string{"flannel", "none"}, join: 6443, ingress: "traefik",
	},
}

// Places in a node.
func (d *distribution) config(file string) string { return path.Join("/etc/rancher", d.name, file) }
func (d *distribution) data(file string) string   { return path.Join("/var/lib/rancher", d.name, file) }
func (d *distribution) kubeconfig() string        { return d.config(d.name + ".yaml") }

// unit is the service that a node runs.
func (d *distribution) unit(server bool) string {
	switch {
	case d.name == "k3s" && server:
		return "k3s"
	case server:
		return d.name + "-server"
	}
	return d.name + "-agent"
}

// program is the distribution's own command.
func (d *distribution) program() string { return "/usr/local/bin/" + d.name }

// kubectl is how kubectl is called in a control plane.
func (d *distribution) kubectl() []string {
	if d.name == "k3s" {
		return []string{d.program(), "kubectl"}
	}
	return []string{d.data("bin/kubectl"), "--kubeconfig", d.kubeconfig()}
}

// apiPort is where the API server listens.
const apiPort = 6443
