package v1beta1

// UserData is the first-boot data of the guest: one of cloudInit, ignition and butane.
//
// +kubebuilder:validation:XValidation:rule="[has(self.cloudInit), has(self.ignition), has(self.butane)].filter(given, given).size() <= 1",message="cloudInit, ignition and butane are for different systems: give one of them"
type UserData struct {
	// CloudInit is for guests with cloud-init, or with software that reads its files: a
	// cloud-config, a script, MIME multipart, a machine config of Talos. It is passed on
	// unchanged.
	// +optional
	CloudInit *CloudInit `json:"cloudInit,omitempty"`

	// Ignition is a config of Ignition in JSON, for Flatcar, Fedora CoreOS and the like. They
	// read it once: a change needs a new machine.
	// +optional
	Ignition *Ignition `json:"ignition,omitempty"`

	// Butane is the same as YAML, which is translated to an Ignition config. Butane's warnings
	// are errors.
	// +optional
	Butane *Butane `json:"butane,omitempty"`

	// Delivery is how the guest gets the data. "iso", the default, is a small ISO image of
	// proxplane's in a CD-ROM drive, as cloud-init's NoCloud and Ignition's proxmoxve read it.
	// "proxmox" is the drive that Proxmox makes by itself, for a cloudInit that says no more
	// than user, password, keys and upgrade: with it cloud-init runs again whenever something
	// changes. "snippets" puts anything onto that drive, by snippets that are copied to all
	// nodes that may run the machine; it needs spec.ssh of the Provider. "fwcfg" passes an
	// Ignition config by QEMU's firmware configuration, for images of the platform qemu:
	// proxplane's hook reads it from the ISO image when the machine starts. Only root@pam with
	// its password may set that up.
	// +optional
	// +kubebuilder:validation:Enum=iso;proxmox;snippets;fwcfg
	Delivery string `json:"delivery,omitempty"`

	// FWCfgName is the name of the entry of the firmware configuration. Default:
	// opt/org.flatcar-linux/config for Butane's variant flatcar, else
	// opt/com.coreos/config.
	// +optional
	FWCfgName string `json:"fwCfgName,omitempty"`
}

// CloudInit is user-data for cloud-init.
//
// +kubebuilder:validation:XValidation:rule="[has(self.inline), has(self.secretRef), has(self.configMapRef)].filter(given, given).size() == 1",message="give the text in one of inline, secretRef and configMapRef: exactly one of them"
type CloudInit struct {
	Text `json:",inline"`

	// Rerun makes cloud-init run again at the next start after the data have changed, as if
	// the machine were new. Without it the data are replaced, and cloud-init does only what it
	// does at every start.
	// +optional
	Rerun bool `json:"rerun,omitempty"`
}

// Ignition is a config of Ignition.
//
// +kubebuilder:validation:XValidation:rule="[has(self.inline), has(self.secretRef), has(self.configMapRef)].filter(given, given).size() == 1",message="give the text in one of inline, secretRef and configMapRef: exactly one of them"
type Ignition struct {
	Text `json:",inline"`
}

// Butane is a config of Butane, which is translated to Ignition's. Variables are
// replaced in it.
//
// +kubebuilder:validation:XValidation:rule="[has(self.inline), has(self.secretRef), has(self.configMapRef)].filter(given, given).size() == 1",message="give the text in one of inline, secretRef and configMapRef: exactly one of them"
type Butane struct {
	Text `json:",inline"`

	// Snippets are further configs, each merged into those before it.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Snippets []ButaneSnippet `json:"snippets,omitempty"`

	// Files are the local files and trees that the configs name.
	// +optional
	Files *ButaneFiles `json:"files,omitempty"`
}

// ButaneSnippet is a part of a Butane config.
//
// +kubebuilder:validation:XValidation:rule="[has(self.inline), has(self.secretRef), has(self.configMapRef)].filter(given, given).size() == 1",message="give the text in one of inline, secretRef and configMapRef: exactly one of them"
type ButaneSnippet struct {
	Text `json:",inline"`
}

// ButaneFiles are local files: of a folder or of a ConfigMap.
type ButaneFiles struct {
	// Folder beside the manifest. It isn't for manifests inside Kubernetes.
	// +optional
	Folder string `json:"folder,omitempty"`

	// ConfigMapRef names the ConfigMap whose entries are the files.
	// +optional
	ConfigMapRef *Ref `json:"configMapRef,omitempty"`
}

// MetaData are keys of cloud-init's meta-data, as YAML.
//
// +kubebuilder:validation:XValidation:rule="[has(self.inline), has(self.secretRef), has(self.configMapRef)].filter(given, given).size() == 1",message="give the text in one of inline, secretRef and configMapRef: exactly one of them"
type MetaData struct {
	Text `json:",inline"`
}
