//go:build linux

package hook

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/firstboot/hookblock"
)

// narrow allows a little, so that everything else has to be refused.
const narrow = `rules:
  - vms: [all]
    shares: [{path: "/srv/{vmid}"}, {path: /srv/pub, below: true, readOnly: true}]
    scripts: ["local:snippets/notify.sh"]
    seeds: ["local:iso/seed-{vmid}-*.iso", attached]
`

// FuzzNoConfigGetsMoreThanItsPolicyAllows has VMs with any config ask for anything.
// Who may write a VM's notes isn't trusted; the hook works as root.
func FuzzNoConfigGetsMoreThanItsPolicyAllows(f *testing.F) {
	const vmid = 100
	policy, err := ParsePolicy([]byte(narrow))
	if err != nil {
		f.Fatal(err)
	}
	args := "args: -fw_cfg name=opt/org.flatcar-linux/config,file=/run/proxplane/ignition/100.ign -chardev socket,id=a,path=/run/proxplane/virtiofs/vm100-fs0\n"
	ask := func(lines ...string) string {
		return "#```proxplane\n#" + strings.Join(lines, "\n#") + "\n#```\n" + args + "ide2: local:iso/cd.iso,media=cdrom\n"
	}
	const share = " --socket /run/proxplane/virtiofs/vm100-fs0"
	for _, text := range []string{
		ask("virtiofs: --path /srv/100"+share, "cloud-init: local:iso/cd.iso", "hook-script: local:snippets/notify.sh"),
		ask("virtiofs: --path /srv/pub/a" + share), ask("virtiofs: --path /srv/pub/../../etc" + share), ask("virtiofs: --path /srv/public" + share),
		ask("virtiofs: --path /srv/101" + share), ask("virtiofs: --path /srv/100 --socket /run/proxplane/virtiofs/vm101-fs0"),
		ask("virtiofs: --path /srv/100 --socket /run/proxplane/virtiofs/../vm100-fs0"), ask("virtiofs: --path '/srv/pub/a\\x00b'" + share), ask("virtiofs: --path=/srv/pub%2f..%2f.." + share),
		ask("cloud-init: local:iso/seed-100-1.iso"), ask("cloud-init: local:iso/seed-101-1.iso"), ask("cloud-init: local:iso/seed-100-../../x.iso"), ask("cloud-init: local:iso/../snippets/x"),
		ask("hook-script: local:snippets/../iso/x"), ask("hook-script: local:snippets/notify.sh\x00.sh"), ask("hook-script: "), ask("hook-script: multi-hookscript.pl", "hook-script: x/virtiofsd.pl"),
		"description: %60%60%60proxplane%0Ahook-script%3A local%3Asnippets/x%0A%60%60%60\n", "[snapshot]\n" + ask("hook-script: local:snippets/notify.sh"), "args: 'not closed\n" + ask("cloud-init: local:iso/cd.iso"),
		strings.Repeat("#", 100_000), "#```\n#virtiofs: " + strings.Repeat("-", 50_000) + "\n#```\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := parseConfig(vmid, text)
		block, _, err := hookblock.Parse(c.description)
		if err != nil {
			return
		}
		steps, _ := decide(c, block, policy.grant(vmid, nil), PreStart) // what is refused is no step
		for _, s := range steps {
			if s.script != "" && s.script != "local:snippets/notify.sh" {
				t.Errorf("it runs %q", s.script)
			}
			if i := s.ignition; i != nil {
				name, isSeed := strings.CutPrefix(i.volume, "local:iso/seed-100-")
				if !(isSeed && strings.HasSuffix(name, ".iso") && !strings.Contains(name, "/")) && !c.attached(i.volume) {
					t.Errorf("it reads %q", i.volume)
				}
				for _, file := range i.files {
					if !slices.Contains(ignitionFiles(vmid), file) {
						t.Errorf("it writes %q", file)
					}
				}
			}
			for _, share := range s.shares {
				clean := path.Clean(share.Path)
				if clean != share.Path || clean != "/srv/100" && clean != "/srv/pub" && !(strings.HasPrefix(clean, "/srv/pub/") && share.ReadOnly) || strings.ContainsRune(clean, 0) {
					t.Errorf("it shares %q", share.Path)
				}
				if !strings.HasPrefix(share.Socket, "/run/proxplane/virtiofs/vm100-fs") && !strings.HasPrefix(share.Socket, "/run/virtiofs/vm100-fs") || path.Clean(share.Socket) != share.Socket {
					t.Errorf("it listens at %q", share.Socket)
				}
			}
		}
	})
}

func FuzzPoliciesAreReadOrRefused(f *testing.F) {
	for _, text := range []string{narrow, "", "rules: [{vms: [1-99999999999999999999]}]", "rules: &a [*a]", "rules: [{shares: [{path: /srv/../etc}]}]", "rules: [{scripts: ['local:snippets/../x']}]", "a: b", "rules: [{vms: [100], seeds: ['*']}]\n---\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		policy, err := ParsePolicy(text)
		if err != nil {
			return
		}
		for _, r := range policy.grant(100, []string{"web"}).rules {
			for _, share := range r.Shares {
				if !isCleanPath(ofVM(share.Path, 100)) {
					t.Errorf("%q lets %q be shared", text, share.Path)
				}
			}
			for _, volume := range slices.Concat(r.Scripts, r.Seeds) {
				if strings.Contains(volume, "..") || strings.HasPrefix(volume, "/") {
					t.Errorf("%q lets %q be read", text, volume)
				}
			}
		}
	})
}
