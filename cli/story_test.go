package cli

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/status"
)

// shop are manifests of two machines from the simulator's template.
const shop = `
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClass
metadata: {name: small}
spec: {cpus: 2, memory: 4Gi}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: ubuntu}
spec: {source: ubuntu-22-template}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: web-1}
spec:
  classRef: {name: small}
  imageRef: {name: ubuntu}
  networks: [{name: lan}]
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: web-2}
spec:
  classRef: {name: small}
  imageRef: {name: ubuntu}
  networks: [{name: lan}]
`

func TestManifestsArePlannedAppliedAndDeleted(t *testing.T) {
	l := ownLab(t)
	file := l.write("shop.yaml", shop)

	code, out, _ := l.run("plan", "-f", file, "--detailed-exitcode")
	if code != ui.ExitChanges {
		t.Errorf("plan: exit %d", code)
	}
	wantText(t, out, `^\+ vm/web-1 `, `\+ start it`, `^Plan: 2 to make, 1 up to date\.$`)

	out = l.must("apply", "-f", file)
	wantText(t, out, `^✓ vm/web-1  ready`, `^NAME +STATE +NODE +VMID +IP +READY +MESSAGE$`, `^web-1 +running +pve\d +\d+ +192\.168\.77\.\d+ +yes`, `^Done: 3 objects up to date`)

	out = l.must("apply", "-f", file)
	wantText(t, out, `^Nothing to do: 3 objects up to date\.$`)
	l.must("plan", "-f", file, "--detailed-exitcode", "--deep")

	code, out, stderr := l.run("delete", "-f", file)
	if code != ui.ExitFailed {
		t.Errorf("delete without a yes: exit %d", code)
	}
	wantText(t, out, `- destroy VM`)
	wantText(t, stderr, `there is no terminal to confirm on`, `add --yes`)
	l.must("delete", "-f", file, "--yes")
	if out := l.must("get", "vms", "-o", "json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("left behind: %s", out)
	}
}

// The table at the end is about all machines, also those that nothing was done to.
func TestTheTableAtTheEndHasAllAddresses(t *testing.T) {
	l := ownLab(t)
	file := l.write("shop.yaml", shop)
	l.must("apply", "-f", file)
	more := l.write("more.yaml", shop+strings.Replace(shop[strings.LastIndex(shop, "---"):], "web-2", "web-3", 1))
	wantText(t, l.must("apply", "-f", more), `^web-1 +running +pve\d +\d+ +192\.168\.77\.\d+ +yes`, `^web-3 +running +pve\d +\d+ +192\.168\.77\.\d+ +yes`)
	large := l.write("large.yaml", strings.Replace(shop, "cpus: 2", "cpus: 99", 1))
	_, out, _ := l.run("apply", "-f", large)
	wantText(t, out, `^web-1 +running +pve\d +\d+ +192\.168\.77\.\d+ +no +blocked`)
}

func TestTheSizeOfAMachineIsThatOfAllItsDisks(t *testing.T) {
	l := ownLab(t)
	l.must("apply", "-f", l.write("desks.yaml", strings.Replace(desks, "disks: [", "powerState: Off\n  disks: [{name: data, size: 3Gi, storage: nfs}, ", 1)))
	wantText(t, l.must("get", "vms"), `^desk-1 +stopped .* 7 GiB `)
}

func TestEventsAreLinesOfJSON(t *testing.T) {
	l := ownLab(t)
	out := l.must("apply", "-f", l.write("shop.yaml", shop), "-o", "json")
	types := map[string]int{}
	var last map[string]any
	scanner := bufio.NewScanner(strings.NewReader(out))
	for scanner.Scan() {
		last = nil
		if err := json.Unmarshal(scanner.Bytes(), &last); err != nil {
			t.Fatalf("%v: %s", err, scanner.Text())
		}
		types[last["type"].(string)]++
	}
	if types["plan"] != 1 || types["summary"] != 1 || types["event"] < 8 || last["converged"] != true {
		t.Errorf("got %v, at last %v", types, last)
	}
}

func TestMachinesAreListedAndDescribed(t *testing.T) {
	l := ownLab(t)
	file := l.write("shop.yaml", shop)
	l.must("apply", "-f", file)
	wantText(t, l.must("get", "vms"), `^NAME +STATE +NODE +VMID +CPUS +MEMORY +DISK +OURS$`, `^web-1 +running .* yes$`)
	wantText(t, l.must("get", "vms", "-o", "wide"), `192\.168\.77`)
	wantText(t, l.must("get", "vms", "-f", file), `^web-2 .* yes +up to date$`)
	wantText(t, l.must("get", "images"), `^ubuntu-22-template +template +pve1 +9000`)
	wantText(t, l.must("get", "nodes"), `^pve3 +online`)
	wantText(t, l.must("get", "storages"), `^nfs +nfs +pve1,pve2,pve3`)
	wantText(t, l.must("get", "tasks", "web-1"), `qmstart`)
	wantText(t, l.must("describe", "vm/web-1", "-f", file), `^State: +running$`, `^  Ready +True +UpToDate`, `^Last tasks:$`, `net0 +virtio`)
	wantText(t, l.must("describe", "node/pve1"), `bridges vmbr0`)
	wantText(t, l.must("describe", "image/ubuntu-22-template"), `^State: +template$`)
	var list []status.VM
	if err := json.Unmarshal([]byte(l.must("get", "vms", "web-1", "-o", "json")), &list); err != nil || len(list) != 1 || !list[0].Ours {
		t.Errorf("got %+v, %v", list, err)
	}
	wantText(t, l.must("console", "web-1"), `^https://127\.0\.0\.1:\d+/\?console=kvm&node=pve\d&novnc=1&resize=scale&vmid=\d+&vmname=web-1$`)
	_, _, stderr := l.run("get", "vms", "wbe-1")
	wantText(t, stderr, `no VM is named "wbe-1"`, `Did you mean web-1\?`)
}

func TestMachinesAreWorkedOnByHand(t *testing.T) {
	l := ownLab(t)
	wantText(t, l.must("clone", "ubuntu-22-template", "one", "--start"), `^one +running`)
	again := l.must("clone", "ubuntu-22-template", "one")
	wantText(t, again, `^Nothing to do: vm/one is VM \d+ on pve\d already\.$`)
	l.must("wait", "vm/one", "--for", "ready")
	wantText(t, l.must("wait", "vm/one", "--for", "address"), `192\.168\.77`)
	wantText(t, l.must("snapshot", "create", "one", "clean", "--memory", "--description", "new"), `✓ vm/one +take snapshot clean`)
	wantText(t, l.must("snapshot", "list", "one"), `^one +\d+ +clean +\S+ +yes +- +new$`)
	wantText(t, l.must("describe", "snapshot/one/clean"), `^Memory: +with the memory$`)
	code, _, stderr := l.run("snapshot", "revert", "one", "clean")
	if code != ui.ExitFailed {
		t.Errorf("revert without a yes: exit %d", code)
	}
	wantText(t, stderr, "add --yes")
	l.must("snapshot", "revert", "one", "clean", "--yes")
	l.must("snapshot", "delete", "one", "clean", "--yes")
	_, _, stderr = l.run("snapshot", "delete", "one", "clean", "--yes")
	wantText(t, stderr, `has no snapshot "clean"; it has none`)
	wantText(t, l.must("power", "shutdown", "one"), `✓ vm/one +stopped`)
	l.must("wait", "vm/one", "--for", "off")
	l.must("power", "on", "one")
	l.must("power", "reboot", "one")
	l.must("power", "off", "one")
	code, _, stderr = l.run("wait", "vm/one", "--for", "ready", "--timeout", "700ms")
	if code != ui.ExitFailed {
		t.Errorf("wait: exit %d", code)
	}
	wantText(t, stderr, `not ready after 700ms`)
	_, _, stderr = l.run("delete", "vm/9000", "--yes")
	wantText(t, stderr, `isn't proxplane's`)
	l.must("delete", "vm/one", "--yes")
	l.must("wait", "vm/one", "--for", "gone")
}

func TestPruneNeedsTheNameOfItsSet(t *testing.T) {
	l := ownLab(t)
	file := l.write("shop.yaml", shop)
	l.must("apply", "-f", file, "--set", "shop")
	less := l.write("less.yaml", strings.ReplaceAll(strings.Split(shop, "---\napiVersion: infra.virtrigaud.io/v1beta1\nkind: VirtualMachine\nmetadata: {name: web-2}")[0], "\r", ""))
	_, _, stderr := l.run("apply", "-f", less, "--prune", "--yes")
	wantText(t, stderr, `the set must be named`, `--set`)
	l.must("apply", "-f", less, "--prune", "--set", "shop", "--yes")
	if out := l.must("get", "vms"); strings.Contains(out, "web-2") {
		t.Errorf("web-2 is still there:\n%s", out)
	}
}
