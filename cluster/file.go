package cluster

// File describes one Kubernetes cluster.
type File struct {
	Name       string     `yaml:"name"`
	Provider   Provider   `yaml:"provider"`
	Kubernetes Kubernetes `yaml:"kubernetes,omitempty"`
	Nodes      Nodes      `yaml:"nodes,omitempty"`
	GitOps     GitOps     `yaml:"gitops,omitempty"`
	Components Components `yaml:"components,omitempty"`
}

// Provider are the settings of the machines in Proxmox.
type Provider struct {
	Type      string   `yaml:"type"`
	Node      string   `yaml:"node,omitempty"`      // all machines are there
	Nodes     []string `yaml:"nodes,omitempty"`     // machines are spread over these; ["*"]: over all
	Bridge    string   `yaml:"bridge,omitempty"`    // default: vmbr0
	VLANTag   int      `yaml:"vlanTag,omitempty"`   // 0: none
	Datastore string   `yaml:"datastore,omitempty"` // of disks; default: local-lvm, or where the template is
	// ISODatastore holds the first-boot data and the image; default: local.
	ISODatastore string `yaml:"isoDatastore,omitempty"`
	VIP          string `yaml:"vip"`
	Image        Image  `yaml:"image,omitempty"`
	// Template is a template in Proxmox, instead of an image that is fetched.
	Template string   `yaml:"template,omitempty"`
	Network  Network  `yaml:"network,omitempty"`
	Pool     string   `yaml:"pool,omitempty"` // resource pool of Proxmox
	HA       bool     `yaml:"ha,omitempty"`   // Proxmox restarts machines of a node that is lost
	SSHKeys  []string `yaml:"sshKeys,omitempty"`

	// Fields of other providers of the same file format: they say that the file isn't for Proxmox.
	Region     string         `yaml:"region,omitempty"`
	Location   string         `yaml:"location,omitempty"`
	VPC        map[string]any `yaml:"vpc,omitempty"`
	VCenter    string         `yaml:"vcenter,omitempty"`
	Datacenter string         `yaml:"datacenter,omitempty"`
}

// Image is the disk image that machines are made from.
type Image struct {
	URL          string `yaml:"url,omitempty"`
	Checksum     string `yaml:"checksum,omitempty"`
	ChecksumType string `yaml:"checksumType,omitempty"`
}

// Network says how machines get their addresses; empty: by DHCP.
type Network struct {
	Prefix  string   `yaml:"prefix,omitempty"` // 192.168.1.0/24
	Gateway string   `yaml:"gateway,omitempty"`
	DNS     []string `yaml:"dns,omitempty"`
	Search  []string `yaml:"search,omitempty"`
	Pool    []string `yaml:"pool,omitempty"` // ranges of addresses for machines
	Exclude []string `yaml:"exclude,omitempty"`
}

// Kubernetes says what is installed.
type Kubernetes struct {
	Version      string `yaml:"version,omitempty"`      // "1.30", or in full: v1.30.4+rke2r1
	Distribution string `yaml:"distribution,omitempty"` // rke2 or k3s

	Source   string     `yaml:"source,omitempty"`   // where releases are, instead of GitHub
	Channels string     `yaml:"channels,omitempty"` // where it says which release a version is
	Checksum string     `yaml:"checksum,omitempty"` // SHA-256 of the release; default: as Source says
	Images   []Artifact `yaml:"images,omitempty"`   // archives with container images, for nodes without internet

	CNI         string            `yaml:"cni,omitempty"`
	PodCIDR     string            `yaml:"podCIDR,omitempty"`
	ServiceCIDR string            `yaml:"serviceCIDR,omitempty"`
	SANs        []string          `yaml:"sans,omitempty"` // further names of the API server
	KubeVIP     KubeVIP           `yaml:"kubeVIP,omitempty"`
	Registries  map[string]any    `yaml:"registries,omitempty"` // registries.yaml: mirrors and configs
	Manifests   []Manifest        `yaml:"manifests,omitempty"`
	Charts      []Chart           `yaml:"charts,omitempty"`
	Disable     []string          `yaml:"disable,omitempty"` // packaged components that aren't wanted
	Config      map[string]any    `yaml:"config,omitempty"`  // further keys of config.yaml of servers
	Snapshots   SnapshotsOfEtcd   `yaml:"snapshots,omitempty"`
	KubeletArgs map[string]string `yaml:"kubeletArgs,omitempty"`
	Env         map[string]string `yaml:"env,omitempty"` // of the service: HTTPS_PROXY and the like
}

// Artifact is a file that nodes fetch.
type Artifact struct {
	URL      string `yaml:"url"`
	Checksum string `yaml:"checksum"` // SHA-256
}

// KubeVIP is the pod that holds the VIP.
type KubeVIP struct {
	Image     string `yaml:"image,omitempty"`
	Interface string `yaml:"interface,omitempty"` // default: the one with the default route
}

// Manifest is applied by the cluster itself.
type Manifest struct {
	Name    string `yaml:"name"`
	File    string `yaml:"file,omitempty"` // beside the cluster's file
	Content string `yaml:"content,omitempty"`
}

// Chart is a Helm chart that the cluster installs.
type Chart struct {
	Name      string         `yaml:"name"`
	Repo      string         `yaml:"repo,omitempty"`
	Chart     string         `yaml:"chart"`
	Version   string         `yaml:"version,omitempty"`
	Namespace string         `yaml:"namespace,omitempty"`
	Values    map[string]any `yaml:"values,omitempty"`
}

// SnapshotsOfEtcd says when the cluster takes snapshots of etcd by itself.
type SnapshotsOfEtcd struct {
	Schedule  string `yaml:"schedule,omitempty"` // cron
	Retention int    `yaml:"retention,omitempty"`
}

// Nodes are the machines of the cluster.
type Nodes struct {
	ControlPlane Pool   `yaml:"controlPlane,omitempty"`
	Workers      Pool   `yaml:"workers,omitempty"`
	Pools        []Pool `yaml:"pools,omitempty"` // further pools of workers
}

// Pool are machines that are alike.
type Pool struct {
	Name      string            `yaml:"name,omitempty"` // of further pools
	Count     *int              `yaml:"count,omitempty"`
	CPU       int               `yaml:"cpu,omitempty"`
	Memory    int               `yaml:"memory,omitempty"` // MiB
	Disk      int               `yaml:"disk,omitempty"`   // GiB
	Datastore string            `yaml:"datastore,omitempty"`
	Nodes     []string          `yaml:"nodes,omitempty"` // of Proxmox
	Addresses []string          `yaml:"addresses,omitempty"`
	Labels    map[string]string `yaml:"labels,omitempty"`
	Taints    []string          `yaml:"taints,omitempty"`
	// KubeletArgs are on top of those of the cluster.
	KubeletArgs map[string]string `yaml:"kubeletArgs,omitempty"`

	InstanceType string `yaml:"instanceType,omitempty"` // of clouds; not for Proxmox
}

// GitOps has the cluster take what it runs from a Git repository, by Flux.
type GitOps struct {
	Enabled    bool   `yaml:"enabled,omitempty"`
	Repository string `yaml:"repository,omitempty"`
	Branch     string `yaml:"branch,omitempty"`
	Path       string `yaml:"path,omitempty"`
}

// Components are what the cluster comes with.
type Components struct {
	Traefik         Traefik   `yaml:"traefik,omitempty"`
	Vault           Vault     `yaml:"vault,omitempty"`
	ExternalSecrets Component `yaml:"externalSecrets,omitempty"`
}

// Component is an optional component.
type Component struct {
	Enabled bool   `yaml:"enabled,omitempty"`
	Version string `yaml:"version,omitempty"` // of its chart; empty: the newest
}

// Traefik is the ingress controller.
type Traefik struct {
	Component `yaml:",inline"`
}

// Vault keeps secrets, in the cluster or elsewhere.
type Vault struct {
	Component `yaml:",inline"`
	Mode      string `yaml:"mode,omitempty"`    // deploy or external
	Address   string `yaml:"address,omitempty"` // of an external one
}

// Defaults of the file.
const (
	DefaultBridge       = "vmbr0"
	DefaultDatastore    = "local-lvm"
	DefaultISODatastore = "local"
	DefaultVersion      = "1.30"
	DefaultImage        = "https://cloud-images.ubuntu.com/jammy/current/jammy-server-cloudimg-amd64.img"
	DefaultKubeVIP      = "ghcr.io/kube-vip/kube-vip:v0.9.1"
)

// WorkerPool is the name of the pool of workers that has none of its own.
const WorkerPool = "worker"

// controlPool is the name of the control plane, as a pool.
const controlPool = "cp"

// Fill sets defaults.
func (f *File) Fill() {
	or := func(s *string, value string) {
		if *s == "" {
			*s = value
		}
	}
	number := func(n *int, value int) {
		if *n == 0 {
			*n = value
		}
	}
	p, k := &f.Provider, &f.Kubernetes
	or(&p.Bridge, DefaultBridge)
	or(&p.ISODatastore, DefaultISODatastore)
	if p.Template == "" {
		or(&p.Image.URL, DefaultImage)
		or(&p.Datastore, DefaultDatastore)
	}
	or(&k.Distribution, "rke2")
	or(&k.Version, DefaultVersion)
	or(&k.KubeVIP.Image, DefaultKubeVIP)
	count := func(pool *Pool, usual, disk int) {
		if pool.Count == nil {
			pool.Count = &usual
		}
		number(&pool.CPU, 4)
		number(&pool.Memory, 8192)
		number(&pool.Disk, disk)
	}
	count(&f.Nodes.ControlPlane, 1, 50)
	count(&f.Nodes.Workers, 2, 100)
	for i := range f.Nodes.Pools {
		count(&f.Nodes.Pools[i], 1, 100)
	}
	f.Nodes.ControlPlane.Name, f.Nodes.Workers.Name = controlPool, WorkerPool
	or(&f.GitOps.Branch, "main")
	if f.Components.Vault.Enabled {
		or(&f.Components.Vault.Mode, "deploy")
	}
}

// Pools returns all pools, the control plane first.
func (f *File) Pools() []*Pool {
	list := []*Pool{&f.Nodes.ControlPlane, &f.Nodes.Workers}
	for i := range f.Nodes.Pools {
		list = append(list, &f.Nodes.Pools[i])
	}
	return list
}

// Pool finds one by its name; nil: there is none.
func (f *File) Pool(name string) *Pool {
	for _, p := range f.Pools() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Sample returns an example file, as `init --generate-config` writes it.
const Sample = `name: my-proxmox-cluster
provider:
  type: proxmox
  node: pve                   # Proxmox node hostname; or nodes: [pve1, pve2, pve3], or ["*"]
  bridge: vmbr0               # Network bridge (default)
  datastore: local-lvm        # Storage datastore (default)
  vip: 192.168.1.200          # Free IP on the network for kube-vip
  # vlanTag: 100              # Optional VLAN tag

kubernetes:
  version: "1.30"
  distribution: rke2          # or k3s

nodes:
  controlPlane:
    count: 1                  # 1, 3 or 5
  workers:
    count: 2

# Environment variables required:
#   PROXMOX_VE_ENDPOINT=https://proxmox.local:8006
#   PROXMOX_VE_API_TOKEN=terraform@pve!provider=xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx
`
