package firstboot

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/butane/config"
	"github.com/coreos/butane/config/common"
	"go.yaml.in/yaml/v3"
)

// Butane translates a Butane config to an Ignition config. It is strict: Butane's warnings
// are errors. Local files are taken from a folder; empty: there are none.
func Butane(text, folder string) (ignition string, err error) {
	// Butane names only the line of what isn't YAML.
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return "", yamlProblems(text, err)
	}
	options := common.TranslateBytesOptions{Raw: true, TranslateOptions: common.TranslateOptions{FilesDir: folder}}
	out, r, err := config.TranslateBytes([]byte(text), options)
	if wrong := reported(r, nil); wrong != nil {
		return "", wrong
	}
	if err != nil {
		return "", butaneProblem(text, &doc, err)
	}
	if _, err := CheckIgnition(string(out)); err != nil {
		return "", err
	}
	return string(out), nil
}

// butaneProblem is for what Butane tells without a report.
func butaneProblem(text string, doc *yaml.Node, err error) error {
	at := func(key, message string) error {
		p := &TextError{Line: 1, Column: 1, Text: message}
		if n := topKey(doc, key); n != nil {
			p.Line, p.Column = n.Line, n.Column
		}
		return p
	}
	var unknown common.ErrUnknownVersion
	switch {
	case errors.Is(err, common.ErrNoVariant):
		return at("variant", "variant is missing: flatcar, fcos, …")
	case errors.Is(err, common.ErrInvalidVersion):
		return at("version", "version is missing, or isn't one like 1.1.0")
	case errors.As(err, &unknown):
		return at("version", fmt.Sprintf("there is no version %s of variant %s", unknown.Version.String(), unknown.Variant))
	case strings.HasPrefix(err.Error(), "yaml: "):
		return yamlProblems(text, err)
	}
	return err
}

// ButaneVariant returns the variant that a Butane config names; empty: none.
func ButaneVariant(text string) string {
	var head struct {
		Variant string `yaml:"variant"`
	}
	if yaml.Unmarshal([]byte(text), &head) != nil {
		return ""
	}
	return head.Variant
}

// topKey finds a key of a document.
func topKey(doc *yaml.Node, key string) *yaml.Node {
	if len(doc.Content) != 1 {
		return nil
	}
	pairs := doc.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i].Value == key {
			return pairs[i+1]
		}
	}
	return nil
}

// withFiles lays files into a folder of its own while something is made of them.
// ConfigMaps hold no secrets, and still only we can read them there.
func withFiles(files map[string][]byte, make func(folder string) error) (err error) {
	folder, err := os.MkdirTemp("", "proxplane-butane-")
	if err != nil {
		return fmt.Errorf("lay out files for Butane: %w", err)
	}
	defer func() {
		if rerr := os.RemoveAll(folder); err == nil && rerr != nil {
			err = fmt.Errorf("remove files for Butane: %w", rerr)
		}
	}()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("lay out files for Butane: %q isn't the name of a file", name)
		}
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("lay out files for Butane: %w", err)
		}
		if err := os.WriteFile(path, files[name], 0o600); err != nil {
			return fmt.Errorf("lay out files for Butane: %w", err)
		}
	}
	return make(folder)
}
