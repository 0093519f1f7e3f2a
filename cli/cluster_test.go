package cli

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/cli/target"
)

func TestProvidersForOneProxmoxShareItsLoad(t *testing.T) {
	l := ownLab(t)
	var text strings.Builder
	for _, name := range []string{"east", "west"} {
		fmt.Fprintf(&text, `---
apiVersion: infra.virtrigaud.io/v1beta1
kind: Provider
metadata: {name: %[1]s}
spec: {type: proxmox, endpoint: %[2]q, credentialSecretRef: {name: creds}}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: %[1]s}
spec:
  providerRef: {name: %[1]s}
  classRef: {name: small}
  disks: [{name: root, size: 1Gi, storage: local-lvm}]
`, name, l.env["PVE_ENDPOINT"])
	}
	text.WriteString("---\napiVersion: infra.virtrigaud.io/v1beta1\nkind: VMClass\nmetadata: {name: small}\nspec: {cpus: 1, memory: 1Gi}\n")
	fmt.Fprintf(&text, "---\napiVersion: v1\nkind: Secret\nmetadata: {name: creds}\nstringData:\n  username: root@pam\n  password: proxplane\n  ca.crt: %q\n", l.env["PVE_CA_BUNDLE"])
	given := &target.Target{Files: []string{l.write("two.yaml", text.String())}}
	list, err := given.Sites(l.ui(strings.NewReader(""), io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 {
		t.Fatalf("%d clusters", len(list))
	}
	for _, c := range list {
		if _, err := c.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if list[0].Client.Load() != list[1].Client.Load() {
		t.Error("each Provider has bounds of its own")
	}
}
