package act

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/host/ssh"
	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

// What a person is told about each kind of failure, in full.
func TestHintsInFull(t *testing.T) {
	e := func(kind pve.Kind) *pve.Error { return &pve.Error{Kind: kind, Text: "no"} }
	for _, c := range []struct {
		err  error
		want model.Advice
	}{
		{&pve.Error{Kind: pve.ErrLocked}, model.Advice{Text: "an operation is under way; it is waited for"}},
		{&pve.Error{Kind: pve.ErrLocked, Lock: "suspended"}, model.Advice{Text: "the VM is hibernated: resume it"}},
		{e(pve.ErrNoQuorum), model.Advice{Text: "too few nodes of the cluster are up: pvecm status"}},
		{e(pve.ErrURL), model.Advice{Text: "correct the URL, or put the file there"}},
		{&pve.Error{Kind: pve.ErrExists, Subject: "storage x"}, model.Advice{}},
		{&pve.Error{Kind: pve.ErrNotFound, Fields: map[string]string{"upid": "x"}}, model.Advice{Text: "the task isn't known any more, perhaps since its node went down; what it has done is looked at"}},
		{&pve.Error{Kind: pve.ErrNotFound, Fields: map[string]string{"vmid": "x"}}, model.Advice{}},
		{e(pve.ErrAgentNotConfigured), model.Advice{Text: "the VM has no guest agent configured, so it can't tell its addresses: set the option agent"}},
		{e(pve.ErrHotplug), model.Advice{Text: "the running VM couldn't take it, and it is pending: a restart applies it"}},
		{e(pve.ErrTimeout), model.Advice{Text: "it took longer than Proxmox waits; see the task's log in Proxmox"}},
		{e(pve.ErrTooManyCPUs), model.Advice{Text: "ask for fewer CPUs, or migrate the VM to a node that has as many"}},
		{e(pve.ErrInvalid), model.Advice{}},
		{&pve.Error{Kind: pve.ErrInvalid, Fields: map[string]string{"upid": "x"}}, model.Advice{Text: "Proxmox doesn't take these values: correct them"}},
		{&pve.Error{Kind: pve.ErrForbidden, Privs: []string{"A"}}, model.Advice{Do: model.CheckPrivs}},
		{e(pve.ErrIgnored), model.Advice{Do: model.StopGuest}},
		{e(pve.ErrNoSnapshots), model.Advice{Do: model.MoveDisks}},
		{e(pve.ErrSnapshots), model.Advice{Do: model.DropSnapshots}},
		{&pve.Error{Kind: pve.ErrForbidden, PermPath: "/vms/1"}, model.Advice{Do: model.CheckPrivs}},
		{&pve.Error{Kind: pve.ErrForbidden, PermPath: "/vms/1", Privs: []string{"A", "B"}}, model.Advice{Text: "grant A and B on /vms/1"}},
		{&pve.Error{Kind: pve.ErrNoSpace, PermPath: "/x", Privs: []string{"A"}}, model.Advice{Text: "free space on the storage, or name another one"}},
		{fmt.Errorf("x: %w", ErrNoSSH), model.Advice{Do: model.NameSSH}},
		{fmt.Errorf("x: %w", ssh.ErrKey), model.Advice{Do: model.CheckSSHKey}},
		{fmt.Errorf("x: %w", ssh.ErrUnreachable), model.Advice{Do: model.OpenSSH}},
		{errors.New("something else"), model.Advice{}},
	} {
		if diff := cmp.Diff(c.want, hint(fmt.Errorf("x: %w", c.err))); diff != "" {
			t.Errorf("%v: %s", c.err, diff)
		}
	}
}

// What is lacking is told of refusals alone.
func TestOnlyRefusalsLackPrivileges(t *testing.T) {
	if l := Judge(&pve.Error{Kind: pve.ErrNoSpace, PermPath: "/x", Privs: []string{"A"}}).Lacks; l != nil {
		t.Errorf("%+v", l)
	}
}

func TestWorkOnNoStorageIsCountedOnNone(t *testing.T) {
	c, err := pve.New(pve.Config{Endpoints: []string{"https://pve1:8006"}, Credentials: pve.Password("root@pam", "secret")})
	if err != nil {
		t.Fatal(err)
	}
	if (Storage{}).client(c) != c || (Storage{Name: "nfs"}).client(c) == c {
		t.Error("work is counted on a storage that it keeps busy, and on no other")
	}
}

// Proxmox' words are told, without ours around them; of a task that failed also what its log says.
func TestTextsOfFailures(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&pve.TaskError{ExitStatus: " it failed\n"}, "it failed"},
		{&pve.TaskError{ExitStatus: "start failed: QEMU exited with code 1", Log: []string{"kvm: no such machine"}}, "start failed: QEMU exited with code 1 (no such machine)"},
		{&pve.TaskError{ExitStatus: "QEMU exited: no such machine", Log: []string{"kvm: no such machine"}}, "QEMU exited: no such machine"},
		{&pve.Error{Kind: pve.ErrUnknownOutcome, Method: "POST", Path: "/x", Text: "lost"}, (&pve.Error{Kind: pve.ErrUnknownOutcome, Method: "POST", Path: "/x", Text: "lost"}).Error()},
		{&pve.Error{Kind: pve.ErrInvalid, Text: "bad", Fields: map[string]string{"b": "2", "a": "1"}}, "a: 1; b: 2"},
		{&pve.Error{Kind: pve.ErrLocked, Method: "PUT", Path: "/x"}, (&pve.Error{Kind: pve.ErrLocked, Method: "PUT", Path: "/x"}).Error()},
		{errors.New("ours"), "ours"},
	} {
		if got := textOf(c.err); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A refusal names what the action needs, and not all that would do for the call.
func TestARefusalNamesWhatTheActionNeeds(t *testing.T) {
	change := model.Configure{Target: model.Target{VMID: 1}, Set: map[string]string{"cores": "2"}}
	for _, c := range []struct {
		err   pve.Error
		privs []string
		any   bool
	}{
		{pve.Error{Kind: pve.ErrForbidden, AnyPriv: true, Privs: []string{"VM.Config.Disk", "VM.Config.CPU"}}, []string{"VM.Config.CPU"}, false},
		{pve.Error{Kind: pve.ErrForbidden, AnyPriv: true, Privs: []string{"VM.Config.Disk", "VM.Config.Memory"}}, []string{"VM.Config.Disk", "VM.Config.Memory"}, true},
		{pve.Error{Kind: pve.ErrForbidden, Privs: []string{"VM.Config.Disk", "VM.Config.CPU"}}, []string{"VM.Config.Disk", "VM.Config.CPU"}, false},
		{pve.Error{Kind: pve.ErrInvalid, AnyPriv: true, Privs: []string{"VM.Config.Disk", "VM.Config.CPU"}}, []string{"VM.Config.Disk", "VM.Config.CPU"}, true},
	} {
		e := c.err
		_ = exactly(change, fmt.Errorf("x: %w", &e))
		if diff := cmp.Diff(c.privs, e.Privs); diff != "" || e.AnyPriv != c.any {
			t.Errorf("%+v: any %t %s", c.err, e.AnyPriv, diff)
		}
	}
}

func TestWhatIsKnownOfAGuestWhenItIsPlanned(t *testing.T) {
	owner := model.Owner{Door: "vm", Set: "s", Key: model.Key{Kind: "VirtualMachine", Name: "web"}}
	have := &model.Observed{Guests: map[int]*model.Guest{
		1: {VMID: 1, Node: "pve1", Config: &model.Config{Marker: &model.Marker{Owner: owner}}},
		2: {VMID: 2, Node: "pve1", Config: &model.Config{}},
		3: {VMID: 3, Node: "pve1"},
	}}
	for id, want := range map[int]Known{1: {Node: "pve1", Owner: owner}, 2: {}, 3: {}, 4: {}} {
		if got := Know(model.Start{Target: model.Target{VMID: id}}, have); !reflect.DeepEqual(got, want) {
			t.Errorf("%d: %+v", id, got)
		}
	}
}

func TestStoragesThatActionsKeepBusy(t *testing.T) {
	have := &model.Observed{
		Storages: map[string]*model.Storage{"thin": {Name: "thin", Type: "lvmthin"}, "lvm": {Name: "lvm", Type: "lvm"}, "nfs": {Name: "nfs", Type: "nfs", Shared: true}},
		Guests: map[int]*model.Guest{
			1: {VMID: 1, Config: &model.Config{Disks: []model.Disk{{Slot: "scsi9", Volume: "/dev/sdx"}, {Slot: "scsi0", Storage: "nfs"}, {Slot: "scsi1", Storage: "thin"}, {Slot: "scsi2", Storage: "lvm"}, {Slot: "scsi3", Storage: "hidden"}}}},
			2: {VMID: 2},
		},
	}
	at := model.Target{VMID: 1}
	for _, c := range []struct {
		action model.Action
		want   Storage
	}{
		{model.Clone{From: at, Storage: "lvm"}, Storage{"nfs", true}}, // a linked clone is where its source is
		{model.Clone{From: at, Full: true}, Storage{"nfs", true}},
		{model.Clone{From: model.Target{VMID: 2}}, Storage{}},
		{model.Resize{Target: at, Slot: "scsi0"}, Storage{}},
		{model.Resize{Target: at, Slot: "scsi1"}, Storage{"thin", false}},
		{model.Resize{Target: at, Slot: "scsi2"}, Storage{"lvm", false}},
		{model.Resize{Target: at, Slot: "scsi3"}, Storage{"hidden", false}},
		{model.MoveDisk{Target: at, Slot: "scsi0", Storage: "lvm"}, Storage{"lvm", false}},
		{model.Download{Storage: "nfs"}, Storage{"nfs", true}},
		{model.RemoveDisk{Volume: "thin:x"}, Storage{"thin", false}},
		{model.Create{Disks: []model.NewDisk{{Disk: model.Disk{Volume: "nfs:iso/x", Storage: "nfs"}}, {Disk: model.Disk{}}, {Disk: model.Disk{Storage: "lvm"}}}}, Storage{"lvm", false}},
	} {
		if got := On(c.action, have); got != c.want {
			t.Errorf("%s: %v, want %v", Words(c.action), got, c.want)
		}
	}
}

func TestProgressThatMakesNoSense(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  float64
	}{
		{[]string{"50%", "nothing", "101%"}, 0.5},
		{[]string{"100%"}, 1},
		{[]string{"101%"}, -1},
	} {
		if got := progress(c.lines); got != c.want {
			t.Errorf("%v: %v", c.lines, got)
		}
	}
}
