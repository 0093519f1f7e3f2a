package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Provider is a Proxmox VE cluster, or a single Proxmox VE host.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pxp,categories=virtrigaud
// +kubebuilder:printcolumn:name="ENDPOINT",type=string,JSONPath=".spec.endpoint"
// +kubebuilder:printcolumn:name="VERSION",type=string,JSONPath=".status.version"
// +kubebuilder:printcolumn:name="NODES",type=string,JSONPath=".status.nodes"
// +kubebuilder:printcolumn:name="MACHINES",type=integer,JSONPath=".status.machines"
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="WAITING",type=string,priority=1,JSONPath=".status.waiting"
type Provider struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ProviderSpec `json:"spec"`

	// Status of the object in Kubernetes.
	// +optional
	Status ProviderStatus `json:"status,omitempty,omitzero"`
}

// ProviderList is a list of Providers.
//
// +kubebuilder:object:root=true
type ProviderList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items of the list.
	Items []Provider `json:"items"`
}

// ProviderSpec has the connection to a Proxmox VE cluster and settings for all machines on
// it.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.insecureSkipVerify) && self.insecureSkipVerify && has(self.fingerprint))",message="trusting any certificate makes no sense beside a fingerprint: leave one of them out"
type ProviderSpec struct {
	// Type of the hypervisor. There is only "proxmox".
	// +optional
	// +kubebuilder:validation:Enum=proxmox
	// +kubebuilder:default=proxmox
	Type string `json:"type,omitempty"`

	// Endpoint is the URL of the API: https://pve.example.com:8006. When neither this nor
	// Endpoints is given, the environment variable PVE_ENDPOINT or PROXMOX_VE_ENDPOINT has it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^(https?://)?[^@/ ]+/?$')",message="want a URL like https://pve.example.com:8006, without a login in it"
	Endpoint string `json:"endpoint,omitempty"`

	// Endpoints are further URLs of the same cluster, one a node. They are tried
	// in their order when one doesn't answer.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Endpoints []string `json:"endpoints,omitempty"`

	// CredentialSecretRef names the Secret with token_id and token_secret, or
	// username and password, and ca.crt if the certificate isn't signed by an
	// authority that this computer trusts; marker_key, if there is one, signs the
	// markers of machines. What the Secret lacks comes from the environment:
	// PVE_TOKEN_ID and PVE_TOKEN_SECRET, PVE_USERNAME and PVE_PASSWORD,
	// PROXMOX_VE_API_TOKEN, PVE_CA_BUNDLE, PROXPLANE_MARKER_KEY_FILE.
	// +optional
	CredentialSecretRef *Ref `json:"credentialSecretRef,omitempty"`

	// InsecureSkipVerify trusts any certificate. For test environments only; a
	// fingerprint is as easy and safe.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`

	// Fingerprint is the SHA-256 fingerprint of the certificate, as Proxmox shows
	// it under the node's certificates. Several are separated by commas.
	// +optional
	Fingerprint string `json:"fingerprint,omitempty"`

	// NodeSelector are the nodes that machines may be created on. Empty: all. The nodes of a
	// placement policy take precedence.
	// +optional
	NodeSelector []string `json:"nodeSelector,omitempty"`

	// Nodes are settings of nodes that Proxmox doesn't have, by name: labels such as a rack,
	// reserved memory, maintenance. "*" is for all nodes without an entry.
	// +optional
	// +kubebuilder:validation:MaxProperties=256
	Nodes map[string]ProviderNode `json:"nodes,omitempty"`

	// VMIDRange are the VMIDs that new machines get.
	// +optional
	VMIDRange *VMIDRange `json:"vmidRange,omitempty"`

	// Defaults for fields that machines leave out.
	// +optional
	Defaults ProviderDefaults `json:"defaults,omitempty"`

	// Networks define the names of networks. Without an entry here, "lan" and "default" are
	// vmbr0, "dmz" is vmbr1, "mgmt" and "management" are vmbr2, and a name such as vmbr7 is
	// that bridge.
	// +optional
	Networks map[string]ProviderNetwork `json:"networks,omitempty"`

	// Allow restricts what machines and images of this Provider may use: for namespaces where
	// the authors of machines aren't those of the Provider. In Kubernetes, host directories,
	// hookscripts, args and credentials are forbidden without it; in files nothing is, since
	// whoever writes machines has the login.
	// +optional
	Allow *ProviderAllow `json:"allow,omitempty"`

	// SSH is the login to nodes, for files that Proxmox' API can't upload: snippets, see
	// userData.delivery of machines.
	// +optional
	SSH *ProviderSSH `json:"ssh,omitempty"`

	// Runtime is how the provider runs inside Kubernetes. Only its environment variables that
	// begin with PVE_ have an effect.
	// +optional
	Runtime *ProviderRuntime `json:"runtime,omitempty"`
}

// ProviderNode are settings of a node that Proxmox doesn't have.
type ProviderNode struct {
	// Labels of the node, such as rack or room, for placement policies.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// ReservedMemory isn't given to machines: it is for the host itself, for ZFS or Ceph.
	// +optional
	ReservedMemory *resource.Quantity `json:"reservedMemory,omitempty"`

	// Maintenance keeps new machines away from the node, and migrates machines whose
	// updatePolicy.move allows that. The maintenance mode of Proxmox' HA manager does the
	// same.
	// +optional
	Maintenance bool `json:"maintenance,omitempty"`
}

// VMIDRange is a range of VMIDs, both ends included.
//
// +kubebuilder:validation:XValidation:rule="self.first <= self.last",message="first is more than last: swap them"
type VMIDRange struct {
	// First VMID of the range.
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=999999999
	First int `json:"first"`

	// Last VMID of the range.
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=999999999
	Last int `json:"last"`
}

// ProviderDefaults are defaults for fields that machines leave out.
type ProviderDefaults struct {
	// Storage for new disks. Default: that of the image's disk.
	// +optional
	Storage string `json:"storage,omitempty"`

	// ISOStorage is the storage for first-boot data and where ISO images are
	// looked for; it needs the content type "iso". Default: local.
	// +optional
	ISOStorage string `json:"isoStorage,omitempty"`

	// SnippetStorage is the storage for snippets; it needs the content type
	// "snippets". Default: local.
	// +optional
	SnippetStorage string `json:"snippetStorage,omitempty"`

	// Hook is the volume of proxplane's hook, see proxplane hook install. Default:
	// local:snippets/proxplane-hook.
	// +optional
	Hook string `json:"hook,omitempty"`

	// Bridge for networks whose name doesn't select one.
	// +optional
	Bridge string `json:"bridge,omitempty"`
}

// ProviderSSH is the login to nodes. Connections are made only to nodes whose host key is
// known.
type ProviderSSH struct {
	// User to log in as. It must be able to write into the folders of snippets.
	// Default: root.
	// +optional
	User string `json:"user,omitempty"`

	// Port of SSH on the nodes. Default: 22.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int `json:"port,omitempty"`

	// KeySecretRef names the Secret with the private key, by default under
	// "ssh-privatekey"; its passphrase, if it has one, is under "passphrase".
	KeySecretRef SecretKeyRef `json:"keySecretRef"`

	// KnownHosts are the host keys of the nodes, as lines of a known_hosts file:
	// what ssh-keyscan prints.
	// +optional
	KnownHosts string `json:"knownHosts,omitempty"`

	// TrustOnFirstUse accepts the key of an unknown node and stores it in the file known_hosts
	// of proxplane's configuration. It isn't for Kubernetes, where nothing is stored.
	// +optional
	TrustOnFirstUse bool `json:"trustOnFirstUse,omitempty"`

	// Addresses of nodes, by name, with a port if it isn't Port. Default: those in the
	// cluster's status.
	// +optional
	Addresses map[string]string `json:"addresses,omitempty"`
}

// ProviderNetwork defines the name of a network.
type ProviderNetwork struct {
	// Bridge or SDN VNet.
	Bridge string `json:"bridge"`

	// VLAN tag.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	VLAN int `json:"vlan,omitempty"`

	// MTU of the interfaces. 1 is that of the bridge.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65520
	MTU int `json:"mtu,omitempty"`

	// Firewall turns the firewall of Proxmox on for the interfaces.
	// +optional
	Firewall *bool `json:"firewall,omitempty"`

	// Pool has addresses of this network for machines: each with staticIP.fromPool gets
	// one, keeps it, and gives it back when it is deleted.
	// +optional
	Pool *AddressPool `json:"pool,omitempty"`
}

// ProviderRuntime is how the provider runs inside Kubernetes.
type ProviderRuntime struct {
	// Mode has no effect here.
	// +optional
	Mode string `json:"mode,omitempty"`

	// Image has no effect here.
	// +optional
	Image string `json:"image,omitempty"`

	// ImagePullPolicy has no effect here.
	// +optional
	ImagePullPolicy string `json:"imagePullPolicy,omitempty"`

	// Version has no effect here.
	// +optional
	Version string `json:"version,omitempty"`

	// Replicas has no effect here.
	// +optional
	Replicas *int `json:"replicas,omitempty"`

	// Env are environment variables. PVE_ENDPOINT, PVE_TOKEN_ID, PVE_TOKEN_SECRET,
	// PVE_USERNAME, PVE_PASSWORD, PVE_NODE_SELECTOR, PVE_INSECURE_SKIP_VERIFY and
	// PVE_CA_BUNDLE apply to this Provider as if they were set in the environment. Others have
	// no effect here.
	// +optional
	Env []EnvVar `json:"env,omitempty"`
}

// EnvVar is an environment variable.
type EnvVar struct {
	// Name of the variable.
	Name string `json:"name"`

	// Value of the variable.
	// +optional
	Value string `json:"value,omitempty"`
}
