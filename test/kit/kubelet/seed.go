package kubelet

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// Settings are what a machine learns from its seed.
type Settings struct {
	How        string // it joins: kubeadm, k3s, rke2, talos or kubelet
	Name       string // of the Node
	Server     string // URL of the API server
	Token      string
	CA         []byte   // PEM; empty: it is looked up and checked
	CAHashes   []string // of public keys, as kubeadm has them
	CASum      string   // of the CA's file, as the tokens of k3s have it
	ProviderID string
	Labels     map[string]string
	Taints     []corev1.Taint
	Reserved   map[string]string // by resource: what pods can't have
	MaxPods    int
	Files      map[string]string // that the seed has the machine write
}

// errNoJoin is why most machines don't join anything.
var errNoJoin = errors.New("the seed says nothing of a Kubernetes")

// ReadSeed reads the files of a seed. Machines whose seed says nothing of a
// Kubernetes join none.
func ReadSeed(seed map[string]string) (*Settings, error) {
	user := seed["user-data"]
	s := &Settings{Labels: map[string]string{}, Files: map[string]string{}, Name: hostName(seed["meta-data"])}
	switch {
	case strings.HasPrefix(user, "#cloud-config"):
		if err := s.cloudConfig(user); err != nil {
			return nil, err
		}
	case strings.HasPrefix(strings.TrimSpace(user), "{"):
		if err := s.ignition(user); err != nil {
			return nil, err
		}
	default:
		if err := s.talos(user); err != nil {
			return nil, err
		}
	}
	for at, text := range s.Files {
		if err := s.file(at, text); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
	}
	if s.Token == "" || s.Server == "" {
		return nil, errNoJoin
	}
	if !strings.Contains(s.Server, "://") {
		s.Server = "https://" + s.Server
	}
	if sum, token, ok := strings.Cut(s.Token, "::"); ok { // K10<sum>::<token>
		s.CASum, s.Token = strings.TrimPrefix(sum, "K10"), token
	}
	return s, nil
}

func hostName(meta string) string {
	var m struct {
		LocalHostname string `json:"local-hostname"`
		Hostname      string `json:"hostname"`
	}
	_ = yaml.Unmarshal([]byte(meta), &m) // it names nobody
	if m.LocalHostname != "" {
		return m.LocalHostname
	}
	return m.Hostname
}

func (s *Settings) cloudConfig(text string) error {
	var c struct {
		Hostname   string `json:"hostname"`
		WriteFiles []struct {
			Path     string `json:"path"`
			Content  string `json:"content"`
			Encoding string `json:"encoding"`
		} `json:"write_files"`
		RunCmd []any `json:"runcmd"`
	}
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		return fmt.Errorf("read the cloud-config: %w", err)
	}
	if c.Hostname != "" {
		s.Name = c.Hostname
	}
	for _, f := range c.WriteFiles {
		switch f.Encoding {
		case "":
			s.Files[f.Path] = f.Content
		case "b64", "base64":
			b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(f.Content))
			if err != nil {
				return fmt.Errorf("%s: %w", f.Path, err)
			}
			s.Files[f.Path] = string(b)
		default:
			return fmt.Errorf("%s: the encoding %q isn't known here", f.Path, f.Encoding)
		}
	}
	commands := ""
	for _, c := range c.RunCmd {
		if list, ok := c.([]any); ok {
			words := make([]string, 0, len(list))
			for _, w := range list {
				words = append(words, fmt.Sprint(w))
			}
			commands += strings.Join(words, " ") + "\n"
			continue
		}
		commands += fmt.Sprint(c) + "\n"
	}
	s.Files["runcmd"] = commands
	return nil
}

func (s *Settings) ignition(text string) error {
	var c struct {
		Storage struct {
			Files []struct {
				Path     string `json:"path"`
				Contents struct {
					Source string `json:"source"`
				} `json:"contents"`
			} `json:"files"`
		} `json:"storage"`
		Systemd struct {
			Units []struct {
				Name     string `json:"name"`
				Contents string `json:"contents"`
			} `json:"units"`
		} `json:"systemd"`
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return fmt.Errorf("read the Ignition config: %w", err)
	}
	for _, f := range c.Storage.Files {
		_, data, _ := strings.Cut(f.Contents.Source, ",")
		if strings.Contains(f.Contents.Source[:len(f.Contents.Source)-len(data)], "base64") {
			b, err := base64.StdEncoding.DecodeString(data)
			if err != nil {
				return fmt.Errorf("%s: %w", f.Path, err)
			}
			s.Files[f.Path] = string(b)
		} else if plain, err := url.PathUnescape(data); err == nil {
			s.Files[f.Path] = plain
		}
		if f.Path == "/etc/hostname" {
			s.Name = strings.TrimSpace(s.Files[f.Path])
		}
	}
	for _, u := range c.Systemd.Units {
		s.Files["/etc/systemd/system/"+u.Name] = u.Contents
	}
	return nil
}
