package karpenter

import (
	"bytes"
	"encoding/json"
	"maps"
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
	Interfaces    []bootInterface
	SearchDomains []string `yaml:"search_domains,omitempty"`
	NameServers   []string `yaml:"name_servers,omitempty"`
}

type bootInterface struct {
	Name         string   `yaml:"name"`
	MacAddr      string   `yaml:"mac_address,omitempty"`
	DHCPv4       bool     `yaml:"dhcp4,omitempty"`
	DHCPv6       bool     `yaml:"dhcp6,omitempty"`
	SLAAC        bool     `yaml:"slaac,omitempty"`
	Address4     []string `yaml:"addresses4,omitempty"`
	Address6     []string `yaml:"addresses6,omitempty"`
	Gateway4     string   `yaml:"gateway4,omitempty"`
	Gateway6     string   `yaml:"gateway6,omitempty"`
	MTU          int      `yaml:"mtu,omitempty"` // 0: that of the bridge, which this login may not see
	NodeAddress4 string   `yaml:"node_address4,omitempty"`
	NodeAddress6 string   `yaml:"node_address6,omitempty"`
	NodeGateway4 string   `yaml:"node_gateway4,omitempty"`
	NodeGateway6 string   `yaml:"node_gateway6,omitempty"`
}

// bootResources are what a machine has; huge pages are counted.
type bootResources struct {
	CPU          int64 `yaml:"cpu,omitempty"`
	Memory       int64 `yaml:"memory,omitempty"`
	Hugepages1Gi int64 `yaml:"hugepages1Gi,omitempty"`
	Hugepages2Mi int64 `yaml:"hugepages2Mi,omitempty"`
}

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

// MarshalYAML gives fields the names that the kubelet's file has for them.
func (k *bootKubelet) MarshalYAML() (any, error) {
	text, err := json.Marshal(k)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		return nil, err
	}
	return plain(fields), nil
}

// plain has numbers as such.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = plain(value)
		}
	case []any:
		for i, value := range v {
			v[i] = plain(value)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
	}
	return v
}

// vmidVariable stands for the VMID until that is chosen: package firstboot replaces it.
const vmidVariable = "${vm_id}"

// values are those of a machine, without its token.
func (b *bootData) values(name string, class *api.ProxmoxNodeClass, what made, size Size, m spec.Machine) bootValues {
	in := bootValues{
		Metadata: bootMetadata{
			Hostname: name, InstanceID: vmidVariable, InstanceUUID: what.UUID, InstanceType: what.Size, ProviderID: idScheme + what.Region + "/" + vmidVariable,
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
			maps.Copy(k.EvictionHard, evictionHard)
			k.EvictionHard["memory.available"] = memory.String()
		}
	}
	in.Kubernetes.KubeletConfiguration = k
	interfaces := what.interfaces()
	for i, n := range m.Networks {
		one := bootInterface{
			Name: "eth" + strings.TrimPrefix(n.Slot, "net"), MacAddr: strings.ToLower(spec.MAC(m.Owner, n.Name)), MTU: n.MTU,
			DHCPv4: n.DHCP == nil && n.StaticIP == nil || n.DHCP != nil && *n.DHCP, DHCPv6: n.DHCP6, SLAAC: n.SLAAC,
		}
		h := what.Hosts[n.Bridge]
		one.NodeAddress4, one.NodeAddress6, one.NodeGateway4, one.NodeGateway6 = h.Address, h.Address6, h.Gateway, h.Gateway6
		if one.MTU <= 1 {
			one.MTU = h.MTU
		}
		if i < len(interfaces) {
			t := interfaces[i]
			one.Gateway4, one.Gateway6 = t.Gateway4, t.Gateway6
			in.Network.NameServers = append(in.Network.NameServers, t.DNSServers...)
			if _, _, ok := addresses(t.Address4); ok {
				one.Address4 = []string{addressVariable(firstboot.VarAddress, i)}
			}
			if _, _, ok := addresses(t.Address6); ok {
				one.Address6 = []string{addressVariable(firstboot.VarAddress6, i)}
			}
		}
		in.Network.Interfaces = append(in.Network.Interfaces, one)
	}
	in.Network.SearchDomains = what.Search
	return in
}

// evictionHard are the kubelet's own thresholds beside that for memory: one that is set takes away all others.
var evictionHard = map[string]string{"nodefs.available": "10%", "nodefs.inodesFree": "5%", "imagefs.available": "15%", "imagefs.inodesFree": "5%"}

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
	case vendorData: // the original has the metadata only, without their name before it
		return struct {
			bootMetadata
			bootValues
		}{in.Metadata, in}
	}
	return in
}
