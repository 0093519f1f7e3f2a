package manifest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// little is a machine whose spec may go on.
const little = `apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 1, memory: 1Gi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: img}
spec: {source: "9000"}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: web}
spec:
  classRef: {name: small}
  imageRef: {name: img}
`

// What a namespace can have the operator make of little. The chart gives it 512 MiB for all
// namespaces together.
func TestLittleTextDoesNotTakeMuchMemory(t *testing.T) {
	aliases := "    a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 9; i++ {
		aliases += fmt.Sprintf("        a%d: &a%[1]d [%s]\n", i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	for name, text := range map[string]string{
		"variables":                    "  variables: {a: " + strings.Repeat("x", 20<<10) + "}\n  userData: {cloudInit: {inline: \"#cloud-config\\n" + strings.Repeat("${a}", 10_000) + "\"}}\n",
		"many machines with variables": "  count: 1000\n  variables: {a: " + strings.Repeat("x", 20<<10) + "}\n  userData: {cloudInit: {inline: \"#!/bin/sh\\n" + strings.Repeat("${a}", 40) + "\"}}\n",
		"aliases":                      "  metaData:\n    inline: |\n    " + aliases,
		"an open bracket, many times":  "  count: 200\n  userData:\n    cloudInit:\n      inline: |\n        #cloud-config\n        key: [\n" + strings.Repeat("        - "+strings.Repeat("y", 60)+"\n", 600),
	} {
		t.Run(name, func(t *testing.T) {
			set, err := Parse("vms.yaml", []byte(little+text))
			if err != nil {
				t.Fatal(err)
			}
			env := map[string]string{"PVE_ENDPOINT": "https://pve:8006", "PVE_USERNAME": "root@pam", "PVE_PASSWORD": "x"}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = set.Wanted(Options{Set: "test", Getenv: func(name string) string { return env[name] }})
			runtime.GC()
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Error("it is taken")
			}
			if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 192<<20 {
				t.Errorf("it keeps %d MiB", kept>>20)
			}
			if all := after.TotalAlloc - before.TotalAlloc; all > 2<<30 {
				t.Errorf("it took %d MiB altogether", all>>20)
			}
			if n := strings.Count(fmt.Sprint(err), "\n"); n > 20 {
				t.Errorf("%d lines of errors", n)
			}
		})
	}
}
