package cli

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/proxplane/proxplane/cli/doctor"
	"github.com/proxplane/proxplane/cli/ui"
	"github.com/proxplane/proxplane/privileges"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
)

func TestDoctorLooksAtAClusterWithoutManifests(t *testing.T) {
	l := newClockLab(t)
	out := l.must("doctor")
	wantText(t, out,
		`^  ✓ 127\.0\.0\.1:\d+ answers \(\d+m?s\)$`, `^  ✓ TLS: the certificate is signed by the authority that was given, valid until 20\d\d-\d\d-\d\d$`,
		`^  ✓ the clock of `, `^  ✓ Proxmox VE 9\.2`, `^  ✓ cluster lab has its quorum$`, `^  ✓ 3 nodes are online: pve1, pve2, pve3$`,
		`^  ✓ storages for images fetched from URLs \(import\): local, nfs$`, `^  ! root@pam, with the password: may do everything$`,
		`^No problem with the connection and the cluster; 1 warning\. With -f, what manifests need is checked too: names and privileges\.$`)
}

// diagnose runs the doctor for programs.
func (l *lab) diagnose(args ...string) (code int, d doctor.Diagnosis) {
	l.Helper()
	code, out, stderr := l.run(append([]string{"doctor", "-o", "json"}, args...)...)
	var all []doctor.Diagnosis
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 1 {
		l.Fatalf("%v in %s%s", err, out, stderr)
	}
	return code, all[0]
}

// login makes a token that has these grants, and uses it from now on.
func (l *lab) login(grants []privileges.Grant) {
	l.Helper()
	client, err := pve.New(pve.Config{
		Endpoints: []string{os.Getenv("PVE_ENDPOINT")}, TLS: pve.TLS{CA: []byte(os.Getenv("PVE_CA_BUNDLE"))},
		Credentials: pve.Password("root@pam", "proxplane"),
	})
	if err != nil {
		l.Fatal(err)
	}
	ctx, access := context.Background(), client.Access()
	must := func(err error) {
		l.Helper()
		if err != nil {
			l.Fatal(err)
		}
	}
	must(access.CreateUser(ctx, pve.NewUser{ID: "ci@pve"}))
	token, err := access.CreateToken(ctx, "ci@pve", "doctor", pve.NewToken{})
	must(err)
	for _, g := range grants {
		role := "role" + strings.ReplaceAll(g.Path, "/", "-")
		must(access.CreateRole(ctx, role, g.Names()))
		must(access.SetACL(ctx, pve.ACLChange{
			Path: g.Path, Roles: []string{role}, Users: []string{"ci@pve"}, Tokens: []string{"ci@pve!doctor"}, Propagate: &g.Below,
		}))
	}
	for name, value := range map[string]string{
		"PVE_USERNAME": "", "PVE_PASSWORD": "", "PVE_TOKEN_ID": token.ID, "PVE_TOKEN_SECRET": token.Secret.Reveal(),
	} {
		l.Setenv(name, value)
	}
}

func TestDoctorIsContentWithWhatItAskedFor(t *testing.T) {
	l := newClockLab(t)
	file := l.write("shop.yaml", shop)
	code, d := l.diagnose("-f", file, "--print-commands")
	if code != ui.ExitOK || !d.OK || len(d.Needed) == 0 || len(d.Missing) > 0 {
		t.Fatalf("exit %d, %+v", code, d)
	}
	if !slices.Contains(d.Commands, "pveum user token add proxplane@pve proxplane --privsep 1") {
		t.Errorf("the commands make no token: %q", d.Commands)
	}
	l.login(d.Needed)
	out := l.must("doctor", "-f", file)
	wantText(t, out,
		`^  ✓ template ubuntu-22-template: VM 9000 on pve1$`, `^  ✓ bridge vmbr0 is on pve1, pve2, pve3$`, `^  ✓ guest agent: 2 machines are ready once`,
		`^  ✓ token ci@pve!doctor `, `^  ✓ all \d+ privileges on \d+ paths that are needed for this are there$`,
		`^    With pool: NAME in their manifests, rights on that pool are enough\.$`, `^All is well: these manifests can be applied\.$`)
	if strings.Contains(out, "pveum") {
		t.Errorf("commands that nobody asked for:\n%s", out)
	}
	l.must("apply", "-f", file)
	l.must("delete", "-f", file, "--yes")
}

// Each machine is judged by what it is made from, not by what others are.
func TestDoctorKnowsWhichMachinesHaveAnAgent(t *testing.T) {
	l := ownLab(t)
	l.sim.Do(func(st *pvesim.State) {
		st.VMs[9001] = &pvesim.VM{ID: 9001, Node: "pve1", Conf: pvesim.Conf{"name": "mute-template", "template": "1"}}
	})
	l.sim.Advance(time.Minute) // so that the lists show it
	file := l.write("two.yaml", shop+`---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VMImage
metadata: {name: mute}
spec: {source: mute-template}
---
apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: silent}
spec: {classRef: {name: small}, imageRef: {name: mute}}
`)
	wantText(t, l.must("doctor", "-f", file), `^  ✓ guest agent: 2 machines are ready once`, `^  · guest agent: it is off for silent, so addresses won't be known$`)
}

// What these credentials don't see isn't called missing, and nothing is concluded from it.
func TestDoctorConcludesNothingFromWhatIsntVisible(t *testing.T) {
	l := newClockLab(t)
	file := l.write("shop.yaml", shop)
	l.login([]privileges.Grant{{Path: "/storage", Privs: []privileges.Priv{{Name: "Datastore.Audit"}}}})
	_, out, _ := l.run("doctor", "-f", file)
	wantText(t, out, `^  ✗ template ubuntu-22-template, which image/ubuntu needs, isn't there or isn't visible$`,
		`^  · guest agent: whether it is on for web-1 and web-2 isn't known, since the template can't be seen$`)
	if strings.Contains(out, "it is off for") || strings.Contains(out, "there is no template") {
		t.Errorf("it concludes from what isn't visible:\n%s", out)
	}
}

func TestDoctorSaysWhatIsMissingAndHowToGrantIt(t *testing.T) {
	l := newClockLab(t)
	file := l.write("shop.yaml", shop)
	_, d := l.diagnose("-f", file)
	for i, g := range d.Needed {
		d.Needed[i].Privs = slices.DeleteFunc(g.Privs, func(p privileges.Priv) bool { return p.Name == "VM.Config.Memory" || p.Name == "SDN.Use" })
	}
	l.login(slices.DeleteFunc(d.Needed, func(g privileges.Grant) bool { return len(g.Privs) == 0 }))
	code, out, _ := l.run("doctor", "-f", file)
	if code != ui.ExitFailed {
		t.Errorf("exit %d", code)
	}
	wantText(t, out,
		`^  ! bridge vmbr0 isn't shown to these credentials, so it couldn't be checked$`,
		`^  ✗ /sdn/zones/localnetwork/vmbr0: SDN\.Use is missing, to .*plug into vmbr0`,
		`^  ✗ /vms and below: VM\.Config\.Memory is missing, to set memory$`,
		`^On a node, as root, these commands give token ci@pve!doctor exactly what is needed:$`,
		`^pveum role add ci-guests --privs 'VM\.Allocate .*VM\.Config\.Memory.*'$`,
		`^pveum acl modify /vms --roles ci-guests --users ci@pve --tokens 'ci@pve!doctor'$`,
		`^pveum acl modify /sdn/zones/localnetwork/vmbr0 --roles ci-network --users ci@pve --tokens 'ci@pve!doctor' --propagate 0$`,
		`^2 problems to be solved, 1 warning\.$`)
	if strings.Contains(out, "pveum user") {
		t.Errorf("user and token are made though they are there:\n%s", out)
	}
}

func TestDoctorTellsWhatOnlyRootMayDo(t *testing.T) {
	l := newLab(t)
	file := l.write("root.yaml", strings.Replace(shop, "spec: {cpus: 2, memory: 4Gi}",
		`spec: {cpus: 2, memory: 4Gi, extraConfig: {args: "-device x", hookscript: "local:snippets/hook.sh", hostpci0: "host=0000:01:00.0"}}`, 1))
	code, out, _ := l.run("doctor", "-f", file)
	if code != ui.ExitFailed {
		t.Errorf("a hookscript that is nowhere: exit %d", code)
	}
	wantText(t, out, `^  ✓ vm/web-1 sets args, which only root@pam may, logged in with a password: its text becomes part of QEMU's command line`,
		`^  ✗ snippet local:snippets/hook\.sh, needed by vm/web-1 and vm/web-2, isn't on pve1, pve2, pve3$`, `put the file there by SSH`)
	_, d := l.diagnose("-f", file)
	l.login(d.Needed)
	code, out, _ = l.run("doctor", "-f", file)
	if code != ui.ExitFailed {
		t.Errorf("exit %d", code)
	}
	wantText(t, out, `^  ✗ vm/web-1 sets args, which only root@pam may`, `^  ✗ vm/web-2 sets hookscript, .*: the script runs on the node as root$`,
		`^  ✗ vm/web-2 sets hostpci0, .*use a mapping`, `^    No privilege and no token is enough, not even root's\.`)
}

func TestDoctorSaysWhatIsWrongWithTheConnection(t *testing.T) {
	l := newClockLab(t)
	endpoint := os.Getenv("PVE_ENDPOINT")
	for _, c := range []struct {
		reason string
		env    map[string]string
		want   []string
	}{
		{"nobody vouches for the certificate", map[string]string{"PVE_CA_BUNDLE": ""}, []string{
			`^  ✗ the certificate of 127\.0\.0\.1:\d+ isn't signed by an authority that is trusted here$`, `^    Its fingerprint is ([0-9A-F]{2}:){31}[0-9A-F]{2}\.`,
			`^  · nothing more can be checked`}},
		{"nobody is there", map[string]string{"PVE_ENDPOINT": "https://127.0.0.1:1"}, []string{`^  ✗ 127\.0\.0\.1:1 doesn't answer$`, `connection refused`}},
		{"one of several is enough", map[string]string{"PVE_ENDPOINT": endpoint + ",https://127.0.0.1:1"}, []string{
			`^  ! 127\.0\.0\.1:1 doesn't answer`, `^  ✓ Proxmox VE`, `^No problem with the connection and the cluster; 2 warnings\. With -f`}},
		{"any certificate is trusted", map[string]string{"PVE_CA_BUNDLE": "", "PVE_INSECURE_SKIP_VERIFY": "true"}, []string{
			`^  ! any certificate is trusted`, `--fingerprint [0-9A-F]{2}:`}},
		{"the password is wrong", map[string]string{"PVE_PASSWORD": "a-typo-in-it"}, []string{`^  ✗ the login failed: `, `Check user, realm and password`}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			_, out, _ := l.run("doctor")
			wantText(t, out, c.want...)
			if strings.Contains(out, "a-typo-in-it") {
				t.Errorf("the password is told:\n%s", out)
			}
		})
	}
}

func TestDoctorFindsWhatManifestsNameAndIsntThere(t *testing.T) {
	l := newLab(t)
	file := l.write("shop.yaml", strings.NewReplacer(
		"source: ubuntu-22-template", "source: ubuntu-24-template",
		"networks: [{name: lan}]", "networks: [{name: lan, bridge: vmbr9}]\n  pool: team\n  ha: {group: fast}\n  pciMappings: [{name: gpu}]\n  disks: [{name: root, size: 8Gi}, {name: data, size: 9Ti, storage: nfs}, {name: more, size: 1Gi, storage: ceph}]",
	).Replace(shop))
	code, out, _ := l.run("doctor", "-f", file)
	if code != ui.ExitFailed {
		t.Errorf("exit %d", code)
	}
	wantText(t, out,
		`^  ✗ there is no storage ceph$`, `^    There are local, local-lvm, nfs\.$`, `^  ! storage nfs has .* free, and the new disks may grow to 18 TiB$`,
		`^  ✗ there is no template ubuntu-24-template, which image/ubuntu needs$`, `^    Shown are ubuntu-22-template\.$`,
		`^  ✗ there is no pool team, named by vm/web-1 and vm/web-2$`, `^    Make it: pveum pool add team$`,
		`^  ✗ there is no mapping gpu of PCI devices, named by vm/web-1 and vm/web-2$`,
		`^  ✗ there is no HA rule fast, named by vm/web-1 and vm/web-2$`,
		`^  ✗ bridge vmbr9 isn't on pve1, pve2, pve3, where machines that need it may go$`)
}
