package firstboot

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// MaxAliased is how many bytes a YAML text with aliases may stand for.
const MaxAliased = 1 << 20

// DecodeYAML decodes a text into a value. A few lines with aliases (*name) can expand to
// gigabytes: these are refused before they are expanded.
func DecodeYAML(text string, into any) error {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return yamlProblems(text, err)
	}
	sizes := map[*yaml.Node]int{}
	if size := aliased(&doc, sizes); size > len(text)+MaxAliased {
		return &TextError{Text: fmt.Sprintf("its aliases stand for more than %d bytes", MaxAliased)}
	}
	if err := doc.Decode(into); err != nil {
		return yamlProblems(text, err)
	}
	return nil
}

// aliased is how many bytes a node stands for, with its aliases replaced; more than enough
// counts as that.
func aliased(n *yaml.Node, known map[*yaml.Node]int) int {
	if size, ok := known[n]; ok {
		return size
	}
	const enough = 1 << 40
	known[n] = enough // a node that is a part of itself
	size := len(n.Value) + 1
	if n.Kind == yaml.AliasNode {
		size += aliased(n.Alias, known)
	}
	for _, part := range n.Content {
		size = min(enough, size+aliased(part, known))
	}
	known[n] = size
	return size
}
