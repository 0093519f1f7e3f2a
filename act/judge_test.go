package act

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
)

func TestEveryErrorIsJudgedAndHintsSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		err   error
		class Class
		hint  string // part of it
	}{
		{&pve.Error{Kind: pve.ErrUnauthorized, Status: 401, Text: "authentication failure"}, Fatal, "user@realm!name"},
		{&pve.Error{Kind: pve.ErrForbidden, Status: 403, PermPath: "/vms/101", Privs: []string{"VM.Config.Memory"}, Text: "Permission check failed (/vms/101, VM.Config.Memory)"}, Hard, "grant VM.Config.Memory on /vms/101"},
		{&pve.Error{Kind: pve.ErrForbidden, PermPath: "/storage/x", Privs: []string{"A.B", "C.D"}, AnyPriv: true}, Hard, "grant A.B on /storage/x"},
		{&pve.Error{Kind: pve.ErrForbidden}, Hard, string(model.CheckPrivs)},
		{&pve.Error{Kind: pve.ErrRootOnly}, Hard, "root@pam"},
		{&pve.Error{Kind: pve.ErrInvalid, Fields: map[string]string{"memory": "no"}}, Hard, "correct them"},
		{&pve.Error{Kind: pve.ErrLocked, Lock: "backup"}, Busy, "a backup is under way"},
		{&pve.Error{Kind: pve.ErrLockTimeout}, Busy, "tried again"},
		{&pve.Error{Kind: pve.ErrModified}, Mistaken, ""},
		{&pve.Error{Kind: pve.ErrRunning}, Mistaken, ""},
		{&pve.Error{Kind: pve.ErrNoSpace}, Full, "free space"},
		{&pve.Error{Kind: pve.ErrNodeUnreachable, Status: 595}, Away, "is it up"},
		{&pve.Error{Kind: pve.ErrConnection}, Away, "endpoint"},
		{&pve.Error{Kind: pve.ErrConnection, Err: &tls.CertificateVerificationError{}}, Away, string(model.TrustCA)},
		{&pve.Error{Kind: pve.ErrConnection, Err: &pve.FingerprintError{Got: "AB:CD"}}, Away, "AB:CD"},
		{&pve.Error{Kind: pve.ErrUnknownOutcome}, Lost, ""},
		{&pve.Error{Kind: pve.ErrChecksum}, Hard, "checksum"},
		{&pve.Error{Kind: pve.ErrNotFound, Subject: "storage fast"}, Hard, string(model.CheckStorage)},
		{&pve.Error{Kind: pve.ErrNotFound, Subject: "pool web", Status: 403}, Hard, "pveum pool add web"},
		{&pve.Error{Kind: pve.ErrNotFound, Subject: "bridge vmbr9"}, Hard, string(model.CheckBridge)},
		{&pve.Error{Kind: pve.ErrNotFound, Subject: "path /srv/data"}, Hard, string(model.MakeDirectory)},
		{&pve.Error{Kind: pve.ErrNotFound, Subject: "vm 100"}, Passing, ""},
		{&pve.Error{Kind: pve.ErrDownload}, Passing, "must be able to reach it"},
		{&pve.Error{Kind: pve.ErrExists, Subject: "vm 100"}, Passing, "VM.Audit"},
		{&pve.Error{Kind: pve.ErrUnknown, Text: "start failed: QEMU exited with code 1"}, Passing, ""},
		{fmt.Errorf("x: %w", ErrNotOurs), Hard, "description"},
		{fmt.Errorf("x: %w", context.Canceled), Stopped, ""},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), Stopped, ""},
		{&pve.Error{Kind: pve.ErrUnknownOutcome, Err: context.Canceled}, Stopped, ""},
		{&pve.Error{Kind: pve.ErrUnknownOutcome, Err: context.DeadlineExceeded}, Lost, ""},
		{&pve.Error{Kind: pve.ErrConnection, Err: context.DeadlineExceeded}, Away, "endpoint"},
	} {
		got := Judge(fmt.Errorf("start VM 100: %w", c.err))
		if got.Class != c.class || !strings.Contains(got.Hint.String(), c.hint) || c.hint == "" && !got.Hint.None() {
			t.Errorf("%v: class %v, hint %q", c.err, got.Class, got.Hint)
		}
		if e, ok := c.err.(*pve.Error); ok && (got.Lacks != nil) != (len(e.Privs) > 0) {
			t.Errorf("%v: %+v is missing", c.err, got.Lacks)
		}
	}
}

func TestFailuresSayWhatProxmoxSaid(t *testing.T) {
	err := fmt.Errorf("configure VM 1: %w", &pve.Error{
		Kind: pve.ErrInvalid, Method: "PUT", Path: "/nodes/a/qemu/1/config", Text: "Parameter verification failed.", Fields: map[string]string{"memory": "type check ('integer') failed"},
	})
	if got := Judge(err).Text; got != "memory: type check ('integer') failed" {
		t.Errorf("%q", got)
	}
	if got := Judge(&pve.Error{Kind: pve.ErrNoSpace, Method: "POST", Path: "/x", Text: "no space left on device\n"}).Text; got != "no space left on device" {
		t.Errorf("%q", got)
	}
}

func TestDrivesAreSpelledAsProxmoxTakesThem(t *testing.T) {
	for want, d := range map[string]model.NewDisk{
		"lvm:32":                    {Disk: model.Disk{Storage: "lvm", Size: 32 << 30}},
		"lvm:0.5":                   {Disk: model.Disk{Storage: "lvm", Size: 512 << 20}},
		"nfs:cloudinit,media=cdrom": {Disk: model.Disk{Storage: "nfs", CloudInit: true, CDROM: true}},
		"none,media=cdrom":          {Disk: model.Disk{Volume: "none", CDROM: true}},
		"nfs:0,import-from=local:import/a.qcow2,format=qcow2": {Disk: model.Disk{Storage: "nfs", Size: 8 << 30, Format: "qcow2"}, Import: "local:import/a.qcow2"},
		"nfs:1/vm-1-disk-0.qcow2,discard=on,ssd=1":            {Disk: model.Disk{Volume: "nfs:1/vm-1-disk-0.qcow2", Format: "qcow2", Options: map[string]string{"ssd": "1", "discard": "on", "cache": ""}}},
		"lvm:1,efitype=4m,pre-enrolled-keys=1":                {Disk: model.Disk{Slot: "efidisk0", Storage: "lvm", Size: 1 << 30, Options: map[string]string{"efitype": "4m", "pre-enrolled-keys": "1"}}},
	} {
		if got := diskText(d); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWorkIsCountedOnTheStorageThatItKeepsBusy(t *testing.T) {
	have := &model.Observed{
		Storages: map[string]*model.Storage{"nfs": {Name: "nfs", Shared: true}, "lvm": {Name: "lvm", Type: "lvm"}},
		Guests: map[int]*model.Guest{
			1: {VMID: 1, Config: &model.Config{Disks: []model.Disk{{Slot: "ide2", CDROM: true, Storage: "iso"}, {Slot: "scsi0", Storage: "nfs"}, {Slot: "scsi1", Storage: "lvm"}}}},
		},
	}
	at := model.Target{VMID: 1}
	for _, c := range []struct {
		action model.Action
		want   Storage
	}{
		{model.Clone{From: at}, Storage{"nfs", true}},
		{model.Clone{From: at, Full: true, Storage: "lvm"}, Storage{"lvm", false}},
		{model.Resize{Target: at, Slot: "scsi1"}, Storage{"lvm", false}},
		{model.Destroy{Target: at}, Storage{"nfs", true}},
		{model.UploadSeed{Storage: "nfs"}, Storage{"nfs", true}},
		{model.RemoveFile{Volume: "nfs:iso/proxplane-1.iso"}, Storage{"nfs", true}},
		{model.Configure{Target: at}, Storage{}},
		{model.Configure{Target: at, Disks: []model.NewDisk{{Disk: model.Disk{Storage: "lvm"}}}}, Storage{"lvm", false}},
		{model.Start{Target: at}, Storage{}},
		{model.Clone{From: model.Target{VMID: 9}}, Storage{}},
	} {
		if got := On(c.action, have); got != c.want {
			t.Errorf("%s: %v, want %v", Words(c.action), got, c.want)
		}
	}
}

func TestProgressIsReadFromTheEndOfTheLog(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  float64
	}{
		{[]string{"create full clone of drive scsi0", "transferred 0.0 B of 2.0 GiB (0.00%)", "transferred 1.0 GiB of 2.0 GiB (50.00%)"}, 0.5},
		{[]string{"drive-scsi0: transferred 2.0 GiB of 2.0 GiB (100.00%) in 3s", "all 'mirror' jobs are ready"}, 1},
		{[]string{" 51200K ........ ........ ........ ........ 12% 93.1M 4s"}, 0.12},
		{[]string{"create linked clone of drive scsi0"}, -1},
		{nil, -1},
	} {
		if got := progress(c.lines); got != c.want {
			t.Errorf("%v: %v, want %v", c.lines, got, c.want)
		}
	}
}
