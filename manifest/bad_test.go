package manifest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/proxplane/proxplane/spec/suggest"
)

// machineWith is a machine with lines in its spec.
func machineWith(name, lines string) string {
	return fmt.Sprintf("apiVersion: infra.virtrigaud.io/v1beta1\nkind: VirtualMachine\nmetadata: {name: %s}\nspec:\n  classRef: {name: c}\n  imageRef: {name: i}\n%s\n"+
		"---\napiVersion: infra.virtrigaud.io/v1beta1\nkind: VMClass\nmetadata: {name: c}\nspec: {cpus: 1, memory: 1Gi}\n"+
		"---\napiVersion: infra.virtrigaud.io/v1beta1\nkind: VMImage\nmetadata: {name: i}\nspec: {source: ubuntu}\n", name, lines)
}

// bomb is a text that grows tenfold with each of its lines.
func bomb(lines int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < lines; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return b.String()
}

// badInput is what nobody should be able to do harm with.
var badInput = []struct {
	reason string
	text   func() string
	want   string // in what is said
}{
	{"aliases of aliases", func() string { return bomb(12) }, "aliases of aliases"},
	{"a merge of aliases of aliases", func() string { return bomb(9) + "apiVersion: v1\nkind: Secret\n<<: [*a8]\n" }, "aliases of aliases"},
	{"nested too deep", func() string { return strings.Repeat("[", 5000) }, "this isn't YAML"},
	{"a number beyond all bounds", func() string { return machineWith("web", "  vmid: 99999999999999999999999") }, "spec.vmid: want a whole number"},
	{"a negative size", func() string { return machineWith("web", "  disks: [{name: data, size: -5Gi}]") }, "spec.disks[0].size: want at least 16Ki, have -5Gi"},
	{"a huge size", func() string { return machineWith("web", "  disks: [{name: data, size: 9999999999999Ti}]") }, "spec.disks[0].size: want at most 1Ei"},
	{"a size that isn't a number", func() string { return machineWith("web", "  disks: [{name: data, size: .nan}]") }, "spec.disks[0].size: want an amount"},
	{"a name in other letters", func() string { return machineWith("wéb-\u202egnp", "  powerState: On") }, "metadata.name: want lower-case letters"},
	{"a name that is a path", func() string { return machineWith("../../etc/passwd", "  powerState: On") }, "metadata.name: want lower-case letters"},
	{"a name longer than Proxmox takes", func() string { return machineWith(strings.Repeat("a", 300), "  powerState: On") }, "metadata.name: want a host name"},
	{"a storage that is a path", func() string { return machineWith("web", "  disks: [{name: data, size: 1Gi, storage: ../../etc}]") }, "spec.disks[0].storage: want the name of a storage"},
	{"an option with a line break", func() string {
		return machineWith("web", "  extraConfig: {args: \"a\\nhookscript: local:snippets/x\"}")
	}, "spec.extraConfig.args: has line breaks"},
	{"a label longer than Proxmox takes", func() string { return machineWith(strings.Repeat("a", 64), "  powerState: On") }, "with at most 63 of them between dots"},
	{"a name with a line break", func() string { return machineWith(`"web\nname: db"`, "  powerState: On") }, "metadata.name: want lower-case letters"},
	{"a size beyond all exponents", func() string { return machineWith("web", "  disks: [{name: data, size: 1e400}]") }, "spec.disks[0].size: want at most 1Ei"},
	{"an amount that can't be counted", func() string { return machineWith("web", "  disks: [{name: root, size: 99999Pi, storage: nfs}]") }, "spec.disks[0].size: want at most 1Ei, have more than can be counted"},
	{"no CPUs at all", func() string {
		return "apiVersion: infra.virtrigaud.io/v1beta1\nkind: VMClass\nmetadata: {name: x}\nspec: {cpus: 0, memory: 1Gi}\n"
	}, "spec.cpus: want a number from 1 to 4096, have 0"},
	{"a tab", func() string {
		return "apiVersion: infra.virtrigaud.io/v1beta1\nkind: VMClass\nmetadata:\n\tname: x\n"
	}, "the line is indented with a tab, and YAML takes spaces only"},
	{"a size of nothing", func() string { return machineWith("web", "  disks: [{name: data, size: 0}]") }, "spec.disks[0].size: want at least 16Ki, have 0"},
	{"too many machines", func() string { return machineWith("web", "  count: 99999999") }, "spec.count: want a number from 0 to 1000"},
	{"a negative number of machines", func() string { return machineWith("web", "  count: -1") }, "spec.count: want a number from 0 to 1000"},
	{"a negative VMID", func() string { return machineWith("web", "  vmid: -100") }, "spec.vmid: want a number from 100"},
	{"a share that climbs", func() string {
		return machineWith("web", "  filesystems: [{type: virtiofs, source: /srv/../etc, tag: etc}]")
	}, "spec.filesystems[0].source: want a directory"},
	{"a share whose tag is a path", func() string {
		return machineWith("web", "  filesystems: [{type: virtiofs, source: /srv, tag: ../etc}]")
	}, "spec.filesystems[0].tag: want 2 to 31 letters"},
	{"a hookscript that climbs", func() string { return machineWith("web", "  hookscripts: [\"local:snippets/../../etc/x\"]") }, "spec.hookscripts[0]: want a volume"},
	{"a pool that climbs", func() string { return machineWith("web", "  pool: a/../../b//c") }, "spec.pool: want the name of a pool"},
	{"a tag with others in it", func() string { return machineWith("web", "  tags: [\"a;b,proxplane\"]") }, "spec.tags[0]: invalid tag"},
	{"a checksum that is a path", func() string {
		return "apiVersion: infra.virtrigaud.io/v1beta1\nkind: VMImage\nmetadata: {name: x}\nspec: {url: \"https://a.example/x.qcow2\", checksum: \"../x\"}\n"
	}, "spec.checksum: its 4 digits"},
	{"an ISO that climbs", func() string {
		return "apiVersion: infra.virtrigaud.io/v1beta1\nkind: VMImage\nmetadata: {name: x}\nspec: {iso: \"local:iso/../../etc/passwd\"}\n"
	}, "spec.iso: want the name of an ISO"},
	{"a bridge with another option in it", func() string { return machineWith("web", "  networks: [{name: lan, bridge: \"vmbr0,firewall=0\"}]") }, "spec.networks[0].bridge: want the name of a bridge"},
}

// fileAndLine is how each error begins.
var fileAndLine = regexp.MustCompile(`^bad\.yaml:\d+: `)

// What is bad about them is what was made so: without that, they are good.
func TestTheSameWithoutAnythingBadIsTaken(t *testing.T) {
	set, err := Parse("good.yaml", []byte(machineWith("web", "  powerState: On")))
	if err == nil {
		_, err = set.Wanted(env(login))
	}
	if err != nil {
		t.Error(err)
	}
}

func TestBadInputIsRefusedInSentencesWithFileAndLine(t *testing.T) {
	for _, c := range badInput {
		set, err := Parse("bad.yaml", []byte(c.text()))
		if err == nil {
			_, err = set.Wanted(env(login))
		}
		if err == nil {
			t.Errorf("%s: it is taken", c.reason)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want %q, have %.300v", c.reason, c.want, err)
		}
		for line := range strings.Lines(err.Error()) {
			if !fileAndLine.MatchString(line) || len(line) > 1000 {
				t.Errorf("%s: %.300s", c.reason, line)
			}
		}
	}
}

func TestErrorsCutNoLetterInTwo(t *testing.T) {
	for n := range 4 {
		if short := suggest.Shortened(strings.Repeat("x", n) + strings.Repeat("€", 30)); !utf8.ValidString(short) || !strings.HasSuffix(short, "€…") {
			t.Errorf("%q", short)
		}
	}
}
