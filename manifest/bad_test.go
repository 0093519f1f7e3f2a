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
