package kubelet

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

func (s *Settings) talos(text string) error {
	var c struct {
		Machine struct {
			Network struct {
				Hostname string `json:"hostname"`
			} `json:"network"`
			Kubelet struct {
				ExtraArgs   map[string]string `json:"extraArgs"`
				ExtraConfig json.RawMessage   `json:"extraConfig"`
			} `json:"kubelet"`
			NodeLabels map[string]string `json:"nodeLabels"`
			NodeTaints map[string]string `json:"nodeTaints"`
		} `json:"machine"`
		Cluster struct {
			ControlPlane struct {
				Endpoint string `json:"endpoint"`
			} `json:"controlPlane"`
			Token string `json:"token"`
			CA    struct {
				Crt string `json:"crt"`
			} `json:"ca"`
		} `json:"cluster"`
	}
	switch err := yaml.Unmarshal([]byte(text), &c); {
	case err != nil && text != "" && !strings.HasPrefix(text, "#!"): // a script isn't for Talos
		return fmt.Errorf("read the machine config of Talos: %w", err)
	case c.Cluster.Token == "":
		return errNoJoin
	}
	s.How, s.Server, s.Token = "talos", c.Cluster.ControlPlane.Endpoint, c.Cluster.Token
	var err error
	if s.CA, err = base64.StdEncoding.DecodeString(c.Cluster.CA.Crt); err != nil {
		return fmt.Errorf("read the CA: %w", err)
	}
	if c.Machine.Network.Hostname != "" {
		s.Name = c.Machine.Network.Hostname
	}
	for k, v := range c.Machine.NodeLabels {
		s.Labels[k] = v
	}
	for k, v := range c.Machine.NodeTaints { // value:effect
		s.taint(k + "=" + v)
	}
	for k, v := range c.Machine.Kubelet.ExtraArgs {
		s.flag(k, v)
	}
	if len(c.Machine.Kubelet.ExtraConfig) > 0 {
		return s.kubeletConfig(c.Machine.Kubelet.ExtraConfig)
	}
	return nil
}

// flags are those of a kubelet, and what k3s and kubeadm hand on to it, wherever they stand.
var (
	flags   = regexp.MustCompile(`\b(node-labels|register-with-taints|provider-id|hostname-override)(?:=|\s+)"?([^\s"'\\]+)`)
	k3sVars = regexp.MustCompile(`\b(K3S_URL|K3S_TOKEN|RKE2_URL|RKE2_TOKEN)="?([^\s"'\\]+)`)
)

// file learns from a file what it is for.
func (s *Settings) file(at, text string) error {
	var kind struct {
		Kind string `json:"kind"`
	}
	for _, doc := range strings.Split("\n"+text, "\n---\n") {
		if err := yaml.Unmarshal([]byte(doc), &kind); err != nil {
			if ext := path.Ext(at); ext == ".yaml" || ext == ".yml" {
				return err // whoever reads it in a real machine can't either
			}
			continue
		}
		switch kind.Kind {
		case "JoinConfiguration":
			if err := s.kubeadm([]byte(doc)); err != nil {
				return err
			}
		case "KubeletConfiguration":
			if err := s.kubeletConfig([]byte(doc)); err != nil {
				return err
			}
		case "Config":
			if err := s.kubeconfig([]byte(doc)); err != nil {
				return err
			}
		}
	}
	for _, how := range []string{"k3s", "rke2"} {
		if at == path.Join("/etc/rancher", how, "config.yaml") || path.Dir(at) == path.Join("/etc/rancher", how, "config.yaml.d") {
			return s.rancher(how, []byte(text))
		}
	}
	if kind.Kind != "" {
		return nil
	}
	for _, m := range flags.FindAllStringSubmatch(text, -1) {
		s.flag(m[1], m[2])
	}
	for _, m := range k3sVars.FindAllStringSubmatch(text, -1) {
		if how, what, _ := strings.Cut(m[1], "_"); what == "URL" {
			s.How, s.Server = strings.ToLower(how), m[2]
		} else {
			s.How, s.Token = strings.ToLower(how), m[2]
		}
	}
	return nil
}

func (s *Settings) flag(name, value string) {
	switch name {
	case "node-labels", "node-label":
		for _, l := range strings.Split(value, ",") {
			k, v, _ := strings.Cut(l, "=")
			s.Labels[k] = v
		}
	case "register-with-taints", "node-taint":
		for _, t := range strings.Split(value, ",") {
			s.taint(t)
		}
	case "provider-id":
		s.ProviderID = value
	case "hostname-override", "node-name":
		s.Name = value
	}
}

// taint is one of the form key=value:effect or key:effect.
func (s *Settings) taint(text string) {
	front, effect, _ := strings.Cut(text, ":")
	key, value, _ := strings.Cut(front, "=")
	s.addTaints(corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
}

// addTaints adds those that aren't there yet.
func (s *Settings) addTaints(list ...corev1.Taint) {
	for _, t := range list {
		known := false
		for _, have := range s.Taints {
			known = known || have.MatchTaint(&t)
		}
		if !known {
			s.Taints = append(s.Taints, t)
		}
	}
}

func (s *Settings) kubeconfig(text []byte) error {
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil || config.BearerToken == "" {
		return err
	}
	if s.How == "" {
		s.How = "kubelet"
	}
	s.Server, s.Token, s.CA = config.Host, config.BearerToken, config.CAData
	return nil
}

func (s *Settings) kubeletConfig(text []byte) error {
	var c struct {
		ProviderID         string            `json:"providerID"`
		RegisterWithTaints []corev1.Taint    `json:"registerWithTaints"`
		KubeReserved       map[string]string `json:"kubeReserved"`
		SystemReserved     map[string]string `json:"systemReserved"`
		MaxPods            int               `json:"maxPods"`
	}
	if err := yaml.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("read the kubelet's configuration: %w", err)
	}
	if c.ProviderID != "" {
		s.ProviderID = c.ProviderID
	}
	if c.MaxPods != 0 {
		s.MaxPods = c.MaxPods
	}
	s.addTaints(c.RegisterWithTaints...)
	return errors.Join(s.reserve(c.KubeReserved), s.reserve(c.SystemReserved))
}

func (s *Settings) kubeadm(text []byte) error {
	var c struct {
		Discovery struct {
			BootstrapToken struct {
				Token             string   `json:"token"`
				APIServerEndpoint string   `json:"apiServerEndpoint"`
				CACertHashes      []string `json:"caCertHashes"`
			} `json:"bootstrapToken"`
			TLSBootstrapToken string `json:"tlsBootstrapToken"`
		} `json:"discovery"`
		NodeRegistration struct {
			Name             string          `json:"name"`
			Taints           []corev1.Taint  `json:"taints"`
			KubeletExtraArgs json.RawMessage `json:"kubeletExtraArgs"`
		} `json:"nodeRegistration"`
	}
	if err := yaml.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("read the configuration of kubeadm: %w", err)
	}
	d := c.Discovery.BootstrapToken
	s.How, s.Server, s.Token, s.CAHashes = "kubeadm", d.APIServerEndpoint, d.Token, d.CACertHashes
	if c.Discovery.TLSBootstrapToken != "" {
		s.Token = c.Discovery.TLSBootstrapToken
	}
	if c.NodeRegistration.Name != "" {
		s.Name = c.NodeRegistration.Name
	}
	s.addTaints(c.NodeRegistration.Taints...)
	var list []struct{ Name, Value string } // since v1beta4; a map before
	var byName map[string]string
	if json.Unmarshal(c.NodeRegistration.KubeletExtraArgs, &list) == nil {
		for _, a := range list {
			s.flag(a.Name, a.Value)
		}
	} else if json.Unmarshal(c.NodeRegistration.KubeletExtraArgs, &byName) == nil {
		for k, v := range byName {
			s.flag(k, v)
		}
	}
	return nil
}

func (s *Settings) rancher(how string, text []byte) error {
	var c map[string]any
	if err := yaml.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("read the configuration of %s: %w", how, err)
	}
	s.How = how
	for key, value := range c {
		values, ok := value.([]any)
		if !ok {
			values = []any{value}
		}
		for _, v := range values {
			text := fmt.Sprint(v)
			switch key {
			case "server":
				s.Server = text
			case "token":
				s.Token = text
			case "kubelet-arg":
				name, arg, _ := strings.Cut(text, "=")
				s.flag(name, arg)
			default:
				s.flag(key, text)
			}
		}
	}
	return nil
}
