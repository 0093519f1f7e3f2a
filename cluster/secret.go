package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"go.yaml.in/yaml/v3"

	"github.com/proxplane/proxplane/model"
)

// withheld stands in a record for the credentials of a registry, which only machines have.
const withheld = "only in the machines"

// withoutSecrets is a file as records have it: without the credentials of registries.
func (f *File) withoutSecrets() (*File, error) {
	out, err := f.clone()
	if err != nil {
		return nil, err
	}
	for _, one := range registryConfigs(out.Kubernetes.Registries) {
		if _, has := one["auth"]; has {
			one["auth"] = withheld
		}
	}
	return out, nil
}

// registryConfigs are the settings of registries, by their hosts.
func registryConfigs(registries map[string]any) map[string]map[string]any {
	out := map[string]map[string]any{}
	configs, _ := registries["configs"].(map[string]any)
	for host, value := range configs {
		if one, ok := value.(map[string]any); ok {
			out[host] = one
		}
	}
	return out
}

// lacksSecrets reports whether credentials are left to the machines.
func (f *File) lacksSecrets() bool {
	for _, one := range registryConfigs(f.Kubernetes.Registries) {
		if one["auth"] == withheld {
			return true
		}
	}
	return false
}

// withSecrets is a file with the credentials that a machine's registries.yaml has.
func (f *File) withSecrets(registries string) (*File, error) {
	out, err := f.clone()
	if err != nil {
		return nil, err
	}
	var have map[string]any
	if err := yaml.Unmarshal([]byte(registries), &have); err != nil {
		return nil, err
	}
	known := registryConfigs(have)
	for host, one := range registryConfigs(out.Kubernetes.Registries) {
		if one["auth"] != withheld {
			continue
		}
		delete(one, "auth")
		if auth, has := known[host]["auth"]; has {
			maps.Copy(one, map[string]any{"auth": auth})
		}
	}
	return out, nil
}

// secretsOf is the file of a record with the credentials that the control planes have.
func (c *Cluster) secretsOf(ctx context.Context, f *File) (*File, error) {
	if !f.lacksSecrets() {
		return f, nil
	}
	errs := []error{fmt.Errorf("read the credentials of registries: %w", ErrNoAPI)}
	for _, m := range c.Members {
		if !m.Server() || m.Guest.Status != model.StatusRunning {
			continue
		}
		text, err := c.in.ReadFile(ctx, m.Guest, c.distribution().config("registries.yaml"))
		if err == nil {
			return f.withSecrets(text)
		}
		errs = append(errs, fmt.Errorf("%s: %w", m.Name, err))
	}
	return nil, errors.Join(errs...)
}
