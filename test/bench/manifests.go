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
spec: {source: %s}
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

// writeManifests writes a file that wants n machines of the simulator, with addresses from a pool or from DHCP.
func writeManifests(path string, sim *outside.Sim, n int, pooled bool) error {
	var b strings.Builder
	address := ""
	if pooled {
		address = ", staticIP: {fromPool: lan}"
	}
	fmt.Fprintf(&b, head, world.TokenID, world.TokenSecret, sim.URL, sim.Fingerprint, world.Template)
	for i := range n {
		fmt.Fprintf(&b, machine, i+1, address)
	}
	return os.WriteFile(path, []byte(b.String()), 0o600)
}
