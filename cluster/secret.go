package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/proxplane/proxplane/model"
)

// withheld stands in a record for what may be secret, and only control planes have.
const withheld = "only in the machines"

// secretsFile is where control planes have the file as it was applied last, with all that records
// withhold.
const secretsFile = "/etc/proxplane/cluster.yaml"

// kept is what that file holds.
type kept struct {
	// Generation is that of the record that it was written with. Of several, the highest counts.
	Generation int   `yaml:"generation"`
	File       *File `yaml:"file"`
}

// secretsText is what control planes get of a file; empty: there is nothing that records withhold.
func secretsText(r Record) (string, error) {
	if !r.File.hasSecrets() {
		return "", nil
	}
	text, err := yaml.Marshal(kept{r.Generation, r.File})
	return string(text), err
}

// place is a value of a file that may be secret.
type place struct {
	field string // for people
	get   func() any
	set   func(any)
}

// secretPlaces are the values of a file that may be secret: credentials of registries, and what
// people put into environments, configs, manifests and values of charts. Their names aren't.
func (f *File) secretPlaces() (list []place) {
	k := &f.Kubernetes
	for host, one := range registryConfigs(k.Registries) {
		if _, has := one["auth"]; has {
			list = append(list, inMap("kubernetes.registries.configs."+host+".auth", one, "auth"))
		}
	}
	for key := range k.Config {
		list = append(list, inMap("kubernetes.config."+key, k.Config, key))
	}
	for key := range k.Env {
		list = append(list, inMap("kubernetes.env."+key, k.Env, key))
	}
	for i := range k.Manifests {
		m := &k.Manifests[i]
		list = append(list, place{"kubernetes.manifests." + m.Name, func() any { return m.Content }, func(v any) { m.Content = fmt.Sprint(v) }})
	}
	for _, c := range k.Charts {
		for key := range c.Values {
			list = append(list, inMap("kubernetes.charts."+c.Name+".values."+key, c.Values, key))
		}
	}
	slices.SortFunc(list, func(a, b place) int { return strings.Compare(a.field, b.field) })
	return list
}

// inMap is a value of a map.
func inMap[T any](field string, in map[string]T, key string) place {
	return place{field, func() any { return in[key] }, func(v any) {
		value, _ := v.(T) // what isn't there is nothing
		in[key] = value
	}}
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

// withoutSecrets is a file as records have it.
func (f *File) withoutSecrets() (*File, error) {
	out, err := f.clone()
	if err != nil {
		return nil, err
	}
	for _, p := range out.secretPlaces() {
		p.set(withheld)
	}
	return out, nil
}

// hasSecrets reports whether a file has values that records withhold.
func (f *File) hasSecrets() bool {
	return slices.ContainsFunc(f.secretPlaces(), func(p place) bool { return !isWithheld(p.get()) })
}

// lacksSecrets reports whether values are left to the machines.
func (f *File) lacksSecrets() bool {
	return slices.ContainsFunc(f.secretPlaces(), func(p place) bool { return isWithheld(p.get()) })
}

// checkPasswords refuses URLs with passwords in fields that records have: whoever may see the machines in
// Proxmox could read them.
func (r *reading) checkPasswords(node *yaml.Node, path string) {
	for _, field := range []string{"kubernetes.config", "kubernetes.env", "kubernetes.registries.configs"} {
		if path == field {
			return // records have no values of these
		}
	}
	switch node.Kind {
	case yaml.SequenceNode:
		for i, item := range node.Content {
			r.checkPasswords(item, fmt.Sprintf("%s[%d]", path, i))
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			if strings.HasPrefix(path, "kubernetes.charts[") && key.Value == "values" || strings.HasPrefix(path, "kubernetes.manifests[") && key.Value == "content" {
				continue
			}
			at := strings.TrimPrefix(path+"."+key.Value, ".")
			r.lines[at] = key.Line
			r.checkPasswords(value, at)
		}
	case yaml.ScalarNode:
		if hasPassword(node.Value) {
			r.fail(path, "has a user or a password in the URL, which everybody who may see the machines in Proxmox could read; leave it out, and give it by kubernetes.registries.configs, kubernetes.env or a Secret of kubernetes.manifests")
		}
	}
}

// hasPassword reports whether a text is a URL with credentials. A user alone is none with SSH, and may be a
// token with HTTP.
func hasPassword(text string) bool {
	at, err := url.Parse(text)
	if err != nil || at.Host == "" || at.User == nil {
		return false
	}
	_, has := at.User.Password()
	return has || at.Scheme != "ssh"
}

func isWithheld(v any) bool { return v == any(withheld) }

// withSecrets is a file of a record with the values that another one has.
func (f *File) withSecrets(of *File) (*File, error) {
	out, err := f.clone()
	if err != nil {
		return nil, err
	}
	known := map[string]any{}
	for _, p := range of.secretPlaces() {
		known[p.field] = p.get()
	}
	var missing []string
	for _, p := range out.secretPlaces() {
		if !isWithheld(p.get()) {
			continue
		}
		value, has := known[p.field]
		if !has || isWithheld(value) {
			missing = append(missing, p.field)
			continue
		}
		p.set(value)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the control planes don't have %s; give the file again with: proxplane cluster init --config FILE", strings.Join(missing, ", "))
	}
	return out, nil
}

// sameSecrets reports whether two files have the same values in places that records withhold.
func sameSecrets(a, b *File) bool {
	values := func(f *File) map[string]any {
		out := map[string]any{}
		for _, p := range f.secretPlaces() {
			out[p.field] = p.get()
		}
		return out
	}
	return maps.EqualFunc(values(a), values(b), reflect.DeepEqual)
}

// secretsOf is the file of a record with the values that the control planes have.
func (c *Cluster) secretsOf(ctx context.Context, f *File) (*File, error) {
	if !f.lacksSecrets() {
		return f, nil
	}
	errs := []error{fmt.Errorf("read what the record leaves to the control planes: %w", ErrNoAPI)}
	var newest kept
	for _, m := range c.servers() {
		text, err := c.in.ReadFile(ctx, m.Guest, secretsFile)
		var one kept
		if err == nil {
			err = yaml.Unmarshal([]byte(text), &one)
		}
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", m.Name, err))
		case one.File != nil && (newest.File == nil || one.Generation > newest.Generation):
			newest = one
		}
	}
	if newest.File == nil {
		return nil, errors.Join(errs...)
	}
	return f.withSecrets(newest.File)
}

// servers are the control planes that run.
func (c *Cluster) servers() []Member {
	return slices.DeleteFunc(slices.Clone(c.Members), func(m Member) bool { return !m.Server() || m.Guest.Status != model.StatusRunning })
}

// keepSecrets writes what a record withholds into the control planes that run.
func (w *Work) keepSecrets(ctx context.Context, c *Cluster, r Record) error {
	text, err := secretsText(r)
	if err != nil || text == "" {
		return err
	}
	for _, m := range c.servers() {
		have, err := w.In.ReadFile(ctx, m.Guest, secretsFile)
		if err == nil && have == text {
			continue
		}
		const next = secretsFile + ".new" // it is whole or not there
		if err := writeLarge(ctx, w.In, m.Guest, next, []byte(text)); err != nil {
			return err
		}
		if _, err := output(ctx, w.In, m.Guest, "", "mv", "-f", next, secretsFile); err != nil {
			return err
		}
	}
	return nil
}

// dropSecrets removes what control planes have of a file that no longer has any secrets.
func (w *Work) dropSecrets(ctx context.Context, c *Cluster) error {
	for _, m := range c.servers() {
		if _, err := output(ctx, w.In, m.Guest, "", "rm", "-f", secretsFile); err != nil {
			return err
		}
	}
	return nil
}

// otherSecrets reports whether a file has other values in places that records withhold than the one
// that was applied last. Where nobody can tell, it has.
func (c *Cluster) otherSecrets(ctx context.Context, f *File) bool {
	was := c.Record.File
	if !was.lacksSecrets() && !f.hasSecrets() {
		return false
	}
	full, err := c.secretsOf(ctx, was)
	return err != nil || !sameSecrets(full, f)
}
