package operator_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/golden"
)

// What differs from time to time.
var (
	spaces  = regexp.MustCompile(`  +`)
	ages    = regexp.MustCompile(`(?m)(^|\s)(\d+m)?\d+s( \(x\d+ over [^)]*\))?(\s|$)`)
	edition = regexp.MustCompile(`Resource Version:\s+\d+`)
	times   = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z`)
	uids    = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	macs    = regexp.MustCompile(`([0-9A-F]{2}:){5}[0-9A-F]{2}`)
	figures = regexp.MustCompile(`\d+ GiB of memory free`)
	digests = regexp.MustCompile(`-[0-9a-f]{12}\.iso`)
)

// clusterNames are what a Kubernetes is called that nobody has named.
var clusterNames = regexp.MustCompile(`\bk8s-[0-9a-f]{8}\b`)

// plain leaves out what differs from time to time.
func (s *story) plain(text string) string {
	for _, name := range strings.Fields(s.kubectl("get", "vm", "-o", "jsonpath={.items[*].status.vmid}")) {
		text = strings.ReplaceAll(text, name, "VMID")
	}
	text = ages.ReplaceAllString(text, "${1}AGE$4")
	text = edition.ReplaceAllString(text, "Resource Version: N")
	text = times.ReplaceAllString(text, "TIME")
	text = uids.ReplaceAllString(text, "UID")
	text = macs.ReplaceAllString(text, "MAC")
	text = figures.ReplaceAllString(text, "N GiB of memory free")
	text = digests.ReplaceAllString(text, "-DIGEST.iso")
	text = clusterNames.ReplaceAllString(text, "k8s-ID")
	text = strings.ReplaceAll(text, s.namespace, "NAMESPACE")
	text = strings.ReplaceAll(text, s.pve.Endpoint, "https://ENDPOINT")
	var lines []string
	for line := range strings.Lines(text) {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		lines = append(lines, indent+spaces.ReplaceAllString(strings.TrimSpace(line), "  "))
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestKubectlShowsWhatPeopleWantToKnow(t *testing.T) {
	t.Parallel()
	s := beginAlone(t, func(w *pvesim.World) { w.Nodes = w.Nodes[:1] })
	s.apply(machine("web"))
	s.waitFor("--for=condition=Ready", "vm/web")
	s.apply(strings.NewReplacer("small", "huge", "memory: 2Gi", "memory: 4096Gi").Replace(machine("huge")))
	s.apply(strings.ReplaceAll(machine("lost"), "classRef: {name: small}", "classRef: {name: smal}"))
	s.apply(`apiVersion: infra.virtrigaud.io/v1beta1
kind: VMSnapshot
metadata: {name: before-upgrade}
spec: {vmRef: {name: web}, description: just in case}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMClone
metadata: {name: copy}
spec: {sourceVMRef: {name: web}, powerState: Off}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMPlacementPolicy
metadata: {name: anywhere}
spec: {}
`)
	s.waitFor("--for=condition=Ready", "vmsnapshot/before-upgrade", "vmclone/copy", "vmplacementpolicy/anywhere")
	s.waits("vm/huge", "no node can take it")
	s.waits("vm/lost", "did you mean small")
	s.kubectl("delete", "vmclone", "copy", "--timeout", patience.String())
	s.waitFor("--for=jsonpath={.status.machines}=2", "provider/proxmox")
	s.waitFor("--for=jsonpath={.status.machines}=1", "vmclass/small")
	for _, args := range []string{"get vm", "get vm -o wide", "get virtrigaud", "describe vm web"} {
		name := "kubectl-" + strings.NewReplacer(" -o ", "-", " ", "-").Replace(args) + ".txt"
		golden.Compare(t, name, "$ kubectl "+args+"\n"+s.plain(s.kubectl(strings.Fields(args)...)))
	}
}

// The blocks of the page that the API comes from are taken as they are. Those that
// are about something else, and those that are only parts of an object, aren't.
func TestKubectlTakesTheBlocksOfThePage(t *testing.T) {
	t.Parallel()
	s := begin(t)
	page, err := txtar.ParseFile("../../examples/testdata/page-blocks.txtar")
	if err != nil {
		t.Fatal(err)
	}
	applied := 0
	for _, block := range page.Files {
		if !strings.Contains(string(block.Data), "infra.virtrigaud.io/v1beta1") {
			continue
		}
		if strings.Contains(string(block.Data), "kind: VMSnapshot") {
			s.kubectl("delete", "vmsnapshot", "--all") // the page has one twice, and what one says can't change
		}
		if out, err := s.try(string(block.Data), "apply", "-f", "-"); err != nil {
			t.Errorf("%s: %v\n%s\n%s", block.Name, err, out, block.Data)
		}
		applied++
	}
	if applied < 12 {
		t.Errorf("only %d blocks were applied", applied)
	}
	if power := s.field("vm/web-server", ".spec.powerState"); power != "true" && power != "On" {
		t.Errorf("powerState is %s", power)
	}
}

// What can't be is refused when it is applied, in words that say what to do.
func TestTheAPIServerRefusesWhatCantBe(t *testing.T) {
	t.Parallel()
	s := begin(t)
	vm := func(spec string) string {
		return "apiVersion: infra.virtrigaud.io/v1beta1\nkind: VirtualMachine\nmetadata: {name: x}\nspec: {classRef: {name: small}, " + spec + "}\n"
	}
	other := func(kind, spec string) string {
		return "apiVersion: infra.virtrigaud.io/v1beta1\nkind: " + kind + "\nmetadata: {name: x}\nspec: {" + spec + "}\n"
	}
	for _, c := range []struct{ manifest, want string }{
		{vm("powerState: Standby"), `spec.powerState: Unsupported value: "Standby": supported values: "On", "Off", "OffGraceful"`},
		{vm("disks: [{name: data}]"), "size is missing: only root may leave it out"},
		{vm("disks: [{name: root, bus: scsi}]"), "root is where the image has it"},
		{vm("networks: [{name: lan, mac: 'ff:ff:ff:ff:ff:ff'}]"), "want a MAC address of one machine such as 02:00:00:aa:bb:cc"},
		{vm("networks: [{name: lan, staticIP: {address: 10.0.0.1}}]"), "want an address with its prefix length, such as 192.168.1.100/24"},
		{vm("networks: [{name: lan, staticIP: {}}]"), "address is missing: give one with its prefix length"},
		{vm("networks: [{name: lan, vlan: 5000}]"), "should be less than or equal to 4094"},
		{vm("name: under_score"), "want a host name of letters, digits, - and ."},
		{vm("userData: {cloudInit: {inline: x, secretRef: {name: other}}}"), "exactly one of them"},
		{vm("agent: {enabled: false, waitForAddress: true}"), "nobody tells an address without the agent"},
		{vm("colour: blue"), `unknown field "spec.colour"`},
		{other("VMClass", "cpus: 2, memory: 4"), "a number without a unit counts bytes, so write 4Gi or 512Mi"},
		{other("VMClass", "cpus: 2, memory: 4GB"), "want at least 16Mi of memory"},
		{other("VMClass", "cpus: 2, memory: 4Gi, minMemory: 8Gi"), "minMemory is more than memory"},
		{other("VMPlacementPolicy", "constraints: {minFreeMemory: 4}"), "want an amount of memory such as 4Gi"},
		{vm("disks: [{name: root, size: 40}]"), "want a size such as 40Gi: a number without a unit counts bytes"},
		{vm("imageRef: {name: ''}"), "spec.imageRef.name in body should be at least 1 chars long"},
		{other("VMClass", "cpus: 4, maxCPUs: 2, memory: 4Gi"), "maxCPUs is less than cpus"},
		{other("VMClass", "cpus: 3, sockets: 2, memory: 4Gi"), "choose a number that divides them"},
		{other("VMClass", "cpus: 3, memory: 4Gi, spec: {secureBoot: true}"), "secureBoot needs bios: uefi"},
		{other("VMImage", "source: a, url: 'https://x/y.qcow2'"), "give exactly one of them"},
		{other("VMImage", "url: 'https://x/y.iso'"), "put it on a storage and name it in spec.iso"},
		{other("VMImage", "source: a, checksum: abc"), "checksum is for images with a url"},
		{other("VMPlacementPolicy", "antiAffinity: [{key: a, operator: In}]"), "values belong to In and NotIn"},
		{other("Provider", "endpoint: 'https://me:secret@pve:8006'"), "without a login in it"},
		{other("Provider", "vmidRange: {first: 200, last: 100}"), "first is more than last: swap them"},
		{other("VMSnapshot", "description: x"), "spec.vmRef: Required value"},
	} {
		out, err := s.try(c.manifest, "apply", "-f", "-")
		if err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s\n%v: %s\nwant %s", c.manifest, err, out, c.want)
		}
	}
	s.apply(other("VMSnapshot", "vmRef: {name: a}"))
	if out, err := s.try(other("VMSnapshot", "vmRef: {name: b}"), "apply", "-f", "-"); err == nil || !strings.Contains(out, "make a new VMSnapshot for another one") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestTheCRDsSayWhatFieldsMean(t *testing.T) {
	t.Parallel()
	s := begin(t)
	for field, want := range map[string]string{
		"vm.spec.networks.staticIP.address": "192.168.1.100/24",
		"vmclass.spec.memory":               "rounded up to whole MiB",
		"vm.status.waiting":                 "in one sentence",
	} {
		if out := strings.Join(strings.Fields(s.kubectl("explain", field)), " "); !strings.Contains(out, want) {
			t.Errorf("%s: %s", field, out)
		}
	}
	files, err := filepath.Glob("../../deploy/crds/*.yaml")
	if err != nil || len(files) != 7 {
		t.Fatalf("%d CRDs, %v", len(files), err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"      status: {}\n", "- virtrigaud", "additionalPrinterColumns:"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s has no %q", f, want)
			}
		}
	}
}

// What can't be so is refused when it is written.
func TestWhatCantBeSoIsRefused(t *testing.T) {
	t.Parallel()
	s := beginAlone(t)
	s.apply(machine("web") + snapshot)
	s.waitFor("--for=condition=Ready", "vmsnapshot/before")
	for patch, want := range map[string]string{
		`{"spec":{"includeMemory":true}}`:    "includeMemory is decided when the snapshot is taken",
		`{"spec":{"description":"changed"}}`: "the description is written when the snapshot is taken",
	} {
		if out, err := s.try("", "patch", "vmsnapshot", "before", "--type=merge", "-p", patch); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v: %s", patch, err, out)
		}
	}
	s.kubectl("patch", "vmsnapshot", "before", "--type=merge", "-p", `{"spec":{"includeMemory":false,"description":""}}`)
	for _, size := range []string{"-5Gi", "-1Gi", "0", `"-1"`, `"0"`, "0Gi", "0.0Gi", `"+0"`, "00Gi", `" -5"`, `"-0.5Gi"`} {
		if out, err := s.try(machine("small-disk", "disks: [{name: root}, {name: data, size: "+size+"}]"), "apply", "-f", "-"); err == nil || !strings.Contains(out, "want a size") && !strings.Contains(out, "quantities must match") && !strings.Contains(out, "should match") {
			t.Errorf("size %s: %v: %s", size, err, out)
		}
	}
	for _, memory := range []string{"-1Gi", "0", "0Gi", `" -5"`} {
		class := strings.Replace(machine("small-class"), "memory: 2Gi", "memory: "+memory, 1)
		if out, err := s.try(class, "apply", "-f", "-"); err == nil {
			t.Errorf("memory %s: %s", memory, out)
		}
	}
}
