package guestos

import (
	"encoding/base64"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

func TestKubeconfigsCanBeReadWhateverTheVIPIs(t *testing.T) {
	for _, vip := range []string{"10.0.0.1", "10.0.0.10", "192.168.1.20", "192.168.77.200", "fd00::20"} {
		g := New("lab-cp-0", "id")
		g.Files[releaseFile] = []byte("DISTRIBUTION=rke2\n")
		g.writeKubeFiles(&Kube{VIP: vip}, time.Unix(0, 0))
		var config struct {
			Users []struct{ User map[string]string }
		}
		if err := yaml.Unmarshal(g.Files["/etc/rancher/rke2/rke2.yaml"], &config); err != nil || len(config.Users) != 1 {
			t.Fatalf("%s: %d users, %v", vip, len(config.Users), err)
		}
		for field, text := range config.Users[0].User {
			if _, err := base64.StdEncoding.DecodeString(text); err != nil {
				t.Errorf("%s: %s is %q: %v", vip, field, text, err)
			}
		}
	}
}
