package providerspec_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clusterv1alpha1 "k8c.io/machine-controller/sdk/apis/cluster/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/machines/providerspec"
	"github.com/proxplane/proxplane/model"
)

// page is the example that belongs to the page of the original.
const page = `
cloudProvider: proxmox
cloudProviderSpec:
  endpoint: https://pve1:8006/api2/json
  userID: machines@pve!controller
  token: {secretKeyRef: {namespace: kube-system, name: machine-controller-proxmox, key: token}}
  allowInsecure: true
  ciStorageName: local
  ciStoragePath: /var/lib/vz
  ciStorageSSHPrivateKey: {secretKeyRef: {namespace: kube-system, name: machine-controller-proxmox, key: sshPrivateKey}}
  vmTemplateID: 9000
  cpuSockets: 2
  cpuCores: 1
  memoryMB: 2048
  diskSizeGB: 20
  diskName: scsi0
operatingSystem: ubuntu
operatingSystemSpec: {distUpgradeOnBoot: false, disableAutoUpdate: true}
`

func raw(t *testing.T, text string) []byte {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// with is the example with some fields of cloudProviderSpec, or of the whole, replaced; null removes one.
func with(t *testing.T, change string) []byte {
	t.Helper()
	var base, more map[string]any
	if err := errors.Join(yaml.Unmarshal([]byte(page), &base), yaml.Unmarshal([]byte(change), &more)); err != nil {
		t.Fatal(err)
	}
	for k, v := range more {
		fields, ok := v.(map[string]any)
		if below, is := base[k].(map[string]any); ok && is {
			for k, v := range fields {
				below[k] = v
			}
			continue
		}
		base[k] = v
	}
	b, err := json.Marshal(base)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var secrets = map[string]map[string]string{
	"Secret kube-system/machine-controller-proxmox": {"token": "0000-1111", "sshPrivateKey": "key", "empty": " "},
	"ConfigMap default/proxmox":                     {"endpoint": "https://pve2:8006", "insecure": "false"},
}

func source(env map[string]string) providerspec.Source {
	return providerspec.Source{
		Read: func(_ context.Context, kind, namespace, name string) (map[string]string, error) {
			if name == "away" {
				return nil, errors.New("the API is away")
			}
			return secrets[kind+" "+namespace+"/"+name], nil
		},
		Getenv: func(name string) string { return env[name] },
	}
}

var want = providerspec.Want{
	Owner: model.Owner{Door: "machines", Set: "k8s", Key: model.Key{Kind: "Machine", Namespace: "kube-system", Name: "md-1"}, UID: "u"}, Name: "md-1", UserData: "#cloud-config\n{}\n",
}

func TestThePagesExampleIsUnderstoodWhole(t *testing.T) {
	v, err := providerspec.Decode(raw(t, page))
	if err != nil {
		t.Fatal(err)
	}
	login, err := v.CloudProviderSpec.Login(t.Context(), source(nil))
	if err != nil {
		t.Fatal(err)
	}
	if got := login.Proxmox; len(got.Endpoints) != 1 || got.Endpoints[0] != "https://pve1:8006" || !got.TLS.Insecure || login.SSH != nil {
		t.Errorf("login %+v", login)
	}
	vm, image, err := v.Machine(want)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"sockets": "2", "memory": "2048"} {
		if vm.Options[key] != want {
			t.Errorf("%s is %q, want %s", key, vm.Options[key], want)
		}
	}
	if len(vm.Disks) != 1 || vm.Disks[0].Size != 20<<30 || image.VMID != 9000 || vm.Seed == nil || vm.Name != "md-1" {
		t.Errorf("disks %v, image %+v, name %s", vm.Disks, image, vm.Name)
	}
}

func TestWrongFieldsAreNamed(t *testing.T) {
	for _, c := range []struct{ reason, change, want string }{
		{"a misspelled field is suggested", "cloudProviderSpec: {memoryMb: 4}", "cloudProviderSpec.memoryMb: is no field; did you mean memoryMB?"},
		{"a misspelled field of the whole", "sshPublicKey: []", "sshPublicKey: is no field; did you mean sshPublicKeys?"},
		{"a field of another provider", "cloudProviderSpec: {instanceType: t3}", "cloudProviderSpec.instanceType: is no field; known are"},
		{"a reference with a wrong key", "cloudProviderSpec: {token: {secretRef: {}}}", "cloudProviderSpec.token.secretRef: is no field; did you mean secretKeyRef?"},
		{"half a reference", "cloudProviderSpec: {token: {secretKeyRef: {name: a, key: b}}}", "token.secretKeyRef.namespace: is missing"},
		{"two sources", "cloudProviderSpec: {token: {value: a, secretKeyRef: {name: a, namespace: ns, key: b}}}", "token: want one of value, secretKeyRef and configMapKeyRef"},
		{"a text for a number", "cloudProviderSpec: {cpuCores: two}", "cpuCores: want a whole number, have a text"},
		{"a fraction", "cloudProviderSpec: {cpuCores: 1.5}", "cpuCores: want a whole number, have 1.5"},
		{"GiB for MiB", "cloudProviderSpec: {memoryMB: 4}", "memoryMB: counts MiB, so that 4 is too little; did you mean 4096?"},
		{"a negative number", "cloudProviderSpec: {diskSizeGB: -1}", "diskSizeGB: want a number"},
		{"no template", "cloudProviderSpec: {vmTemplateID: null}", "vmTemplateID: is missing"},
		{"two templates", "cloudProviderSpec: {template: ubuntu}", "template: is instead of vmTemplateID"},
		{"a VMID that can't be", "cloudProviderSpec: {vmTemplateID: 9}", "vmTemplateID: want a VMID from 100 on"},
		{"another provider", "cloudProvider: aws", `cloudProvider: want proxmox, have "aws"`},
		{"an unknown system", "operatingSystem: ubunto", "operatingSystem: want ubuntu, debian, flatcar, rockylinux or rhel, have \"ubunto\"; did you mean ubuntu?"},
		{"a field of another system", "operatingSystemSpec: {disableLocksmithD: true}", "operatingSystemSpec.disableLocksmithD: is for flatcar"},
		{"no SSH key", "sshPublicKeys: [nonsense]", "sshPublicKeys[0]: want one public key"},
		{"no disk", "cloudProviderSpec: {diskName: disk0}", "diskName: want a disk of the template such as scsi0"},
		{"a gateway alone", "network: {gateway: 10.0.0.1}", "network.cidr: is missing"},
		{"snippets without host keys", "cloudProviderSpec: {delivery: snippets}", "sshHostKeys: is missing"},
		{"a list for fields", "cloudProviderSpec: {placement: []}", "placement: want fields, have a list"},
		{"an empty network", "cloudProviderSpec: {networks: [{vlan: 4}]}", "networks[0].bridge: is missing"},
		{"a VLAN that can't be", "cloudProviderSpec: {networks: [{bridge: vmbr0, vlan: 5000}]}", "networks[0].vlan:"},
		{"a pool without its network", "cloudProviderSpec: {networks: [{bridge: vmbr0, addressPool: {ranges: [10.0.0.5-10.0.0.9]}}]}", "prefix"},
		{"a bad tag", "cloudProviderSpec: {tags: ['a b']}", "cloudProviderSpec.tags"},
		{"a node that can't be", "cloudProviderSpec: {nodes: ['pve 1'], placement: {strategy: spread}}", "nodes[0]"},
		{"a bad strategy", "cloudProviderSpec: {placement: {strategy: random}}", "placement.strategy:"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			v, err := providerspec.Decode(with(t, c.change))
			if err == nil {
				_, _, err = v.Machine(want)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("have %v, want %s", err, c.want)
			}
			var errs providerspec.Errors
			if !errors.As(err, &errs) {
				t.Errorf("%T isn't Errors", err)
			}
		})
	}
}

func TestWhatTheOriginalLackedIsTranslated(t *testing.T) {
	v, err := providerspec.Decode(with(t, `cloudProviderSpec:
  vmTemplateID: null
  template: ubuntu-24
  fullClone: true
  nodes: [pve1, pve2]
  storage: ceph
  networks:
  - {bridge: vmbr1, vlan: 12, addressPool: {ranges: [10.0.0.5-10.0.0.9], prefix: 10.0.0.0/24, gateway: 10.0.0.1}}
  - {name: lan, bridge: vmbr0, address: 192.168.1.5/24, gateway: 192.168.1.1}
  pool: kubernetes
  tags: [k8s]
  ha: {group: all, maxRestart: 2}
  placement: {strategy: spread, maxPerNode: 2, minFreeMemory: 4Gi, antiAffinity: [{key: app, values: [db]}]}
  firewall: {groups: [nodes], policyIn: ACCEPT}
  ca: {configMapKeyRef: {namespace: default, name: proxmox, key: endpoint}}
  allowInsecure: null
  vmidRange: {first: 5000, last: 5999}`))
	if err != nil {
		t.Fatal(err)
	}
	vm, image, err := v.Machine(want)
	if err != nil {
		t.Fatal(err)
	}
	if image.Template != "ubuntu-24" || !vm.Source.Full || len(vm.NICs) != 2 || vm.NICs[0].VLAN != 12 || vm.NICs[0].Bridge != "vmbr1" || len(vm.Leases) != 1 {
		t.Errorf("image %+v, NICs %+v, leases %v", image, vm.NICs, vm.Leases)
	}
	if vm.Pool != "kubernetes" || vm.HA == nil || vm.HA.MaxRestart != 2 || vm.Place.MaxPerNode != 2 || vm.Place.MinFree != 4<<30 || len(vm.Place.Nodes) != 2 || vm.Firewall == nil || vm.Range.First != 5000 {
		t.Errorf("%+v", vm)
	}
}

func TestValuesComeFromSecretsConfigMapsAndVariables(t *testing.T) {
	for _, c := range []struct {
		reason, change string
		env            map[string]string
		want           string // an error; empty: none
		endpoint       string
	}{
		{"from a ConfigMap", "{endpoint: {configMapKeyRef: {namespace: default, name: proxmox, key: endpoint}}, allowInsecure: {configMapKeyRef: {namespace: default, name: proxmox, key: insecure}}}", nil, "", "https://pve2:8006"},
		{"from a variable", "{endpoint: null}", map[string]string{"PM_API_ENDPOINT": "https://pve3:8006"}, "", "https://pve3:8006"},
		{"a field beats the variable", "{}", map[string]string{"PM_API_ENDPOINT": "https://pve3:8006"}, "", "https://pve1:8006"},
		{"as an object with a value", "{endpoint: {value: 'https://pve4:8006'}}", nil, "", "https://pve4:8006"},
		{"nowhere", "{endpoint: null}", nil, "endpoint: is missing: want the URL of Proxmox, such as https://pve1:8006, here or in PM_API_ENDPOINT", ""},
		{"a wrong key of a Secret", "{token: {secretKeyRef: {namespace: kube-system, name: machine-controller-proxmox, key: tokn}}}", nil, `token.secretKeyRef.key: the Secret kube-system/machine-controller-proxmox has no key "tokn"; it has empty, sshPrivateKey, token`, ""},
		{"no such Secret", "{token: {secretKeyRef: {namespace: a, name: b, key: c}}}", nil, "there is no Secret a/b", ""},
		{"an empty key", "{token: {secretKeyRef: {namespace: kube-system, name: machine-controller-proxmox, key: empty}}}", nil, "is empty", ""},
		{"half a token", "{userID: root@pam}", nil, "userID: want USER@REALM!TOKENID", ""},
		{"no truth", "{allowInsecure: maybe}", nil, "allowInsecure: want true or false", ""},
		{"no proxy", "{proxyURL: nonsense}", nil, "proxyURL: want a URL", ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			v, err := providerspec.Decode(with(t, "cloudProviderSpec: "+c.change))
			if err != nil {
				t.Fatal(err)
			}
			login, err := v.CloudProviderSpec.Login(t.Context(), source(c.env))
			switch {
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("have %v, want %s", err, c.want)
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want == "" && login.Proxmox.Endpoints[0] != c.endpoint:
				t.Errorf("endpoints %v", login.Proxmox.Endpoints)
			}
			if err != nil && strings.Contains(err.Error(), "0000-1111") {
				t.Error("a secret is in the error")
			}
		})
	}
}

func TestWhatCannotBeReadIsNoErrorOfTheSpec(t *testing.T) {
	v, err := providerspec.Decode(with(t, "cloudProviderSpec: {token: {secretKeyRef: {namespace: a, name: away, key: c}}}"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = v.CloudProviderSpec.Login(t.Context(), source(nil))
	var notRead *providerspec.NotReadError
	if !errors.As(err, &notRead) {
		t.Errorf("have %T %v", err, err)
	}
}

func TestTheExamplesAreUnderstood(t *testing.T) {
	files, err := filepath.Glob("../../examples/machines/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range strings.SplitSeq(string(text), "\n---\n") {
			var md clusterv1alpha1.MachineDeployment
			if err := yaml.Unmarshal([]byte(doc), &md); err != nil {
				t.Fatal(err)
			}
			if md.Kind != "MachineDeployment" {
				continue
			}
			v, err := providerspec.Decode(md.Spec.Template.Spec.ProviderSpec.Value.Raw)
			if err == nil {
				_, _, err = v.Machine(want)
			}
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}
