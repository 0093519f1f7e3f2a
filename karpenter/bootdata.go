package karpenter

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	api "github.com/proxplane/proxplane/api/karpenter/v1alpha1"
	"github.com/proxplane/proxplane/kube/join"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/spec"
)

// bootData makes the first-boot data of machines from the Go templates of people.
type bootData struct {
	secrets client.Reader
	tokens  *join.Tokens
	cluster join.Cluster // that machines join
	version string       // of Kubernetes
}

// The parts of first-boot data that can be templates.
const (
	userData      = "user-data"
	metaData      = "meta-data"
	networkConfig = "network-config"
	vendorData    = "vendor-data"
)

// What machines get where the Secret doesn't say it.
var defaultParts = map[string]string{
	userData: `#cloud-config
hostname: {{ .Metadata.Hostname }}
manage_etc_hosts: true
package_update: true
packages:
  - qemu-guest-agent
runcmd:
  - [systemctl, enable, --now, qemu-guest-agent.service]
users:
  - name: karpenter
    groups: [users]
    shell: /bin/bash
    sudo: ALL=(ALL) NOPASSWD:ALL
    {{- with get .Values "SSHAuthorizedKeys" }}
    ssh_authorized_keys:
      {{- split . "," | toYaml | nindent 6 }}
    {{- end }}
write_files:
  {{- with .Resources.Hugepages2Mi }}
  - path: /etc/sysctl.d/99-hugepages.conf
    content: |
      vm.nr_hugepages = {{ . }}
  {{- end }}
  - path: /etc/karpenter.yaml
    permissions: "0600"
    content: |
      {{- toYaml . | nindent 6 }}
`,
	metaData: `hostname: {{ .Hostname }}
local-hostname: {{ .Hostname }}
instance-id: {{ .InstanceID }}
instance-type: {{ .InstanceType }}
provider-id: {{ .ProviderID }}
region: {{ .Region }}
zone: {{ .Zone }}
availability-zone: {{ .Zone }}
`,
}

// isDrive reports whether machines of a class get first-boot data.
func isDrive(class *api.ProxmoxNodeClass) bool {
	o := class.Spec.MetadataOptions
	return o != nil && o.Type == api.MetadataCDROM
}

// data are the first-boot data of a machine; none: the class wants none.
func (b *bootData) data(ctx context.Context, claim *v1.NodeClaim, class *api.ProxmoxNodeClass, what made, size Size, m spec.Machine) (spec.FirstBoot, error) {
	if !isDrive(class) {
		return spec.FirstBoot{}, nil
	}
	parts, values, err := b.read(ctx, class.Spec.MetadataOptions)
	if err != nil {
		return spec.FirstBoot{}, err
	}
	in := b.values(claim.Name, class, what, size, m)
	in.Values = values
	in.Kubernetes.KubeletConfiguration.RegisterWithTaints = append(in.Kubernetes.KubeletConfiguration.RegisterWithTaints, v1.UnregisteredNoExecuteTaint)
	if b.tokens != nil {
		token, err := b.tokens.For(ctx, join.Machine{ID: string(claim.UID), Node: claim.Name})
		if err != nil {
			return spec.FirstBoot{}, err
		}
		in.Kubernetes.BootstrapToken = token.Reveal()
		kubeconfig, err := b.cluster.Kubeconfig(token)
		if err != nil {
			return spec.FirstBoot{}, err
		}
		in.Kubernetes.BootstrapKubeconfig = string(kubeconfig)
	}
	boot, err := render(parts, in)
	boot.Random = in.Kubernetes.BootstrapToken != "" && holds(boot, in.Kubernetes.BootstrapToken)
	return boot, err
}

// holds reports whether first-boot data have a text in them.
func holds(boot spec.FirstBoot, text string) bool {
	if boot.UserData != nil && strings.Contains(boot.UserData.CloudInit.Content, text) {
		return true
	}
	for _, file := range boot.Files {
		if strings.Contains(file.Content, text) {
			return true
		}
	}
	return false
}

// check says what is wrong with the first-boot data of a class whose machines are made as a sample is; nil: nothing.
func (b *bootData) check(ctx context.Context, class *api.ProxmoxNodeClass, sample func() (m made, known bool)) error {
	if !isDrive(class) {
		return nil
	}
	parts, values, err := b.read(ctx, class.Spec.MetadataOptions)
	if err != nil {
		return err
	}
	what, known := sample()
	size := Grid()[0]
	what.CPUs, what.Memory = size.cpus(), size.memory()
	m, cluster := what.machine(model.Owner{Key: model.Key{Kind: kindNodeClaim, Name: "node"}}, spec.Cluster{}, inPlaceOf(class))
	in := b.values("node", class, what, size, m)
	in.Values = values
	in.Kubernetes.BootstrapToken = "abcdef.0123456789abcdef"
	if m.FirstBoot, err = render(parts, in); err != nil || !known { // which variables there are depends on the interfaces
		return err
	}
	return wrongText(cluster, m)
}

// wrongText says what is wrong with the text of a machine's first-boot data, once it is filled in; nil: nothing. What else is wrong with the machine is said elsewhere.
func wrongText(cluster *spec.Cluster, m spec.Machine) error {
	_, _, err := spec.VM(cluster, m)
	var list spec.Errors
	if !errors.As(err, &list) {
		return nil
	}
	for _, one := range list {
		if strings.HasPrefix(one.Field, "userData") && one.Line > 0 {
			return fmt.Errorf("the template, filled in, isn't valid: %s", wordsOf.Replace((&spec.Error{Field: one.Field, Line: one.Line, Text: one.Text}).Error()))
		}
	}
	return nil
}

// read reads the templates and the values of a class.
func (b *bootData) read(ctx context.Context, o *api.MetadataOptions) (parts, values map[string]string, err error) {
	if o.TemplatesRef == nil || o.TemplatesRef.Name == "" {
		return nil, nil, errors.New("spec.metadataOptions.templatesRef is missing: name the Secret with user-data")
	}
	if parts, err = b.secret(ctx, "templatesRef", *o.TemplatesRef); err != nil {
		return nil, nil, err
	}
	values = map[string]string{}
	if o.ValuesRef != nil && o.ValuesRef.Name != "" {
		values, err = b.secret(ctx, "valuesRef", *o.ValuesRef)
	}
	return parts, values, err
}

func (b *bootData) secret(ctx context.Context, field string, ref api.SecretRef) (map[string]string, error) {
	if ref.Namespace == "" {
		return nil, fmt.Errorf("spec.metadataOptions.%s.namespace is missing", field)
	}
	var s corev1.Secret
	err := b.secrets.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, &s)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("spec.metadataOptions.%s: there is no Secret %s in namespace %s", field, ref.Name, ref.Namespace)
	case err != nil:
		return nil, fmt.Errorf("spec.metadataOptions.%s: read Secret %s/%s: %w", field, ref.Namespace, ref.Name, err)
	}
	all := map[string]string{}
	for key, value := range s.Data {
		all[key] = string(value)
	}
	return all, nil
}

// misspelt is the part that a key of the Secret is meant to be; empty: it is one, or none. Keys that are for somebody else are no reason to refuse it.
func misspelt(key string) string {
	bare := strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(key))
	for _, part := range []string{userData, metaData, networkConfig, vendorData} {
		if key == part {
			return ""
		}
		if letters := strings.ReplaceAll(part, "-", ""); bare == letters || strings.TrimSuffix(bare, "yaml") == letters {
			return part
		}
	}
	return ""
}

// render makes the files of a drive. What it says about mistakes has nothing of the values in it.
func render(parts map[string]string, in bootValues) (spec.FirstBoot, error) {
	done := map[string]string{}
	for _, part := range []string{userData, metaData, networkConfig, vendorData} {
		text := cmp.Or(parts[part], defaultParts[part])
		if text == "" {
			continue
		}
		t, err := template.New(part).Funcs(functions).Option("missingkey=zero").Parse(text)
		if err != nil {
			return spec.FirstBoot{}, fmt.Errorf("the template isn't valid: %s", strings.TrimPrefix(err.Error(), "template: "))
		}
		var out bytes.Buffer
		if err := t.Execute(&out, in.root(part)); err != nil {
			return spec.FirstBoot{}, fmt.Errorf("the template can't be filled in: %s", strings.TrimPrefix(err.Error(), "template: "))
		}
		done[part] = out.String()
	}
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		if meant := misspelt(key); meant != "" {
			return spec.FirstBoot{}, fmt.Errorf("the key %s of the Secret is meant to be %s, as it seems: rename it", key, meant)
		}
	}
	boot := spec.FirstBoot{
		UserData:  &spec.UserData{CloudInit: &spec.CloudInit{Text: spec.Text{Content: done[userData], Secret: true}}},
		Variables: map[string]string{}, Files: map[string]spec.Text{},
	}
	for _, part := range []string{metaData, networkConfig, vendorData} {
		if text, ok := done[part]; ok {
			boot.Files[part] = spec.Text{Content: text, Secret: true}
		}
	}
	return boot, nil
}
