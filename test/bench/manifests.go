package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/proxplane/proxplane/test/bench/world"
	"github.com/proxplane/proxplane/test/kit/outside"
)

// head is what all machines have in common.
const head = `apiVersion: v1
kind: Secret
metadata: {name: credentials}
stringData: {token_id: %q, token_secret: %q}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: Provider
metadata: {name: bench}
spec:
  endpoint: %s
  fingerprint: %q
  credentialSecretRef: {name: credentials}
  networks:
    lan:
      bridge: vmbr0
      pool: {prefix: 10.77.0.0/16, ranges: [10.77.1.1-10.77.8.255]}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 2, memory: 1Gi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: linux}
spec: {%s}
`

const machine = `---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: bench-%04d}
spec:
  classRef: {name: small}
  imageRef: {name: linux}
  powerState: On
  networks: [{name: lan%s}]
  disks: [{name: root, size: 10Gi}]
  tags: [bench]
  agent: {waitForAddress: true}
`

// wanted is what a file of manifests wants.
type wanted struct {
	n      int    // machines
	pooled bool   // their addresses are from a pool, not from DHCP
	url    string // of their image; empty: it is the template that each node has
}

// write writes the manifests for a simulator.
func (w wanted) write(path string, sim *outside.Sim) error {
	var b strings.Builder
	address, image := "", "source: "+world.Template
	if w.pooled {
		address = ", staticIP: {fromPool: lan}"
	}
	if w.url != "" {
		image = fmt.Sprintf("url: %q, checksum: %s", w.url, imageSum())
	}
	fmt.Fprintf(&b, head, world.TokenID, world.TokenSecret, sim.URL, sim.Fingerprint, image)
	for i := range w.n {
		fmt.Fprintf(&b, machine, i+1, address)
	}
	return os.WriteFile(path, []byte(b.String()), 0o600)
}
