package hookblock

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/model"
)

// module is a description as the Terraform module for Flatcar writes it.
const module = "web servers\n\nA VM provisioned with Terraform from template flatcar on 2023-11-19T03:04:05Z\n\n## Configuration\n\n" + "```" + `
hook-script: local:snippets/cloudinit-to-ignition
cloud-init: local:iso/tf-web-1.iso
hook-script: local:snippets/virtiofsd.pl
virtiofs: --path "/srv/web data" --socket /run/virtiofs/vm101-fs0
virtiofs: --path "/srv/logs" --socket /run/virtiofs/vm101-fs1
` + "```\n"

func TestTheModulesOwnBlockIsReadUnchanged(t *testing.T) {
	want := Block{
		CloudInit:   "local:iso/tf-web-1.iso",
		HookScripts: []string{"local:snippets/cloudinit-to-ignition", "local:snippets/virtiofsd.pl"},
		Shares: []Share{
			{Path: "/srv/web data", Socket: "/run/virtiofs/vm101-fs0"},
			{Path: "/srv/logs", Socket: "/run/virtiofs/vm101-fs1"},
		},
	}
	for name, text := range map[string]string{
		"as it is":          module,
		"with CRLF":         strings.ReplaceAll(module, "\n", "\r\n"),
		"with our marker":   model.Describe(module, model.Marker{VMID: 101}),
		"without a newline": strings.TrimRight(module, "\n"),
	} {
		got, rest, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if strings.Contains(rest, "virtiofs") || !strings.HasPrefix(rest, "web servers\n") {
			t.Errorf("%s: the rest is %q", name, rest)
		}
	}
}

func TestBlocksStandBesideTheMarker(t *testing.T) {
	block := Block{
		CloudInit: "local:iso/seed.iso",
		Shares: []Share{
			{Path: `/srv/a "b" \c, d`, Socket: Socket(100, 0), Cache: "never", DirectIO: true, ReadOnly: true, XAttr: true, ACL: true},
			{Path: "/srv/Müller", Socket: Socket(100, 1)},
		},
		HookScripts: []string{"nfs:snippets/a.sh", "local:snippets/b"},
		Other:       []string{"notify: ops"},
	}
	if err := block.Check(); err != nil {
		t.Fatal(err)
	}
	marker := model.Marker{Owner: model.Owner{Door: "cli", Key: model.Key{Kind: "VirtualMachine", Name: "web"}}, VMID: 100}
	whole := model.Describe("my notes\n\n"+block.String(), marker)

	text, m, ok := model.ParseDescription(whole)
	if !ok || m.VMID != 100 {
		t.Fatalf("the marker is lost: %v in\n%s", m, whole)
	}
	for _, description := range []string{whole, text} {
		got, _, err := Parse(description)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(block, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if _, rest, _ := Parse(text); rest != "my notes" {
		t.Errorf("the rest is %q", rest)
	}
	if _, rest, _ := Parse(whole); rest != "my notes\n\n"+marker.String() {
		t.Errorf("the rest is %q", rest)
	}
}

func TestOtherTextIsLeftAlone(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":              "",
		"notes":                "hook-script: local:snippets/a outside of a block\nhook-script: local:snippets/a",
		"another language":     "```yaml\nvirtiofs: --path /x --socket /y\n```",
		"no line of ours":      "```\nls: -l\n```",
		"indented code":        "    ```\n    hook-script: local:snippets/a\n    ```",
		"open, but not ours":   "```\necho hello",
		"inside another fence": "~~~md\n```\nhook-script: local:snippets/a\n```\n~~~",
	} {
		b, rest, err := Parse(text)
		if err != nil || !b.IsZero() || rest != text {
			t.Errorf("%s: %+v, %q, %v", name, b, rest, err)
		}
	}
}

func TestUnclearBlocksAreRefused(t *testing.T) {
	block := func(lines ...string) string { return "```\n" + strings.Join(lines, "\n") + "\n```\n" }
	for text, want := range map[string]string{
		"```\nhook-script: local:snippets/a\n":                                          "isn't closed",
		block("hook-script: local:snippets/a") + block("hook-script: local:snippets/b"): "two blocks",
		block("cloud-init: local:iso/a.iso", "cloud-init: local:iso/b.iso"):             "two cloud-init",
		block("cloud-init:"): "names no volume",
		block("hook-script: local:snippets/a", "what is this"):  "key: value",
		block("hook-script: /etc/passwd"):                       "isn't a volume",
		block("hook-script: local:iso/a.iso"):                   "isn't a volume",
		block("hook-script: local:snippets/../a"):               "isn't a volume",
		block("hook-script: local:snippets/.a"):                 "isn't a volume",
		block("hook-script: local:snippets/a/b"):                "isn't a volume",
		block("cloud-init: ../x:iso/a.iso"):                     "isn't a volume",
		block("cloud-init: local:iso/a\x00.iso"):                "isn't a volume",
		block("virtiofs: --path /a"):                            "no --socket",
		block("virtiofs: --socket /a"):                          "no --path",
		block("virtiofs: --path a --socket /b"):                 "absolute",
		block("virtiofs: --path /a/../etc --socket /b"):         "shortest form",
		block("virtiofs: --path /a/ --socket /b"):               "shortest form",
		block("virtiofs: --path /a --socket /run/../b"):         "shortest form",
		block("virtiofs: --path /a --path /b --socket /c"):      "twice",
		block("virtiofs: --path /a --socket /c --sandbox none"): "no option",
		block("virtiofs: --path /a --socket /c --cache all"):    "isn't one of",
		block("virtiofs: --path /a --socket /c --read-only=no"): "no option",
		block("virtiofs: --path /a --socket"):                   "no value",
		block("virtiofs: /a --socket /b"):                       "isn't an option",
		block(`virtiofs: --path "/a --socket /b`):               "quote",
		block("virtiofs: --path /a\x1b --socket /b"):            "characters",
	} {
		b, rest, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || !b.IsZero() || rest != text {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestWhatHasAVoiceOfItsOwnIsKept(t *testing.T) {
	text := "```\nhook-script: local:snippets/mine.sh\nmine: some = thing\n```"
	b, _, err := Parse(text)
	if err != nil || len(b.Other) != 1 || b.Other[0] != "mine: some = thing" {
		t.Errorf("%+v, %v", b, err)
	}
	for _, bad := range []string{"```", "no colon", "a: b\n```\nx: y"} {
		if (Block{Other: []string{bad}}).Check() == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if got := (Block{}).String(); got != "" {
		t.Errorf("nothing is written as %q", got)
	}
}

func FuzzBlocksReadBack(f *testing.F) {
	f.Add(module)
	f.Add("```proxplane\nvirtiofs: -path='/a b' -socket=/c --cache never --read-only\nx: y\n```\n<!-- proxplane {} -->")
	f.Add("~~~\ncloud-init: local:iso/a.iso\n~~~~\nmore")
	f.Fuzz(func(t *testing.T, text string) {
		b, rest, err := Parse(text)
		if err != nil {
			if !b.IsZero() || rest != text {
				t.Fatalf("an error, and yet %+v, %q", b, rest)
			}
			return
		}
		if err := b.Check(); err != nil {
			t.Fatalf("read, but not to be written: %v", err)
		}
		if b.IsZero() {
			return
		}
		again, rest, err := Parse(b.String())
		if err != nil || rest != "" {
			t.Fatalf("%q: %q, %v", b.String(), rest, err)
		}
		if diff := cmp.Diff(b, again); diff != "" {
			t.Fatalf("%q (-first +second):\n%s", b.String(), diff)
		}
	})
}
