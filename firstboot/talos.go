package firstboot

import (
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// isTalos reports whether a text is a machine config of Talos: documents of YAML,
// the first of which says so.
func isTalos(text string) bool {
	if strings.HasPrefix(text, "#!") || !strings.Contains(text, "v1alpha1") {
		return false
	}
	var head struct {
		Version    string    `yaml:"version"`
		Machine    yaml.Node `yaml:"machine"`
		Cluster    yaml.Node `yaml:"cluster"`
		APIVersion string    `yaml:"apiVersion"`
		Kind       string    `yaml:"kind"`
	}
	if yaml.NewDecoder(strings.NewReader(text)).Decode(&head) != nil {
		return false
	}
	return head.Version == "v1alpha1" && (!head.Machine.IsZero() || !head.Cluster.IsZero()) || head.APIVersion == "v1alpha1" && head.Kind != ""
}

// checkTalos checks a machine config as far as NoCloud is concerned: Talos takes
// user-data as a whole, and stops at keys that it doesn't know.
func checkTalos(text string) error {
	docs := yaml.NewDecoder(strings.NewReader(text))
	for {
		var doc yaml.Node
		err := docs.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return yamlProblems(text, err)
		}
		if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
			continue
		}
		keys := doc.Content[0].Content
		for i := 0; i+1 < len(keys); i += 2 {
			if keys[i].Value == "network" {
				return &TextError{keys[i].Line, keys[i].Column, "Talos refuses network: here; spec.networks says it, or machine.network"}
			}
		}
	}
}
