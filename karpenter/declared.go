package karpenter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infra "github.com/proxplane/proxplane/api/infra/v1beta1"
	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/kube"
	"github.com/proxplane/proxplane/manifest"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/spec"
)

const labelRegion = api.LabelRegion

// declaredBy are the regions that Providers stand for. Secrets are read past the cache.
func declaredBy(ctx context.Context, r client.Reader, direct client.Reader, set string) ([]declared, error) {
	var list infra.ProviderList
	if err := r.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list Providers: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b infra.Provider) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	var all []declared
	for i := range list.Items {
		one := &list.Items[i]
		if one.DeletionTimestamp != nil {
			continue
		}
		w, err := ofProvider(ctx, direct, one, set)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// ofProvider is the region that a Provider stands for.
func ofProvider(ctx context.Context, direct client.Reader, one *infra.Provider, set string) (declared, error) {
	w := declared{name: cmp.Or(one.Labels[labelRegion], one.Name), by: "Provider " + one.Namespace + "/" + one.Name}
	w.identity = cmp.Or(one.Annotations[infra.Proxmox], one.Status.Proxmox)
	objects, err := kube.Set([]kube.Object{one})
	if err != nil {
		return w, err
	}
	var unread error
	parts := objects.Parts(manifest.Options{Set: set, Door: Door, Find: func(key model.Key) any {
		value, _, err := kube.Content(ctx, direct, key)
		if err != nil {
			unread = fmt.Errorf("read %s: %w", key, err)
		}
		return value
	}})
	switch {
	case unread != nil:
		return w, unread
	case len(parts.Errors) > 0:
		e := parts.Errors[0]
		w.wrong = fmt.Sprintf("%s: %s", w.by, strings.TrimPrefix(e.Field+": "+e.Text, ": "))
	case len(parts.Wanted) != 1:
		w.wrong = w.by + " can't be read"
	default:
		is := parts.Wanted[0]
		w.connection = is.Connection
		w.cluster = spec.Cluster{
			Name: w.name, Range: is.Desired.Range, Nodes: one.Spec.NodeSelector, Facts: is.Nodes, Defaults: spec.Defaults(one.Spec.Defaults),
			Networks: is.Networks, SSH: one.Spec.SSH != nil,
		}
	}
	return w, nil
}

// clustersFile is the original's configuration.
type clustersFile struct {
	Clusters []struct {
		URL             string `json:"url"`
		Insecure        bool   `json:"insecure"`
		TokenID         string `json:"token_id"`
		TokenSecret     string `json:"token_secret"`
		TokenIDFile     string `json:"token_id_file"`
		TokenSecretFile string `json:"token_secret_file"`
		Username        string `json:"username"`
		Password        string `json:"password"`
		Region          string `json:"region"`
	} `json:"clusters"`
}

// clustersSecret is a Secret with the original's configuration.
type clustersSecret struct {
	types.NamespacedName
	key   string      // empty: config.yaml, or any other that ends in .yaml
	vmids model.Range // of machines in its regions
}

// declaredIn are the regions of a Secret with the original's configuration.
func declaredIn(ctx context.Context, direct client.Reader, from clustersSecret) ([]declared, error) {
	var s corev1.Secret
	if err := direct.Get(ctx, from.NamespacedName, &s); err != nil {
		return nil, fmt.Errorf("read the Secret %s with the regions: %w", from, err)
	}
	name := cmp.Or(from.key, "config.yaml")
	text, ok := s.Data[name]
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		if !ok && from.key == "" && strings.HasSuffix(key, ".yaml") {
			text, ok = s.Data[key], true
		}
	}
	if !ok {
		return nil, fmt.Errorf("the Secret %s has no key %s", from, name)
	}
	list, err := parseClusters(text, "Secret "+from.String(), os.ReadFile)
	for i := range list {
		list[i].cluster.Range = from.vmids
	}
	return list, err
}

// parseClusters reads the original's configuration. Nothing of it is repeated in errors, since it holds
// secrets.
func parseClusters(text []byte, by string, readFile func(string) ([]byte, error)) ([]declared, error) {
	var file clustersFile
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, errors.New(by + ": want clusters, each with url, region, token_id and token_secret, in YAML")
	}
	if len(file.Clusters) == 0 {
		return nil, errors.New(by + ": there is no entry under clusters")
	}
	var all []declared
	for i, c := range file.Clusters {
		w := declared{name: c.Region, by: fmt.Sprintf("%s clusters[%d]", by, i)}
		w.cluster = spec.Cluster{Name: c.Region, Range: model.DefaultRange}
		if w.name == "" {
			return nil, fmt.Errorf("%s: region is missing", w.by)
		}
		for _, f := range []struct {
			file string
			to   *string
		}{{c.TokenIDFile, &c.TokenID}, {c.TokenSecretFile, &c.TokenSecret}} {
			if *f.to != "" || f.file == "" {
				continue
			}
			content, err := readFile(f.file)
			if err != nil {
				w.wrong = fmt.Sprintf("%s: %v", w.by, err)
			}
			*f.to = strings.TrimSpace(string(content))
		}
		w.connection = manifest.Connection{Endpoints: []string{strings.TrimSuffix(strings.TrimSuffix(c.URL, "/"), "/api2/json")}}
		w.connection.TLS.Insecure = c.Insecure
		switch {
		case c.URL == "":
			w.wrong = w.by + ": url is missing"
		case c.TokenID != "" && c.TokenSecret != "":
			w.connection.Credentials = pve.Token(c.TokenID, c.TokenSecret)
		case c.Username != "" && c.Password != "":
			w.connection.Credentials = pve.Password(c.Username, c.Password)
		case w.wrong == "":
			w.wrong = w.by + ": give token_id and token_secret, or username and password"
		}
		all = append(all, w)
	}
	return all, nil
}
