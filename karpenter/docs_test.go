package karpenter

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/spec"
)

// Every object in the page is one that Kubernetes takes, and every template there can be filled in.
func TestThePageHasWhatItSays(t *testing.T) {
	text, err := os.ReadFile("../docs/karpenter.md")
	if err != nil {
		t.Fatal(err)
	}
	objects, templates := 0, 0
	for _, block := range blocks(string(text), "yaml") {
		for part := range strings.SplitSeq(block, "\n---\n") {
			o, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(part), nil, nil)
			if err != nil {
				t.Errorf("%v in\n%s", err, part)
				continue
			}
			objects++
			s, ok := o.(*corev1.Secret)
			if !ok || s.StringData[userData] == "" {
				continue
			}
			templates++
			b := &bootData{version: "v1.37.1"}
			in := b.values("node-1", class("ProxmoxTemplate"), made{Region: "lab", Zone: "pve1", Size: "c1.2VCPU-4GB"}, Grid()[0], spec.Machine{})
			in.Values = map[string]string{"token": "secret"}
			out, err := render(s.StringData, in)
			if err != nil {
				t.Errorf("%s: %v", s.Name, err)
				continue
			}
			var parsed map[string]any
			if err := yaml.Unmarshal([]byte(out.UserData.CloudInit.Content), &parsed); err != nil {
				t.Errorf("%s: %v in\n%s", s.Name, err, out.UserData.CloudInit.Content)
			}
		}
	}
	if objects < 8 || templates != 3 {
		t.Errorf("there are %d objects and %d templates", objects, templates)
	}
	for _, block := range blocks(string(text), "json") {
		if _, err := parseSizes([]byte(block)); err == nil {
			continue
		}
		if _, err := parseNodeSettings([]byte(block)); err != nil {
			t.Errorf("it is neither instance types nor settings of nodes: %v", err)
		}
	}
}

// blocks are the blocks of a language in a page.
func blocks(page, language string) (all []string) {
	for _, part := range strings.Split(page, "```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		all = append(all, block)
	}
	return all
}

func TestTheClustersOfTheOriginalAreRead(t *testing.T) {
	const text = `
clusters:
  - url: https://pve1.example.com:8006/api2/json
    insecure: false
    token_id: "kubernetes@pve!karpenter"
    token_secret: "secret"
    region: Region-1
  - url: https://pve2.example.com:8006/api2/json
    token_id_file: /id
    token_secret_file: /secret
    region: Region-2
  - url: https://pve3.example.com:8006
    region: Region-3
`
	read := func(name string) ([]byte, error) {
		return map[string][]byte{"/id": []byte("k@pve!a\n"), "/secret": []byte("s\n")}[name], nil
	}
	list, err := parseClusters([]byte(text), "Secret regions", read)
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	if got := list[0].connection.Endpoints[0]; got != "https://pve1.example.com:8006" || list[0].wrong != "" || list[0].connection.Credentials.IsZero() {
		t.Errorf("%q, %q", got, list[0].wrong)
	}
	if list[1].wrong != "" || list[1].connection.Credentials.IsZero() {
		t.Errorf("token files alone aren't enough: %q", list[1].wrong)
	}
	if !strings.Contains(list[2].wrong, "token_id") {
		t.Errorf("a cluster without a login is taken: %q", list[2].wrong)
	}
}
