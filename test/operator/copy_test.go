package operator_test

import (
	"strings"
	"testing"
)

// A copy stands alone once it is made: its source may become invalid, go, and give its name
// to an image; the copy stays as it is, and ready, though it may be replaced.
func TestACopyStandsAlone(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("golden", "userData: {cloudInit: {inline: \"#cloud-config\\npackage_update: true\\n\"}}"))
	s.apply(`apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClone
metadata: {name: copy}
spec:
  sourceVMRef: {name: golden}
  updatePolicy: {restart: Allow, replace: Allow, removeDisks: Allow}
`)
	s.waitFor("--for=condition=Ready", "vmclone/copy")
	id, drive := s.field("vmclone/copy", ".status.vmid"), s.conf("copy", "ide0")
	if !strings.Contains(drive, ":iso/proxplane-") {
		t.Fatalf("its drive has %s", drive)
	}
	same := func(when string) {
		t.Helper()
		s.kubectl("annotate", "--overwrite", "vmclone", "copy", "when="+strings.ReplaceAll(when, " ", "-"))
		s.waitFor("--for=condition=Ready", "vmclone/copy")
		if s.field("vmclone/copy", ".status.vmid") != id || s.conf("copy", "ide0") != drive || s.field("vmclone/copy", `.status.conditions[?(@.type=="Degraded")].status`) == "True" {
			t.Errorf("%s, the copy is %s with %s: %s", when, s.field("vmclone/copy", ".status.vmid"), s.conf("copy", "ide0"), s.field("vmclone/copy", ".status.conditions"))
		}
	}
	s.kubectl("patch", "vm", "golden", "--type=merge", "-p", `{"spec":{"userData":{"cloudInit":{"inline":null,"secretRef":{"name":"none","key":"x"}}}}}`)
	s.waits("vm/golden", "there is no Secret none")
	same("its source is invalid")
	s.kubectl("delete", "vm", "golden", "--timeout", patience.String())
	same("its source is gone")
	s.apply(`apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: golden}
spec: {source: ubuntu-22-template, os: {bios: uefi, agent: true}}
`)
	s.waitFor("--for=condition=Ready", "vmimage/golden")
	same("an image has the name of its source")
	if m := s.machines(); m != "copy" {
		t.Errorf("there is %s", m)
	}
	if events := s.kubectl("events", "--for", "vmclone/copy"); strings.Contains(events, "remove") || strings.Contains(events, "destroy") {
		t.Errorf("its events are\n%s", events)
	}
}
