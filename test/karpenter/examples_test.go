package karpenter_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// The examples make nodes, with nothing changed but what depends on the cluster.
func TestExamplesMakeNodes(t *testing.T) {
	t.Parallel()
	config, err := clientcmd.BuildConfigFromFlags("", plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(config.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(ca)
	for _, how := range []string{"kubeadm", "k3s", "rke2", "talos"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := begin(t, "example-"+how)
			text, err := os.ReadFile("../../examples/karpenter/" + how + "/nodes.yaml")
			if err != nil {
				t.Fatal(err)
			}
			here := strings.NewReplacer(
				"  name: "+how+"\n", "  name: "+s.name+"\n", "name: "+how+"}", "name: "+s.name+"}", "spec:\n  sourceImage", "spec:\n  region: "+s.name+"\n  sourceImage",
				"spec:\n  instanceTemplateRef", "spec:\n  region: "+s.name+"\n  instanceTemplateRef", strings.Repeat("0", 64), hex.EncodeToString(sum[:]),
			).Replace(string(text))
			here = regexp.MustCompile(`https://api\.example\.com:\d+`).ReplaceAllLiteralString(here, plane.URL)
			s.apply(here)
			s.load(1, "1", true)
			s.awaitReady(1)
			for _, n := range s.nodes() {
				if got := s.fleet.Settings(n.Name).How; got != how {
					t.Errorf("%s joined by %s", n.Name, got)
				}
			}
		})
	}
}
