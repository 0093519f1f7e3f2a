// Package userdata makes the user-data with which a machine becomes a node: containerd, a kubelet
// of the wanted version, and the kubeconfig with which that kubelet asks for its certificate.
// cloud-init reads it on ubuntu, debian, rockylinux and rhel, Ignition on flatcar.
//
// What is in the template already is used as it is: with containerd, the CNI plugins and a
// kubelet of the wanted version in it, nothing is downloaded.
package userdata

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
)

// The operating systems, by the names that providerSpec.value has for them.
const (
	ubuntu  = "ubuntu"
	debian  = "debian"
	flatcar = "flatcar"
	rocky   = "rockylinux"
	rhel    = "rhel"
)

// Config are the settings of a machine.
type Config struct {
	OS         string
	Name       string // of the machine and its Node
	Kubelet    string // version, such as 1.34.2
	Kubeconfig []byte // that the kubelet begins with; it holds the bootstrap token
	CA         []byte // of the API server, in PEM
	ClusterDNS []string
	ProviderID string
	Taints     []corev1.Taint // from the first moment on

	SSHKeys           []string
	SSHUserCA         string // whose certificates may log in
	DistUpgradeOnBoot bool
	DisableAutoUpdate bool
	DisableLocksmithD bool
	Subscription      *Subscription // of rhel; nil: it has one, or needs none
}

// Subscription is how a machine with rhel gets its packages.
type Subscription struct {
	User, Password              string
	Organization, ActivationKey string
	Attach                      bool
}

// Made is the result.
type Made struct {
	Text     string
	Ignition bool // else it is for cloud-init
	Random   bool // it has a token in it that is for this machine alone
}

// Make makes the user-data.
func Make(c Config) (Made, error) {
	v, err := Version(c.Kubelet)
	if err != nil {
		return Made{}, err
	}
	files, err := c.files(v)
	if err != nil {
		return Made{}, err
	}
	if c.OS == flatcar {
		text, err := c.ignition(files)
		return Made{Text: text, Ignition: true}, err
	}
	text, err := c.cloudConfig(files)
	return Made{Text: text}, err
}

// Version reads the version of a kubelet.
func Version(text string) (*version.Version, error) {
	v, err := version.ParseSemantic(strings.TrimPrefix(text, "v"))
	if err != nil {
		return nil, fmt.Errorf("versions.kubelet: want a version such as 1.34.2, have %q", text)
	}
	return v, nil
}

// file is a file of the machine.
type file struct {
	path    string
	mode    int
	content string
}

// cloudFile is the same in a cloud-config.
type cloudFile struct {
	Path        string `yaml:"path"`
	Permissions string `yaml:"permissions"`
	Content     string `yaml:"content"`
}

// cloudConfig is the user-data for cloud-init.
type cloudConfig struct {
	Hostname       string         `yaml:"hostname"`
	PreserveName   bool           `yaml:"preserve_hostname"`
	ManageHosts    bool           `yaml:"manage_etc_hosts"`
	PasswordLogin  bool           `yaml:"ssh_pwauth"`
	AuthorizedKeys []string       `yaml:"ssh_authorized_keys,omitempty"`
	PackageUpdate  bool           `yaml:"package_update"`
	PackageUpgrade bool           `yaml:"package_upgrade"`
	Subscription   map[string]any `yaml:"rh_subscription,omitempty"`
	Files          []cloudFile    `yaml:"write_files"`
	Commands       [][]string     `yaml:"runcmd"`
}

func (c Config) cloudConfig(files []file) (string, error) {
	out := cloudConfig{
		Hostname: c.Name, ManageHosts: true, AuthorizedKeys: c.SSHKeys, PackageUpdate: c.DistUpgradeOnBoot, PackageUpgrade: c.DistUpgradeOnBoot,
		Commands: [][]string{{setupPath}},
	}
	if s := c.Subscription; s != nil {
		out.Subscription = s.cloudInit()
	}
	for _, f := range files {
		out.Files = append(out.Files, cloudFile{Path: f.path, Permissions: fmt.Sprintf("%04o", f.mode), Content: f.content})
	}
	var b strings.Builder
	b.WriteString("#cloud-config\n")
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(out); err != nil {
		return "", err
	}
	return b.String(), enc.Close()
}

// cloudInit is how cloud-init registers the machine.
func (s *Subscription) cloudInit() map[string]any {
	out := map[string]any{"auto-attach": s.Attach}
	for key, value := range map[string]string{"username": s.User, "password": s.Password, "org": s.Organization, "activation-key": s.ActivationKey} {
		if value != "" {
			out[key] = value
		}
	}
	if n, err := strconv.Atoi(s.Organization); err == nil {
		out["org"] = n // which is all that some versions of cloud-init take
	}
	return out
}
