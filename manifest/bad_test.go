package manifest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// machineWith is a machine with lines in its spec.
func machineWith(name, lines string) string {
	return fmt.Sprintf("apiVersion: infra.virtrigaud.io/v1beta1\nkind: VirtualMachine\nmetadata: {name: %s}\nspec:\n  classRef: {name: c}\n%s\n"+
		"---\napiVersion: infra.virtrigaud.io/v1beta1\nkind: VMClass\nmetadata: {name: c}\nspec: {cpus: 1, memory: 1Gi}\n", name, lines)
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
}{
	{"aliases of aliases", func() string { return bomb(12) }},
	{"a merge of aliases of aliases", func() string { return bomb(9) + "apiVersion: v1\nkind: Secret\n<<: [*a8]\n" }},
	{"nested too deep", func() string { return strings.Repeat("[", 5000) }},
	{"a number beyond all bounds", func() string { return machineWith("web", "  vmid: 99999999999999999999999") }},
	{"a negative size", func() string { return machineWith("web", "  disks: [{name: data, size: -5Gi}]") }},
	{"a huge size", func() string { return machineWith("web", "  disks: [{name: data, size: 9999999999999Ti}]") }},
	{"a size that isn't a number", func() string { return machineWith("web", "  disks: [{name: data, size: .nan}]") }},
	{"a name in other letters", func() string { return machineWith("wéb-\u202egnp", "  powerState: On") }},
	{"a name that is a path", func() string { return machineWith("../../etc/passwd", "  powerState: On") }},
	{"a name longer than Proxmox takes", func() string { return machineWith(strings.Repeat("a", 300), "  powerState: On") }},
	{"a storage that is a path", func() string { return machineWith("web", "  disks: [{name: data, size: 1Gi, storage: ../../etc}]") }},
	{"an option with a line break", func() string {
		return machineWith("web", "  extraConfig: {args: \"a\\nhookscript: local:snippets/x\"}")
	}},
	{"a label longer than Proxmox takes", func() string { return machineWith(strings.Repeat("a", 64), "  powerState: On") }},
	{"a name with a line break", func() string { return machineWith(`"web\nname: db"`, "  powerState: On") }},
	{"a size beyond all exponents", func() string { return machineWith("web", "  disks: [{name: data, size: 1e400}]") }},
	{"a size of nothing", func() string { return machineWith("web", "  disks: [{name: data, size: 0}]") }},
	{"too many machines", func() string { return machineWith("web", "  count: 99999999") }},
	{"a negative number of machines", func() string { return machineWith("web", "  count: -1") }},
	{"a negative VMID", func() string { return machineWith("web", "  vmid: -100") }},
	{"a folder outside", func() string {
		return machineWith("web", "  userData: {butane: {inline: \"variant: flatcar\\nversion: 1.1.0\\n\", files: {folder: ../../../etc}}}")
	}},
	{"a share that climbs", func() string {
		return machineWith("web", "  filesystems: [{type: virtiofs, source: /srv/../etc, tag: etc}]")
	}},
	{"a share whose tag is a path", func() string {
		return machineWith("web", "  filesystems: [{type: virtiofs, source: /srv, tag: ../etc}]")
	}},
	{"a hookscript that climbs", func() string { return machineWith("web", "  hookscripts: [\"local:snippets/../../etc/x\"]") }},
	{"a pool that climbs", func() string { return machineWith("web", "  pool: a/../../b//c") }},
	{"a tag with others in it", func() string { return machineWith("web", "  tags: [\"a;b,proxplane\"]") }},
	{"a checksum that is a path", func() string {
		return "apiVersion: infra.virtrigaud.io/v1beta1\nkind: VMImage\nmetadata: {name: x}\nspec: {url: \"https://a.example/x.qcow2\", checksum: \"../x\"}\n"
	}},
	{"an ISO that climbs", func() string {
		return "apiVersion: infra.virtrigaud.io/v1beta1\nkind: VMImage\nmetadata: {name: x}\nspec: {iso: \"local:iso/../../etc/passwd\"}\n"
	}},
	{"a bridge with another option in it", func() string { return machineWith("web", "  networks: [{name: lan, bridge: \"vmbr0,firewall=0\"}]") }},
}

// fileAndLine is how each error begins.
var fileAndLine = regexp.MustCompile(`^bad\.yaml:\d+: `)

func TestBadInputIsRefusedInSentencesWithFileAndLine(t *testing.T) {
	env := map[string]string{"PVE_ENDPOINT": "https://pve", "PVE_TOKEN_ID": "a@b!c", "PVE_TOKEN_SECRET": "d"}
	for _, c := range badInput {
		set, err := Parse("bad.yaml", []byte(c.text()))
		if err == nil {
			_, err = set.Wanted(Options{Set: "bad", Getenv: func(name string) string { return env[name] }})
		}
		if err == nil {
			t.Errorf("%s: it is taken", c.reason)
			continue
		}
		for line := range strings.Lines(err.Error()) {
			if !fileAndLine.MatchString(line) || len(line) > 1000 {
				t.Errorf("%s: %.300s", c.reason, line)
			}
		}
	}
}
