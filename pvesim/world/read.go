package world

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed default.yaml
var defaultYAML []byte

// Default returns a small lab: three nodes, local and shared storages, a
// template.
func Default() *World {
	w, err := Parse(defaultYAML)
	if err != nil {
		panic(err)
	}
	return w
}

// Read reads a world from a YAML file.
func Read(path string) (*World, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read world: %w", err)
	}
	w, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}

// Parse reads a world from YAML. Unknown fields are errors.
func Parse(b []byte) (*World, error) {
	w := &World{}
	if err := yaml.UnmarshalStrict(b, w); err != nil {
		return nil, fmt.Errorf("world: %w", plainYAML(err))
	}
	return w, nil
}

// WithDefaults fills in what wasn't said.
func (w *World) WithDefaults() *World {
	out := *w
	if out.Release == "" {
		out.Release = "9.2"
	}
	if len(out.Nodes) == 0 {
		out.Nodes = []Node{{Name: "pve1"}}
	}
	out.Nodes = slices.Clone(out.Nodes)
	for i := range out.Nodes {
		n := &out.Nodes[i]
		if n.State == "" {
			n.State = Online
		}
		if n.CPUs == 0 {
			n.CPUs = 8
		}
		if n.Memory == 0 {
			n.Memory = 32 << 30
		}
		if n.IP == "" {
			n.IP = fmt.Sprintf("192.168.77.%d", i+2)
		}
		if n.Bridges == nil {
			n.Bridges = []Bridge{{Name: "vmbr0", CIDR: n.IP + "/24"}}
		}
	}
	if out.Entry == "" {
		out.Entry = out.Nodes[0].Name
	}
	if out.DHCP.Range == "" {
		out.DHCP.Range = "192.168.77.50-192.168.77.250"
	}
	if out.DHCP.Bits == 0 {
		out.DHCP.Bits = 24
	}
	if !slices.ContainsFunc(out.Users, func(u User) bool { return u.ID == "root@pam" }) {
		out.Users = append([]User{{ID: "root@pam", Password: "proxplane"}}, out.Users...)
	}
	return &out
}

// plainYAML takes the words about JSON out of an error of reading YAML.
func plainYAML(err error) error {
	text := err.Error()
	for _, prefix := range []string{
		"error unmarshaling JSON: ", "while decoding JSON: ", "error converting YAML to JSON: ", "yaml: ", "json: ",
	} {
		text = strings.TrimPrefix(text, prefix)
	}
	text = strings.ReplaceAll(text, "Go value of type world.", "")
	text = strings.ReplaceAll(text, "Go struct field ", "")
	return errors.New(text)
}
