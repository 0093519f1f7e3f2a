package pve

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recordedFailure is a distinct failure that Proxmox VE was recorded to give: an answer that isn't
// 200, or the exit status of a task. What should be read from it stands beside it.
type recordedFailure struct {
	Kind     Kind
	Also     []Kind
	Subject  string
	Lock     string
	LockFile string
	PermPath string
	Privs    string

	Exit   string
	Status int
	Reason string
	Body   json.RawMessage
	Method string
	Path   string
	From   string
}

// wire is the body as it came over the network: JSON, plain text, or nothing.
func (r recordedFailure) wire() []byte {
	if string(r.Body) == "null" {
		return nil
	}
	var text string
	if json.Unmarshal(r.Body, &text) == nil {
		return []byte(text)
	}
	return r.Body
}

func (r recordedFailure) errors() (whole error, detail *Error) { //nolint:staticcheck // the second is what the first has inside
	if r.Exit != "" {
		e := exitError(UPID{}, r.Exit, nil)
		return e, e.cause
	}
	e := answerError(r.Method, r.Path, r.Status, r.Reason, r.wire())
	return e, e
}

func recordedFailures(t testing.TB) []recordedFailure {
	t.Helper()
	file, err := os.Open("testdata/failures.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []recordedFailure
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r recordedFailure
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if len(all) < 200 {
		t.Fatalf("only %d recorded failures", len(all))
	}
	return all
}

// unknownForAReason lists recorded texts that have no kind, with why. Every other text must have
// one.
var unknownForAReason = map[string]string{}

func TestEveryRecordedFailureHasTheKindThatItShould(t *testing.T) {
	for _, r := range recordedFailures(t) {
		whole, e := r.errors()
		if e.Kind == ErrUnknown && unknownForAReason[e.Text] == "" {
			t.Errorf("%s: %q has no kind", r.From, e.Text)
		}
		got := recordedFailure{
			Kind: e.Kind, Also: e.also, Subject: e.Subject, Lock: e.Lock, LockFile: e.LockFile,
			PermPath: e.PermPath, Privs: strings.Join(e.Privs, " "),
			Exit: r.Exit, Status: r.Status, Reason: r.Reason, Body: r.Body, Method: r.Method, Path: r.Path, From: r.From,
		}
		if diff := cmp.Diff(r, got); diff != "" {
			t.Errorf("%s: %q (-want +got)\n%s", r.From, e.Text, diff)
		}
		for _, kind := range append(e.also, e.Kind) {
			if !errors.Is(whole, kind) {
				t.Errorf("%s: errors.Is doesn't find %q", r.From, kind)
			}
		}
		if r.Exit != "" && (!errors.Is(whole, ErrTaskFailed) || !strings.Contains(whole.Error(), r.Exit)) {
			t.Errorf("%s: %v isn't a failed task with its text", r.From, whole)
		}
	}
}

func TestTheTextOfProxmoxIsNeverLost(t *testing.T) {
	for _, r := range recordedFailures(t) {
		if r.Exit != "" {
			continue
		}
		_, e := r.errors()
		if !strings.Contains(e.Text, strings.TrimSpace(r.Reason)) && !strings.HasPrefix(r.Reason, "Parameter") {
			t.Errorf("%s: text %q lacks the reason %q", r.From, e.Text, r.Reason)
		}
		var body struct {
			Message string
			Errors  map[string]string
		}
		_ = json.Unmarshal(r.Body, &body)
		if !strings.Contains(e.Text, strings.TrimSpace(body.Message)) {
			t.Errorf("%s: text %q lacks the message %q", r.From, e.Text, body.Message)
		}
		for field, text := range body.Errors {
			if !strings.Contains(e.Error(), field+": "+strings.TrimSpace(text)) {
				t.Errorf("%s: %q lacks field %s", r.From, e.Error(), field)
			}
		}
	}
}

func TestAReverseProxyThatDropsTheReasonPhraseChangesNothing(t *testing.T) {
	for _, r := range recordedFailures(t) {
		if r.Exit != "" || len(r.wire()) == 0 {
			continue // nothing else is there to read
		}
		e := answerError(r.Method, r.Path, r.Status, http.StatusText(r.Status), r.wire())
		if e.Kind != r.Kind || !slices.Equal(e.also, r.Also) {
			t.Errorf("%s: without the phrase %q is %v, not %v", r.From, r.Reason, e.Kind, r.Kind)
		}
	}
}

func TestAnAnswerWithoutABodyIsReadFromItsReasonPhrase(t *testing.T) {
	for _, r := range recordedFailures(t) {
		if r.Exit != "" {
			continue
		}
		e := answerError(r.Method, r.Path, r.Status, r.Reason, nil)
		want := r.Kind
		if strings.HasPrefix(r.Reason, "Parameter verification") || r.Reason == "format error" {
			want = ErrInvalid
		}
		if e.Kind != want {
			t.Errorf("%s: without a body %q is %v, not %v", r.From, r.Reason, e.Kind, want)
		}
	}
}

func TestKindsOfTextsThatProxmoxHasInItsSources(t *testing.T) {
	for _, c := range []struct {
		text string
		kind Kind
	}{
		{"CT is locked (snapshot-delete)", ErrLocked},
		{"clone failed: VM is locked (backup)", ErrLocked},
		{"can't lock file '/var/lock/pve-manager/pve-storage-local' - got timeout", ErrLockTimeout},
		{"unable to create VM 101 - cfs-lock 'storage-nfs' error: got lock request timeout", ErrLockTimeout},
		{"error with cfs lock 'storage-nfs': got lock request timeout", ErrLockTimeout},
		{"can't acquire lock '/run/x.lock' (wait = 0) - Resource temporarily unavailable", ErrLockTimeout},
		{"cluster not ready - no quorum?", ErrNoQuorum},
		{"error with cfs lock 'domain-ha': no quorum!", ErrNoQuorum},
		{"unable to open file '/etc/pve/nodes/pve1/qemu-server/5009.conf.tmp.1016' - Permission denied", ErrNoQuorum},
		{"detected modified configuration - file changed by other user? Try again.", ErrModified},
		{"command 'dd of=/x' failed: dd: error writing '/x': No space left on device", ErrNoSpace},
		{"vg 'pve' has not enough free space", ErrNoSpace},
		{"not enough free space (5 < 10)", ErrNoSpace},
		{"lvcreate 'pve/vm-1' error:   Volume group \"pve\" has insufficient free space (1 extents): 9 required.", ErrNoSpace},
		{"lvcreate 'pve/vm-1' error:   Cannot create new thin volume, free space in thin pool pve/data reached threshold.", ErrNoSpace},
		{"zfs error: cannot create 'rpool/vm-1': out of space", ErrNoSpace},
		{"qemu-img: /x: Disk quota exceeded", ErrNoSpace},
		{"VM 100 qga command 'guest-ping' failed - got timeout", ErrAgentNotRunning},
		{"QEMU Guest Agent is not running - VM 100 qga socket", ErrAgentNotRunning},
		{"VM 100 qmp command 'query-status' failed - got timeout", ErrTimeout},
		{"start failed: command '/usr/bin/kvm -id 100' failed: got timeout", ErrTimeout},
		{"unable to find configuration file for CT 7 on node 'pve1'", ErrNotFound},
		{"no such logical volume pve/data", ErrNotFound},
		{"PCI device mapping not found for 'gpu'", ErrNotFound},
		{"cannot delete service 'vm:100', not HA managed!", ErrNotFound},
		{"hostname lookup 'nope' failed - failed to get address info for: nope: Name or service not known", ErrNotFound},
		{"volume 'a' already exists", ErrExists},
		{"HA rule 'r1' already defined", ErrExists},
		{"VM 100 is already a pool member", ErrExists},
		{"Permission check failed (user != root@pam)", ErrRootOnly},
		{"only root can set 'hostpci0' config for non-mapped devices", ErrRootOnly},
		{"no permission (/vms/100, VM.Audit)", ErrForbidden},
		{"Can't connect to destination address using public key", ErrNodeUnreachable},
		{"command '/usr/bin/ssh root@10.0.0.2' failed: ssh: connect to host 10.0.0.2 port 22: No route to host", ErrNodeUnreachable},
		{"interrupted by signal", ErrInterrupted},
		{"unexpected status", ErrInterrupted},
		{"cannot remove protected volume 'x' on 'y'", ErrRefused},
		{"can't migrate VM which uses local devices: hostpci0", ErrRefused},
		{"There is a replication job '100-0' for guest '100' - Please remove that first.", ErrRefused},
		{"update pools failed: 403 Permission check failed (/vms/100, Permissions.Modify|VM.Allocate)", ErrForbidden},
		{"update storage failed: no such option 'x'", ErrInvalid},
		{"updating token info failed: 400 Parameter verification failed.", ErrInvalid},
		{"balloon value too large (must be smaller than assigned memory)", ErrInvalid},
		{"illegal name 'foo' - should be 'vm-100-*'", ErrInvalid},
		{"update storage failed: cannot set and delete property 'nodes' at the same time!", ErrInvalid},
		{"unexpected property 'vgname'", ErrInvalid},
		{"create ha rule failed: cannot use non-existent node(s) pve9.", ErrNotFound},
		{"no rule at position 9", ErrNotFound},
		{"VM 101 belongs already to pool 'a' and 'allow-move' is not set", ErrRefused},
		{"storage 'x' is disabled", ErrRefused},
		{"MAX 8 vcpus allowed per VM on this node", ErrRefused},
		{"delete ha group failed: ha group is used by service 'vm:100'", ErrRefused},
		{"start failed: QEMU exited with code 1", ErrUnknown},
		{"", ErrUnknown},
	} {
		e := exitError(UPID{}, c.text, nil)
		if !errors.Is(e, c.kind) || !errors.Is(e, ErrTaskFailed) {
			t.Errorf("%q is %v, not %v", c.text, e.Kind(), c.kind)
		}
	}
}

func TestPermissionsThatAreMissingAreRead(t *testing.T) {
	for _, c := range []struct {
		text string
		path string
		priv string
		any  bool
	}{
		{"Permission check failed (/vms/100, VM.Config.Memory)", "/vms/100", "VM.Config.Memory", false},
		{"Permission check failed (/storage/a, Datastore.Audit|Datastore.AllocateSpace)", "/storage/a", "Datastore.Audit Datastore.AllocateSpace", true},
		{"Permission check failed (/, VM.PowerMgmt && VM.Config.Disk)", "/", "VM.PowerMgmt VM.Config.Disk", false},
		{"Permission check failed (/, Sys.Modify for modifying tag 'a')", "/", "Sys.Modify", false},
		{"Permission check failed (/sdn/zones/localnetwork/vmbr0, SDN.Use)", "/sdn/zones/localnetwork/vmbr0", "SDN.Use", false},
		{"Permission check failed", "", "", false},
		{"Permission check failed (user != null)", "", "", false},
	} {
		e := answerError("POST", "/x", 403, c.text, nil)
		if e.Kind != ErrForbidden || e.PermPath != c.path || strings.Join(e.Privs, " ") != c.priv || e.AnyPriv != c.any {
			t.Errorf("%q: got %v, %q, %v, %v", c.text, e.Kind, e.PermPath, e.Privs, e.AnyPriv)
		}
	}
}

func TestStatusesWhoseWritesMayHaveBeenDone(t *testing.T) {
	for _, c := range []struct {
		method  string
		status  int
		want    Kind
		unknown bool
	}{
		{"POST", 595, ErrNodeUnreachable, false}, // Proxmox couldn't connect: nothing was passed on
		{"POST", 596, ErrNodeUnreachable, true},
		{"PUT", 597, ErrNodeUnreachable, true},
		{"DELETE", 599, ErrNodeUnreachable, true},
		{"POST", 502, ErrConnection, true},
		{"POST", 504, ErrConnection, true},
		{"GET", 596, ErrNodeUnreachable, false},
		{"GET", 503, ErrConnection, false},
		{"POST", 500, ErrUnknown, false},
		{"GET", 404, ErrUnknown, false}, // of a reverse proxy: no proof that a VM is missing
	} {
		e := answerError(c.method, "/x", c.status, "", []byte("<html>Bad gateway</html>"))
		if !errors.Is(e, c.want) || errors.Is(e, ErrUnknownOutcome) != c.unknown {
			t.Errorf("%s %d: got %v and %v", c.method, c.status, e.Kind, e.also)
		}
	}
}

func FuzzClassifyingErrorsNeverPanics(f *testing.F) {
	for _, r := range recordedFailures(f) {
		f.Add(r.Status, r.Reason+r.Exit, r.wire())
	}
	f.Add(500, "", []byte(`{"errors":[1],"message":{}}`))
	f.Fuzz(func(t *testing.T, status int, reason string, body []byte) {
		e := answerError("POST", "/x", status, reason, body)
		if e.Kind == "" || e.Text == "" {
			t.Errorf("kind %q, text %q", e.Kind, e.Text)
		}
		_ = e.Error()
		e.hide([]string{"secret"})
		if task := exitError(UPID{}, reason, nil); task.Kind() == "" || !errors.Is(task, ErrTaskFailed) {
			t.Errorf("exit status %q has no kind", reason)
		}
	})
}

// A wrong endpoint may be a server whose answers aren't for those who read errors.
func TestNothingOfAForeignServersAnswerIsRepeated(t *testing.T) {
	for _, body := range []string{"aws_secret_access_key = hunter2", `{"message":"hunter2"}`, `"hunter2"`, `{"errors":{"hunter2":"hunter2"}}`, "<html>hunter2</html>"} {
		for _, status := range []int{400, 401, 403, 404, 500, 502} {
			if e := answerError("GET", "/version", status, http.StatusText(status), []byte(body)); strings.Contains(fmt.Sprintf("%v %+v", e, *e), "hunter2") {
				t.Errorf("%d %s: %v", status, body, e)
			}
		}
	}
	e := answerError("GET", "/version", 500, "", []byte(`{"data":null,"message":"no such thing\n"}`))
	if e.Text != "no such thing" {
		t.Errorf("Proxmox's own words are missing: %v", e)
	}
}
