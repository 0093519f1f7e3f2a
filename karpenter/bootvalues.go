package karpenter

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/firstboot"
	"github.com/proxplane/proxplane/spec"
)

// bootValues are what templates of first-boot data have.
type bootValues struct {
	Metadata   bootMetadata
	Network    bootNetwork
	Resources  bootResources
	Kubernetes bootKubernetes
	Values     map[string]string
}

// bootMetadata is what the template of meta-data has.
type bootMetadata struct {
	Hostname, InstanceID, InstanceUUID, InstanceType, ProviderID, Region, Zone string
	Tags                                                                       []string
	NodeClass                                                                  string
}

// bootNetwork is what the template of network-config has.
type bootNetwork struct {
	Interfaces                 []bootInterface
	SearchDomains, NameServers []string
}

type bootInterface struct {
	Name, MacAddr         string
	DHCPv4, DHCPv6, SLAAC bool
	Address4, Address6    []string
	Gateway4, Gateway6    string
	MTU                   int
	NodeAddress4          string
	NodeAddress6          string
	NodeGateway4          string
	NodeGateway6          string
}

// bootResources are what a machine has; huge pages are counted.
type bootResources struct{ CPU, Memory, Hugepages2Mi, Hugepages1Gi int64 }

type bootKubernetes struct {
	Version              string
	RootCA               string
	APIServer            string
	CAHashes             []string
	BootstrapToken       string
	BootstrapKubeconfig  string
	KubeletConfiguration *bootKubelet
}

// bootKubelet is the kubelet's configuration, as its own file has it.
type bootKubelet struct {
	api.KubeletConfiguration `json:",inline"`
	ProviderID               string            `json:"providerID,omitempty"`
	RegisterWithTaints       []corev1.Taint    `json:"registerWithTaints,omitempty"`
	KubeReserved             map[string]string `json:"kubeReserved,omitempty"`
	SystemReserved           map[string]string `json:"systemReserved,omitempty"`
	EvictionHard             map[string]string `json:"evictionHard,omitempty"`
}

// vmidVariable stands for the VMID until that is chosen: package firstboot replaces it.
const vmidVariable = "${vm_id}"

// values are those of a machine, without its token.
func (b *bootData) values(name string, class *api.ProxmoxNodeClass, what made, size Size, m spec.Machine) bootValues {
	in := bootValues{
		Metadata: bootMetadata{
			Hostname: name, InstanceID: vmidVariable, InstanceUUID: m.Owner.ID(), InstanceType: what.Size, ProviderID: idScheme + what.Region + "/" + vmidVariable,
			Region: what.Region, Zone: what.Zone, Tags: class.Spec.Tags, NodeClass: class.Name,
		},
		Resources:  resourcesOf(size),
		Kubernetes: bootKubernetes{Version: b.version, RootCA: string(b.cluster.CA), APIServer: b.cluster.Server},
	}
	if hashes, err := b.cluster.CAHashes(); err == nil {
		in.Kubernetes.CAHashes = hashes
	}
	k := &bootKubelet{ProviderID: in.Metadata.ProviderID}
	if c := class.Spec.KubeletConfiguration; c != nil {
		k.KubeletConfiguration = *c.DeepCopy()
	}
	if o := size.Overhead; o != nil {
		k.KubeReserved, k.SystemReserved, k.EvictionHard = quantities(o.KubeReserved), quantities(o.SystemReserved), map[string]string{}
		if memory, ok := o.EvictionThreshold[corev1.ResourceMemory]; ok {
			k.EvictionHard["memory.available"] = memory.String()
		}
	}
	in.Kubernetes.KubeletConfiguration = k
	for i, n := range m.Networks {
		one := bootInterface{
			Name: "eth" + strings.TrimPrefix(n.Slot, "net"), MacAddr: strings.ToLower(spec.MAC(m.Owner, n.Name)), MTU: n.MTU,
			DHCPv4: n.DHCP == nil && n.StaticIP == nil || n.DHCP != nil && *n.DHCP, DHCPv6: n.DHCP6, SLAAC: n.SLAAC,
		}
		if t := what.Template; t != nil && i < len(t.Network) {
			one.Gateway4, one.Gateway6 = t.Network[i].Gateway4, t.Network[i].Gateway6
			in.Network.NameServers = append(in.Network.NameServers, t.Network[i].DNSServers...)
			if _, _, ok := addresses(t.Network[i].Address4); ok {
				one.Address4 = []string{addressVariable(firstboot.VarAddress, i)}
			}
			if _, _, ok := addresses(t.Network[i].Address6); ok {
				one.Address6 = []string{addressVariable(firstboot.VarAddress6, i)}
			}
		}
		in.Network.Interfaces = append(in.Network.Interfaces, one)
	}
	return in
}

// addressVariable stands for an address of a pool until that is chosen.
func addressVariable(name string, nic int) string {
	return "${" + firstboot.NICVariable(name, nic) + "}"
}

func resourcesOf(size Size) bootResources {
	count := func(name corev1.ResourceName, each int64) int64 { q := size.Capacity[name]; return q.Value() / each }
	return bootResources{
		CPU: size.cpus(), Memory: size.memory(),
		Hugepages2Mi: count(corev1.ResourceHugePagesPrefix+"2Mi", 2<<20), Hugepages1Gi: count(corev1.ResourceHugePagesPrefix+"1Gi", 1<<30),
	}
}

func quantities(list corev1.ResourceList) map[string]string {
	all := map[string]string{}
	for name, q := range list {
		all[string(name)] = q.String()
	}
	return all
}

// root is what the template of a part sees as its dot.
func (in bootValues) root(part string) any {
	switch part {
	case metaData:
		return in.Metadata
	case networkConfig:
		return in.Network
	}
	return in
}
