package manifest

import (
	"fmt"
	"strings"
	"testing"
)

func TestUserDataIsWithinWhatProxmoxTakes(t *testing.T) {
	const head = `apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 1, memory: 512Mi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: web}
spec:
  classRef: {name: small}
  disks: [{name: root, size: 1Gi, storage: lvm}]
  userData:
    delivery: %s
    cloudInit: {inline: "%s"}
`
	script := func(size int) string { return `#!/bin/sh\n` + strings.Repeat("x", size) }
	keys := func(n int) string {
		const key = `- ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPm4rM4P9lUu3RS4zUwVWKUVY3m7nPuHqL0TyZ0bH8pI\n`
		return `#cloud-config\nssh_authorized_keys:\n` + strings.Repeat(key, n)
	}
	for _, c := range []struct{ delivery, text, want string }{
		{"iso", script(2 << 20), ""},
		{"iso", script(17 << 20), "user-data has 17825802 bytes, more than the 16777216 that fit on a drive"},
		{"snippets", script(2 << 20), "user-data has 2097162 bytes, and Proxmox reads at most 1048576 of a snippet; delivery: iso takes more"},
		{"proxmox", keys(1000), ""},
		{"proxmox", keys(10_000), "bytes on their way to Proxmox, mostly sshkeys, and it takes at most 458752; delivery: iso takes more"},
	} {
		set, err := Parse("vms.yaml", fmt.Appendf(nil, head, c.delivery, c.text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = set.Wanted(Options{Getenv: func(name string) string {
			return map[string]string{"PVE_ENDPOINT": "https://pve:8006", "PVE_TOKEN_ID": "me@pve!x", "PVE_TOKEN_SECRET": "y"}[name]
		}})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d bytes by %s: %v, want %q", len(c.text), c.delivery, err, c.want)
		}
	}
}
