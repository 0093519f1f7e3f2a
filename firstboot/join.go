package firstboot

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// JoinCloudConfigs merges several cloud-configs, each a mapping or a text. Lists are joined in their
// order and mappings are merged; of other values the last one counts. The same parts always give the
// same text. The error is a [*PartError].
func JoinCloudConfigs(parts ...any) (string, error) {
	all := map[string]any{}
	for i, p := range parts {
		m, err := cloudConfigOf(p)
		if err != nil {
			return "", part(i, err)
		}
		all = joined(all, m)
	}
	b, err := yaml.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("write a cloud-config: %w", err)
	}
	text := "#cloud-config\n" + string(b)
	return text, CheckUserData(text)
}

// cloudConfigOf is what a part says.
func cloudConfigOf(p any) (map[string]any, error) {
	var m map[string]any
	switch p := p.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return p, nil
	case string:
		if strings.TrimSpace(p) == "" {
			return nil, nil
		}
		if FormatOf(p) != CloudConfig {
			return nil, &TextError{Line: 1, Column: 1, Text: "this is no cloud-config: it doesn't begin with #cloud-config"}
		}
		if err := CheckUserData(p); err != nil {
			return nil, err
		}
		err := DecodeYAML(p, &m)
		return m, err
	}
	return nil, &TextError{Text: "want keys and values, or the text of a cloud-config"}
}

// joined is a mapping with another one on top of it.
func joined(below, above map[string]any) map[string]any {
	all := maps.Clone(below)
	for key, value := range above {
		switch value := value.(type) {
		case []any:
			if list, ok := below[key].([]any); ok {
				all[key] = slices.Concat(list, value)
				continue
			}
		case map[string]any:
			if m, ok := below[key].(map[string]any); ok {
				all[key] = joined(m, value)
				continue
			}
		}
		all[key] = value
	}
	return all
}
