package v1beta1

// ProviderAllow is what the machines and images of a Provider may use. Entries of the lists
// may have "*" for any text. Without a list, the field isn't restricted; an empty list
// allows nothing. Host directories, hookscripts, devices of the host, args and Secrets that
// are credentials are forbidden unless they are named here.
type ProviderAllow struct {
	// Sources are what VMImages and VMClones may be made from: names and VMIDs of
	// templates and VMs of Proxmox, URLs ("https://cloud.debian.org/*") and ISO images
	// ("local:iso/*"). Machines of the same namespace may always be cloned. Without the
	// list: every template, URL and ISO image, but no VM that isn't a template.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=2048
	Sources []string `json:"sources,omitempty"`

	// Pools that machines may be in. With the list, each machine has to name one.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Pools []string `json:"pools,omitempty"`

	// Storages that disks, ISO images and fetched images may be on, beside those of the
	// Provider's defaults. A disk without a storage is on that of its source.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Storages []string `json:"storages,omitempty"`

	// Networks that machines may be on, by the names that spec.networks and
	// networks[].name of machines have: the interface must have the bridge and the VLAN
	// that the name stands for. "*" is any bridge with any VLAN.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Networks []string `json:"networks,omitempty"`

	// Paths are directories of the hosts that machines may share, each with all that is
	// below it: "/srv/team-a". Default: none.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:items:XValidation:rule="self.startsWith('/')",message="want a directory of the hosts, such as /srv/team-a"
	Paths []string `json:"paths,omitempty"`

	// Hookscripts that machines may have: "local:snippets/notify.sh". Default: none.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Hookscripts []string `json:"hookscripts,omitempty"`

	// ExtraConfig are the keys that extraConfig of machines and classes may have. Keys that
	// give access to the host (args, hookscript, virtiofs0, and host devices by usb0,
	// hostpci0, serial0 and parallel0) must be named in full: "*" alone stands for all others.
	// Without the list: all others.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	ExtraConfig []string `json:"extraConfig,omitempty"`

	// Secrets says which Secrets may be handed to guests as first-boot data. Without it: all
	// of the namespace except credentials, which are those that a Provider names, and those
	// with a type of Kubernetes or Helm, such as kubernetes.io/service-account-token. With it,
	// only those that match.
	// +optional
	Secrets *SecretSelector `json:"secrets,omitempty"`
}

// SecretSelector selects Secrets by their labels.
type SecretSelector struct {
	// MatchLabels are labels that a Secret must have, with these values.
	// +kubebuilder:validation:MinProperties=1
	MatchLabels map[string]string `json:"matchLabels"`
}
