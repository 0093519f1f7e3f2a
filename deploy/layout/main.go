// Command layout writes a packaged Helm chart as an OCI image layout: a folder that tools
// such as oras, crane and skopeo copy into any registry, from which `helm install oci://…`
// takes it.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// The types of what a chart consists of, as Helm knows them.
const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	indexType    = "application/vnd.oci.image.index.v1+json"
	configType   = "application/vnd.cncf.helm.config.v1+json"
	chartType    = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: layout CHART.tgz FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// descriptor names a blob by what is in it.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// manifest is one chart.
type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations"`
}

// index is what is in the folder.
type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

// write makes the folder, in place of what was there.
func write(chart, folder string) error {
	content, err := os.ReadFile(chart)
	if err != nil {
		return err
	}
	config, name, version, err := about(content)
	if err != nil {
		return fmt.Errorf("read %s: %w", chart, err)
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(folder, "blobs", "sha256"), 0o755); err != nil {
		return err
	}
	named := map[string]string{"org.opencontainers.image.title": name, "org.opencontainers.image.version": version}
	m := manifest{SchemaVersion: 2, MediaType: manifestType, Annotations: named}
	if m.Config, err = blob(folder, configType, config); err != nil {
		return err
	}
	layer, err := blob(folder, chartType, content)
	if err != nil {
		return err
	}
	m.Layers = []descriptor{layer}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	top, err := blob(folder, manifestType, text)
	if err != nil {
		return err
	}
	top.Annotations = map[string]string{"org.opencontainers.image.ref.name": strings.ReplaceAll(version, "+", "_")} // as Helm does: tags have no +
	text, err = json.Marshal(index{SchemaVersion: 2, MediaType: indexType, Manifests: []descriptor{top}})
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(folder, "index.json"), text, 0o644),
		os.WriteFile(filepath.Join(folder, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644),
	)
}

// blob writes a blob.
func blob(folder, kind string, content []byte) (descriptor, error) {
	sum := sha256.Sum256(content)
	name := hex.EncodeToString(sum[:])
	return descriptor{MediaType: kind, Digest: "sha256:" + name, Size: len(content)}, os.WriteFile(filepath.Join(folder, "blobs", "sha256", name), content, 0o644)
}

// about is the Chart.yaml of a packaged chart, as JSON.
func about(chart []byte) (config []byte, name, version string, err error) {
	zip, err := gzip.NewReader(bytes.NewReader(chart))
	if err != nil {
		return nil, "", "", err
	}
	for files := tar.NewReader(zip); ; {
		f, err := files.Next()
		if err != nil {
			return nil, "", "", fmt.Errorf("find Chart.yaml: %w", err)
		}
		if folder, file := path.Split(f.Name); file != "Chart.yaml" || strings.Count(folder, "/") != 1 {
			continue
		}
		text, err := io.ReadAll(files)
		if err != nil {
			return nil, "", "", err
		}
		var c struct{ Name, Version string }
		if err := yaml.Unmarshal(text, &c); err != nil {
			return nil, "", "", err
		}
		config, err := yaml.YAMLToJSON(text)
		return config, c.Name, c.Version, err
	}
}
