//go:build linux

package hook

import (
	"strings"
	"testing"

	"github.com/proxplane/proxplane/firstboot/hookblock"
)

func TestPoliciesAreReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"rules: [{vms: [100], share: []}]":                         "field share not found",
		"rule: []":                                                 "field rule not found",
		"rules: []\n---\nrules: []":                                "more than one document",
		"rules: []\nrules: []":                                     "already defined",
		"rules: [{shares: [{path: /srv}]}]":                        "for nobody",
		"rules: [{vms: [], scripts: []}]":                          "for nobody",
		"rules: [{vms: [x]}]":                                      "isn't a VMID",
		"rules: [{vms: ['*']}]":                                    "isn't a VMID",
		"rules: [{vms: [200-100]}]":                                "isn't a VMID",
		"rules: [{vms: [-5]}]":                                     "isn't a VMID",
		"rules: [{vms: [{}]}]":                                     "isn't a VMID",
		"rules: [{pools: ['a:b']}]":                                "isn't the name of a pool",
		"rules: [{vms: [1], shares: [{path: srv}]}]":               "absolute path",
		"rules: [{vms: [1], shares: [{path: /srv/}]}]":             "absolute path",
		"rules: [{vms: [1], shares: [{path: /srv/../etc}]}]":       "absolute path",
		"rules: [{vms: [1], shares: [{path: ''}]}]":                "absolute path",
		"rules: [{vms: [1], shares: [{path: /srv, readonly: 1}]}]": "field readonly not found",
		"rules: [{vms: [1], scripts: ['local:snippets/*']}]":       "isn't a volume",
		"rules: [{vms: [1], scripts: [/usr/bin/true]}]":            "isn't a volume",
		"rules: [{vms: [1], seeds: ['*:iso/a.iso']}]":              "neither",
		"rules: [{vms: [1], seeds: ['local:iso/*/x']}]":            "neither",
		"rules: [{vms: [1], seeds: ['local:snippets/*']}]":         "neither",
		"virtiofsd: virtiofsd":                                     "absolute path",
		"[]":                                                       "cannot unmarshal",
		"rules: {":                                                 "did not find",
	} {
		if _, err := ParsePolicy([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"", "# nothing\n", "rules: []", "rules: [{vms: [100, 200-299, all], pools: [web, a/b]}]"} {
		if _, err := ParsePolicy([]byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTheStartingPolicyAllowsNothingAndShowsHow(t *testing.T) {
	p, err := ParsePolicy([]byte(StartingPolicy))
	if err != nil || len(p.Rules) > 0 {
		t.Errorf("%+v, %v", p, err)
	}
	_, shown, _ := strings.Cut(StartingPolicy, "rules: []\n")
	p, err = ParsePolicy([]byte(strings.ReplaceAll(strings.ReplaceAll("\n"+shown, "\n# ", "\n"), "\n#", "\n")))
	if err != nil || len(p.Rules) != 1 || len(p.Rules[0].Shares) != 2 {
		t.Errorf("what it shows: %+v, %v", p, err)
	}
}

// policy is one that the table of attacks is tried on.
const policy = `
rules:
- vms: [100, 300-399]
  shares: [{path: /srv/data}, {path: /srv/many, below: true}, {path: /srv/docs, below: true, readOnly: true}, {path: "/srv/own/{vmid}", below: true}]
  scripts: ["local:snippets/a.sh"]
  seeds: [attached, "local:iso/vm{vmid}-*.iso"]
- pools: [web]
  shares: [{path: /srv/web}, {path: /srv/docs/own}]
`

func TestNothingIsAllowedThatNoRuleAllows(t *testing.T) {
	p, err := ParsePolicy([]byte(policy))
	if err != nil {
		t.Fatal(err)
	}
	type ask struct {
		reason string
		vmid   int
		pools  []string
		block  hookblock.Block
		refuse string // empty: allowed
	}
	share := func(path string) hookblock.Block {
		return hookblock.Block{Shares: []hookblock.Share{{Path: path, Socket: hookblock.Socket(100, 0)}}}
	}
	socket := func(path string) hookblock.Block {
		return hookblock.Block{Shares: []hookblock.Share{{Path: "/srv/data", Socket: path}}}
	}
	script := func(volid string) hookblock.Block { return hookblock.Block{HookScripts: []string{volid}} }
	seed := func(volid string) hookblock.Block { return hookblock.Block{CloudInit: volid} }
	args := ignitionArgs(ignFile) + " " + socketArgs(fs0)
	for _, c := range []ask{
		{reason: "as allowed", vmid: 100, block: share("/srv/data")},
		{reason: "another VM", vmid: 101, block: share("/srv/data"), refuse: "lets VM 101 share"},
		{reason: "a VM whose number begins alike", vmid: 1000, block: share("/srv/data"), refuse: "lets VM 1000"},
		{reason: "no VM at all", vmid: 400, block: share("/srv/data"), refuse: "lets VM 400"},
		{reason: "what is in the directory", vmid: 100, block: share("/srv/data/in"), refuse: "share /srv/data/in"},
		{reason: "what is above it", vmid: 100, block: share("/srv"), refuse: "share /srv"},
		{reason: "a name that begins alike", vmid: 100, block: share("/srv/data2"), refuse: "share /srv/data2"},
		{reason: "below", vmid: 100, block: share("/srv/many/a/b")},
		{reason: "below, itself", vmid: 100, block: share("/srv/many")},
		{reason: "beside below", vmid: 100, block: share("/srv/many-more"), refuse: "share /srv/many-more"},
		{reason: "up again", vmid: 100, block: share("/srv/many/../../etc"), refuse: "shortest form"},
		{reason: "up again in dots", vmid: 100, block: share("/srv/many/./a"), refuse: "shortest form"},
		{reason: "two slashes", vmid: 100, block: share("/srv/many//a"), refuse: "shortest form"},
		{reason: "its own", vmid: 100, block: share("/srv/own/100/a")},
		{reason: "another's own", vmid: 100, block: share("/srv/own/300"), refuse: "share /srv/own/300"},
		{reason: "a name that begins alike", vmid: 100, block: share("/srv/own/1001"), refuse: "share /srv/own/1001"},
		{reason: "all of theirs", vmid: 100, block: share("/srv/own"), refuse: "share /srv/own"},
		{reason: "everything", vmid: 100, block: share("/"), refuse: "share /"},
		{reason: "another rule's, without the pool", vmid: 100, block: share("/srv/web"), refuse: "share /srv/web"},
		{reason: "another rule's, in another pool", vmid: 100, pools: []string{"web2"}, block: share("/srv/web"), refuse: "share /srv/web"},
		{reason: "another rule's, in the pool", vmid: 100, pools: []string{"web"}, block: share("/srv/web")},

		{reason: "another VM's socket", vmid: 100, block: socket(hookblock.Socket(101, 0)), refuse: "can't be a socket of VM 100"},
		{reason: "a VM whose number begins alike", vmid: 100, block: socket("/run/proxplane/virtiofs/vm1001-fs0"), refuse: "can't be a socket"},
		{reason: "a socket anywhere", vmid: 100, block: socket("/etc/cron.d/vm100-fs0"), refuse: "can't be a socket"},
		{reason: "a socket of another name", vmid: 100, block: socket("/run/proxplane/virtiofs/vm100-fs0.pid"), refuse: "can't be a socket"},
		{reason: "a number that isn't one", vmid: 100, block: socket("/run/proxplane/virtiofs/vm100-fs+0"), refuse: "can't be a socket"},
		{reason: "a number with zeros", vmid: 100, block: socket("/run/proxplane/virtiofs/vm100-fs00"), refuse: "can't be a socket"},
		{reason: "up again", vmid: 100, block: socket("/run/proxplane/virtiofs/../vm100-fs0"), refuse: "shortest form"},
		{reason: "below the directory", vmid: 100, block: socket("/run/proxplane/virtiofs/a/vm100-fs0"), refuse: "can't be a socket"},

		{reason: "the script", vmid: 100, block: script("local:snippets/a.sh")},
		{reason: "another script", vmid: 100, block: script("local:snippets/b.sh"), refuse: "run local:snippets/b.sh"},
		{reason: "of another storage", vmid: 100, block: script("nfs:snippets/a.sh"), refuse: "run nfs:snippets/a.sh"},
		{reason: "in capital letters", vmid: 100, block: script("local:snippets/A.sh"), refuse: "run local:snippets/A.sh"},
		{reason: "up again", vmid: 100, block: script("local:snippets/../a.sh"), refuse: "isn't a volume"},
		{reason: "by its path", vmid: 100, block: script("/bin/sh"), refuse: "isn't a volume"},
		{reason: "with arguments", vmid: 100, block: script("local:snippets/a.sh --force"), refuse: "lets VM 100 run"},
		{reason: "an ISO", vmid: 100, block: script("local:iso/a.sh"), refuse: "isn't a volume"},
		{reason: "for another VM", vmid: 101, block: script("local:snippets/a.sh"), refuse: "lets VM 101 run"},

		{reason: "an own seed", vmid: 100, block: seed("local:iso/vm100-1.iso")},
		{reason: "another VM's seed", vmid: 100, block: seed("local:iso/vm200-1.iso"), refuse: "from local:iso/vm200-1.iso"},
		{reason: "another's in a folder", vmid: 100, block: seed("local:iso/vm100-/x.iso"), refuse: "isn't a volume"},
		{reason: "a pattern of one's own", vmid: 100, block: seed("local:iso/*.iso"), refuse: "isn't a volume"},
		{reason: "an attached one", vmid: 100, block: seed("local:iso/attached.iso")},
		{reason: "a disk that is attached", vmid: 100, block: seed("local:iso/disk.iso"), refuse: "from local:iso/disk.iso"},
		{reason: "not really attached", vmid: 100, block: seed("local:iso/named.iso"), refuse: "from local:iso/named.iso"},
		{reason: "no seed for those of the pool", vmid: 200, pools: []string{"web"}, block: seed("local:iso/vm100-1.iso"), refuse: "lets VM 200 have"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			config := vmConfig{vmid: c.vmid, options: map[string]string{
				"args": args, "ide2": "local:iso/attached.iso,media=cdrom,size=4M", "scsi0": "local:iso/disk.iso,size=4M", "name": "local:iso/named.iso,media=cdrom",
			}}
			// The block is written and read, as it would be.
			b, _, err := hookblock.Parse(c.block.String())
			if err == nil {
				_, err = decide(config, b, p.grant(c.vmid, c.pools), PreStart)
			}
			switch {
			case c.refuse == "" && err != nil:
				t.Error(err)
			case c.refuse != "" && (err == nil || !strings.Contains(err.Error(), c.refuse)):
				t.Errorf("%v, want %q", err, c.refuse)
			}
		})
	}
}

func TestTheMostGenerousRuleCounts(t *testing.T) {
	p, err := ParsePolicy([]byte(policy))
	if err != nil {
		t.Fatal(err)
	}
	if ok, readOnly := p.grant(100, nil).share("/srv/docs/own"); !ok || !readOnly {
		t.Errorf("%v, %v", ok, readOnly)
	}
	if ok, readOnly := p.grant(100, []string{"web"}).share("/srv/docs/own"); !ok || readOnly {
		t.Errorf("%v, %v", ok, readOnly)
	}
}

func TestAllRefusalsAreSaidAtOnce(t *testing.T) {
	l := newLab(t)
	l.vm(100, block("cloud-init: local:iso/x.iso", "virtiofs: --path /etc --socket "+fs0, "virtiofs: --path /root --socket "+fs1, "hook-script: local:snippets/x"), "args: "+socketArgs(fs0, fs1))
	l.refused(100, "refused: no rule in /etc/proxplane/hook.yaml lets VM 100 have", "share /etc", "share /root", "run local:snippets/x")
}
