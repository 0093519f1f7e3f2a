package cluster

import (
	"fmt"
	"net/netip"
	"strings"

	"sigs.k8s.io/yaml"
)

func isIPv6(addr string) bool {
	a, err := netip.ParseAddr(addr)
	return err == nil && a.Is6()
}

// manifests are what the cluster applies by itself, by the names of files: those of the file, its
// charts and its components.
func manifests(f *File) (map[string]string, error) {
	out := map[string]string{}
	for _, m := range f.Kubernetes.Manifests {
		out[m.Name] = m.Content
	}
	charts := append([]Chart{}, f.Kubernetes.Charts...)
	c := f.Components
	if c.Traefik.Enabled && f.Kubernetes.Distribution != "k3s" { // which brings its own
		charts = append(charts, Chart{Name: "traefik", Repo: "https://traefik.github.io/charts", Chart: "traefik", Version: c.Traefik.Version, Namespace: "traefik"})
	}
	if c.Vault.Enabled && c.Vault.Mode == "deploy" {
		charts = append(charts, Chart{Name: "vault", Repo: "https://helm.releases.hashicorp.com", Chart: "vault", Version: c.Vault.Version, Namespace: "vault"})
	}
	if c.ExternalSecrets.Enabled {
		charts = append(charts, Chart{Name: "external-secrets", Repo: "https://charts.external-secrets.io", Chart: "external-secrets", Version: c.ExternalSecrets.Version, Namespace: "external-secrets"})
	}
	if c.ExternalSecrets.Enabled && c.Vault.Enabled {
		address := c.Vault.Address
		if c.Vault.Mode == "deploy" {
			address = "http://vault.vault.svc:8200"
		}
		if err := put(out, "vault-store", map[string]any{
			"apiVersion": "external-secrets.io/v1", "kind": "ClusterSecretStore", "metadata": map[string]any{"name": "vault"},
			"spec": map[string]any{"provider": map[string]any{"vault": map[string]any{
				"server": address, "path": "secret", "version": "v2",
				"auth": map[string]any{"kubernetes": map[string]any{"mountPath": "kubernetes", "role": "external-secrets"}},
			}}},
		}); err != nil {
			return nil, err
		}
	}
	if f.GitOps.Enabled {
		charts = append(charts, Chart{Name: "flux", Repo: "https://fluxcd-community.github.io/helm-charts", Chart: "flux2", Namespace: "flux-system"})
		meta := map[string]any{"name": f.Name, "namespace": "flux-system"}
		if err := put(out, "gitops", map[string]any{
			"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": meta,
			"spec": map[string]any{"interval": "1m", "url": f.GitOps.Repository, "ref": map[string]any{"branch": f.GitOps.Branch}},
		}, map[string]any{
			"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": meta,
			"spec": map[string]any{"interval": "5m", "prune": true, "path": "./" + strings.TrimPrefix(f.GitOps.Path, "./"), "sourceRef": map[string]any{"kind": "GitRepository", "name": f.Name}},
		}); err != nil {
			return nil, err
		}
	}
	for _, c := range charts {
		spec := map[string]any{"chart": c.Chart, "targetNamespace": c.Namespace, "createNamespace": true}
		for key, value := range map[string]string{"repo": c.Repo, "version": c.Version} {
			if value != "" {
				spec[key] = value
			}
		}
		if c.Namespace == "" {
			delete(spec, "targetNamespace")
			delete(spec, "createNamespace")
		}
		if len(c.Values) > 0 {
			values, err := yaml.Marshal(c.Values)
			if err != nil {
				return nil, fmt.Errorf("values of chart %s: %w", c.Name, err)
			}
			spec["valuesContent"] = string(values)
		}
		if err := put(out, "chart-"+c.Name, map[string]any{
			"apiVersion": "helm.cattle.io/v1", "kind": "HelmChart", "metadata": map[string]any{"name": c.Name, "namespace": "kube-system"}, "spec": spec,
		}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// put writes objects into one file.
func put(into map[string]string, name string, objects ...map[string]any) error {
	var docs []string
	for _, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			return err
		}
		docs = append(docs, string(text))
	}
	into[name] = strings.Join(docs, "---\n")
	return nil
}
