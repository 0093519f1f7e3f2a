package chart

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// released makes what a release has for Kubernetes, with the command of the Makefile.
func released(t *testing.T, version string) string {
	t.Helper()
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "make", "-s", "-C", "../..", "release-kubernetes", "VERSION=v"+version, "RELEASE_DIR="+folder)
	cmd.Env = append(os.Environ(), "MAKEFLAGS=")
	output(t, cmd)
	return folder
}

// What a release has for those without a checkout: one file for kubectl, a chart, and the
// same chart as an OCI layout.
func TestAReleaseHasWhatKubernetesNeeds(t *testing.T) {
	helm, plane := program(t, "helm"), start(t)
	const version = "1.2.3-rc.1"
	folder := released(t, version)

	t.Run("install.yaml", func(t *testing.T) {
		file := filepath.Join(folder, "install.yaml")
		output(t, plane.Kubectl(t.Context(), "apply", "--server-side", "-f", file))
		output(t, plane.Kubectl(t.Context(), "wait", "--for=condition=Established", "crd", "--all", "--timeout", patience.String()))
		if image := output(t, plane.Kubectl(t.Context(), "-n", "proxplane", "get", "deployment", "proxplane", "-o", "jsonpath={.spec.template.spec.containers[0].image}")); image != "ghcr.io/proxplane/proxplane:"+version {
			t.Errorf("the image is %s", image)
		}
		// It can be applied again, and is gone when it is deleted; the custom resources go with it.
		output(t, plane.Kubectl(t.Context(), "apply", "--server-side", "-f", file))
		output(t, plane.Kubectl(t.Context(), "delete", "-f", file, "--wait=false"))
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("managed-by: Helm")) || bytes.Contains(text, []byte("helm.sh")) {
			t.Error("it says that Helm looks after it")
		}
	})
	t.Run("chart", func(t *testing.T) {
		packed := filepath.Join(folder, "proxplane-"+version+".tgz")
		about := output(t, exec.CommandContext(t.Context(), helm, "show", "chart", packed))
		if !strings.Contains(about, "\nversion: "+version+"\n") || !strings.Contains(about, "appVersion: "+version) {
			t.Errorf("the chart is\n%s", about)
		}
		if crds := strings.Count(output(t, exec.CommandContext(t.Context(), helm, "template", "x", packed)), "kind: CustomResourceDefinition"); crds != 7 {
			t.Errorf("it has %d custom resources", crds)
		}
	})
	t.Run("OCI layout", func(t *testing.T) {
		registry := httptest.NewServer(registryOf(t, filepath.Join(folder, "chart")))
		defer registry.Close()
		at, into := strings.TrimPrefix(registry.URL, "http://"), t.TempDir()
		pull := exec.CommandContext(t.Context(), helm, "pull", "oci://"+at+"/charts/proxplane", "--version", version, "--plain-http", "--destination", into)
		pull.Env = append(os.Environ(), "HOME="+into)
		output(t, pull)
		name := "proxplane-" + version + ".tgz"
		pulled, err := os.ReadFile(filepath.Join(into, name))
		if err != nil {
			t.Fatal(err)
		}
		packed, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !bytes.Equal(pulled, packed) {
			t.Errorf("what comes from a registry isn't the chart: %v", err)
		}
	})
}

// registryOf serves an OCI layout as a registry would that it was copied into.
func registryOf(t *testing.T, layout string) http.Handler {
	t.Helper()
	var index struct {
		Manifests []struct {
			MediaType, Digest string
			Annotations       map[string]string
		}
	}
	text, err := os.ReadFile(filepath.Join(layout, "index.json"))
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	if err != nil || len(index.Manifests) != 1 {
		t.Fatalf("%d manifests, %v", len(index.Manifests), err)
	}
	one := index.Manifests[0]
	blob := regexp.MustCompile(`^/v2/charts/proxplane/(manifests|blobs)/(.*)$`)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := blob.FindStringSubmatch(r.URL.Path)
		switch {
		case r.URL.Path == "/v2/":
			return
		case m == nil:
			http.NotFound(w, r)
			return
		case m[2] == one.Annotations["org.opencontainers.image.ref.name"]:
			m[2] = one.Digest
		}
		content, err := os.ReadFile(filepath.Join(layout, "blobs", filepath.FromSlash(strings.Replace(m[2], ":", "/", 1))))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		if m[1] == "manifests" {
			w.Header().Set("Content-Type", one.MediaType)
		}
		w.Header().Set("Docker-Content-Digest", m[2])
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
}
