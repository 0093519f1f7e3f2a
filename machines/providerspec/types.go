package providerspec

import "encoding/json"

// CloudProvider is the value of the field cloudProvider that is ours.
const CloudProvider = "proxmox"

// Value is providerSpec.value.
type Value struct {
	SSHPublicKeys        []string        `json:"sshPublicKeys,omitempty"`
	CAPublicKey          string          `json:"caPublicKey,omitempty"`
	CloudProvider        string          `json:"cloudProvider"`
	CloudProviderSpec    Proxmox         `json:"cloudProviderSpec"`
	OperatingSystem      string          `json:"operatingSystem"`
	OperatingSystemSpec  OperatingSystem `json:"operatingSystemSpec,omitzero"`
	Network              *Network        `json:"network,omitempty"`
	OverwriteCloudConfig *string         `json:"overwriteCloudConfig,omitempty"`
}

// Network are the settings of a machine's first interface.
type Network struct {
	CIDR     string `json:"cidr,omitempty"`
	Gateway  string `json:"gateway,omitempty"`
	DNS      DNS    `json:"dns,omitzero"`
	IPFamily string `json:"ipFamily,omitempty"`
}

// DNS are name servers.
type DNS struct {
	Servers []string `json:"servers,omitempty"`
}

// OperatingSystem are the settings of operating systems; not each of them uses every field.
type OperatingSystem struct {
	DistUpgradeOnBoot   bool   `json:"distUpgradeOnBoot,omitempty"`
	DisableAutoUpdate   bool   `json:"disableAutoUpdate,omitempty"`
	DisableLocksmithD   bool   `json:"disableLocksmithD,omitempty"`
	DisableUpdateEngine bool   `json:"disableUpdateEngine,omitempty"`
	ProvisioningUtility string `json:"provisioningUtility,omitempty"`

	RHELSubscriptionManagerUser     string `json:"rhelSubscriptionManagerUser,omitempty"`
	RHELSubscriptionManagerPassword string `json:"rhelSubscriptionManagerPassword,omitempty"`
	RHSMOfflineToken                string `json:"rhsmOfflineToken,omitempty"`
	AttachSubscription              bool   `json:"attachSubscription,omitempty"`
	RHELUseSatelliteServer          bool   `json:"rhelUseSatelliteServer,omitempty"`
	RHELSatelliteServer             string `json:"rhelSatelliteServer,omitempty"`
	RHELOrganizationName            string `json:"rhelOrganizationName,omitempty"`
	RHELActivationKey               string `json:"rhelActivationKey,omitempty"`
}

// Proxmox is cloudProviderSpec.
type Proxmox struct {
	Endpoint      *Var `json:"endpoint,omitempty"`
	UserID        *Var `json:"userID,omitempty"`
	Token         *Var `json:"token,omitempty"`
	AllowInsecure *Var `json:"allowInsecure,omitempty"`
	ProxyURL      *Var `json:"proxyURL,omitempty"`

	CIStorageName          string `json:"ciStorageName,omitempty"`
	CIStoragePath          string `json:"ciStoragePath,omitempty"`
	CIStorageSSHPrivateKey *Var   `json:"ciStorageSSHPrivateKey,omitempty"`

	VMTemplateID int    `json:"vmTemplateID,omitempty"`
	CPUSockets   int    `json:"cpuSockets,omitempty"`
	CPUCores     int    `json:"cpuCores,omitempty"`
	MemoryMB     int    `json:"memoryMB,omitempty"`
	DiskSizeGB   int    `json:"diskSizeGB,omitempty"`
	DiskName     string `json:"diskName,omitempty"`

	// What the original lacked.
	CA           *Var     `json:"ca,omitempty"`
	Fingerprints []string `json:"fingerprints,omitempty"`

	Template     string            `json:"template,omitempty"` // by its name, instead of vmTemplateID
	FullClone    bool              `json:"fullClone,omitempty"`
	Copies       string            `json:"copies,omitempty"` // of a template on local storage: auto or never
	Nodes        []string          `json:"nodes,omitempty"`
	Storage      string            `json:"storage,omitempty"`
	ISOStorage   string            `json:"isoStorage,omitempty"`
	Networks     []NIC             `json:"networks,omitempty"`
	Pool         string            `json:"pool,omitempty"`
	Tags         []string          `json:"tags,omitempty"`
	HA           *HA               `json:"ha,omitempty"`
	Placement    *Placement        `json:"placement,omitempty"`
	Firewall     *Firewall         `json:"firewall,omitempty"`
	CPUType      string            `json:"cpuType,omitempty"`
	OnBoot       *bool             `json:"onBoot,omitempty"`
	VMIDRange    *VMIDRange        `json:"vmidRange,omitempty"`
	ExtraConfig  map[string]string `json:"extraConfig,omitempty"`
	GuestAgent   *bool             `json:"guestAgent,omitempty"`
	Delivery     string            `json:"delivery,omitempty"` // of user-data: iso or snippets
	SSHUser      string            `json:"sshUser,omitempty"`
	SSHHostKeys  string            `json:"sshHostKeys,omitempty"` // in the format of known_hosts
	SSHAddresses map[string]string `json:"sshAddresses,omitempty"`
}

// NIC is a network interface.
type NIC struct {
	Name     string       `json:"name,omitempty"`
	Bridge   string       `json:"bridge,omitempty"`
	VLAN     int          `json:"vlan,omitempty"`
	Model    string       `json:"model,omitempty"`
	MTU      int          `json:"mtu,omitempty"`
	Rate     string       `json:"rate,omitempty"`
	Queues   int          `json:"queues,omitempty"`
	Firewall *bool        `json:"firewall,omitempty"`
	DHCP     *bool        `json:"dhcp,omitempty"`
	DHCP6    bool         `json:"dhcp6,omitempty"`
	SLAAC    bool         `json:"slaac,omitempty"`
	Address  string       `json:"address,omitempty"` // with its prefix length: of one machine
	Gateway  string       `json:"gateway,omitempty"`
	Gateway6 string       `json:"gateway6,omitempty"`
	DNS      []string     `json:"dns,omitempty"`
	Search   []string     `json:"search,omitempty"`
	Pool     *AddressPool `json:"addressPool,omitempty"`
}

// AddressPool is where machines get their addresses from.
type AddressPool struct {
	Ranges   []string `json:"ranges"`
	Exclude  []string `json:"exclude,omitempty"`
	Prefix   string   `json:"prefix,omitempty"`
	Prefix6  string   `json:"prefix6,omitempty"`
	Gateway  string   `json:"gateway,omitempty"`
	Gateway6 string   `json:"gateway6,omitempty"`
	DNS      []string `json:"dns,omitempty"`
	Search   []string `json:"search,omitempty"`
}

// HA has Proxmox' HA manager look after machines.
type HA struct {
	Group       string `json:"group,omitempty"`
	MaxRestart  int    `json:"maxRestart,omitempty"`
	MaxRelocate int    `json:"maxRelocate,omitempty"`
}

// Placement says how machines are spread over nodes.
type Placement struct {
	Strategy      string     `json:"strategy,omitempty"` // spread or pack
	MaxPerNode    int        `json:"maxPerNode,omitempty"`
	MinFreeMemory string     `json:"minFreeMemory,omitempty"`
	AntiAffinity  []Selector `json:"antiAffinity,omitempty"`
}

// Selector selects Machines by their labels.
type Selector struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator,omitempty"`
	Values   []string `json:"values,omitempty"`
}

// Firewall has Proxmox' firewall on, with security groups.
type Firewall struct {
	Groups    []string `json:"groups,omitempty"`
	PolicyIn  string   `json:"policyIn,omitempty"`
	PolicyOut string   `json:"policyOut,omitempty"`
}

// VMIDRange is where VMIDs come from.
type VMIDRange struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// Var is a value, or a reference to it.
type Var struct {
	Value     string
	Secret    *KeyRef
	ConfigMap *KeyRef
}

// KeyRef is a key of a Secret or ConfigMap.
type KeyRef struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Key       string `json:"key"`
}

// varObject is a Var that isn't a literal.
type varObject struct {
	Value           any     `json:"value,omitempty"`
	SecretKeyRef    *KeyRef `json:"secretKeyRef,omitempty"`
	ConfigMapKeyRef *KeyRef `json:"configMapKeyRef,omitempty"`
}

// UnmarshalJSON takes a literal (text, number or boolean) or an object.
func (v *Var) UnmarshalJSON(b []byte) error {
	var o varObject
	if err := json.Unmarshal(b, &o); err != nil {
		if err := json.Unmarshal(b, &o.Value); err != nil {
			return err
		}
	}
	*v = Var{Value: literal(o.Value), Secret: o.SecretKeyRef, ConfigMap: o.ConfigMapKeyRef}
	return nil
}
