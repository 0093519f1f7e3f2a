package pve

import (
	"errors"
	"testing"
)

func TestTheLogTellsWhatTheExitStatusDoesNot(t *testing.T) {
	for _, c := range []struct {
		exit    string
		log     []string
		want    string
		missing string // what isn't there
	}{
		{exit: "download failed: exit code 8", want: "404: Not Found", log: []string{
			"--2026-11-15 04:00:00--  https://images.example.com/missing.qcow2",
			"HTTP request sent, awaiting response... 404 Not Found",
			"2026-11-15 04:00:01 ERROR 404: Not Found.",
			"",
			"TASK ERROR: download failed: exit code 8",
		}},
		{exit: "migration aborted", want: "storage migration for 'lvm:vm-5-cloudinit' to storage 'lvm' failed - volume 'lvm:vm-5-cloudinit' already exists", log: []string{
			"2026-11-15 04:00:00 ERROR: storage migration for 'lvm:vm-5-cloudinit' to storage 'lvm' failed - volume 'lvm:vm-5-cloudinit' already exists",
			"2026-11-15 04:00:00 aborting phase 1 - cleanup resources",
			"2026-11-15 04:00:00 ERROR: migration aborted (duration 00:00:02): storage migration for 'lvm:vm-5-cloudinit' to storage 'lvm' failed - volume 'lvm:vm-5-cloudinit' already exists",
			"TASK ERROR: migration aborted",
		}},
		{exit: "migration aborted", want: "can't migrate local disk 'local:iso/seed.iso': local cdrom image", log: []string{
			"2026-11-15 04:00:00 found local disk 'local:iso/seed.iso' (referenced by snapshot(s))",
			"2026-11-15 04:00:00 can't migrate local disk 'local:iso/seed.iso': local cdrom image",
			"2026-11-15 04:00:00 ERROR: Problem found while scanning volumes - can't migrate VM - check log",
			"2026-11-15 04:00:00 aborting phase 1 - cleanup resources",
			"2026-11-15 04:00:00 ERROR: migration aborted (duration 00:00:01): Problem found while scanning volumes - can't migrate VM - check log",
			"TASK ERROR: migration aborted",
		}},
		{exit: "clone failed", log: []string{"ERROR", "ERRORS 12: x", "kvm: no", "TASK ERROR: clone failed"}},
		{exit: "start failed: QEMU exited with code 1", missing: "path /srv/a b", want: "cannot initialize fsdev 'p9fs0': failed to open '/srv/a b': No such file or directory", log: []string{
			"generating cloud-init ISO",
			"kvm: warning: TCG doesn't support requested feature",
			"kvm: -virtfs local,path=/srv/a b,mount_tag=nine,id=p9fs0: cannot initialize fsdev 'p9fs0': failed to open '/srv/a b': No such file or directory",
			"TASK ERROR: start failed: QEMU exited with code 1",
		}},
		{exit: "start failed: QEMU exited with code 1", want: "failed to initialize kvm: Permission denied", log: []string{
			"kvm: failed to initialize kvm: Permission denied", "TASK ERROR: start failed: QEMU exited with code 1",
		}},
		{exit: "start failed: QEMU exited with code 1", missing: "bridge vmbr9", want: "bridge 'vmbr9' does not exist", log: []string{
			"bridge 'vmbr9' does not exist",
			"kvm: -netdev type=tap,id=net0,script=/usr/libexec/qemu-server/pve-bridge: network script /usr/libexec/qemu-server/pve-bridge failed with status 512",
			"TASK ERROR: start failed: QEMU exited with code 1",
		}},
		{exit: "start failed: QEMU exited with code 1", want: "vfio 0000:01:00.0: failed to open /dev/vfio/1: No such file or directory", log: []string{
			"kvm: -device vfio-pci,host=0000:01:00.0,id=hostpci0: vfio 0000:01:00.0: failed to open /dev/vfio/1: No such file or directory",
		}},
		{exit: "hookscript error for 100 on pre-start: command '/x 100 pre-start' failed: exit code 1", missing: "path /srv/none", want: "share /srv/none: there is no such directory", log: []string{
			"proxplane: VM 100: shares /srv/a at /run/proxplane/virtiofs/vm100-fs0",
			"proxplane: VM 100: share /srv/none: there is no such directory",
			"TASK ERROR: hookscript error for 100 on pre-start: command '/x 100 pre-start' failed: exit code 1",
		}},
		{exit: "hookscript error for 100 on pre-start: command '/x 100 pre-start' failed: exit code 2", want: "the licence has ended", log: []string{"hello", "the licence has ended"}},
		{exit: "hookscript error for 100 on pre-start: command '/x 100 pre-start' failed: exit code 2"},
	} {
		err := exitError(UPID{}, c.exit, c.log)
		if got := err.Detail(); got != c.want {
			t.Errorf("%s: %q, want %q", c.exit, got, c.want)
		}
		var cause *Error
		if c.missing != "" && (!errors.Is(err, ErrNotFound) || !errors.As(err, &cause) || cause.Subject != c.missing) {
			t.Errorf("%s: kind %s of %+v, want that %s is missing", c.exit, err.Kind(), cause, c.missing)
		}
		if c.missing == "" && errors.Is(err, ErrNotFound) {
			t.Errorf("%s: something is missing", c.exit)
		}
	}
}

func TestAURLIsWrongIfItsServerSaysSoForGood(t *testing.T) {
	for said, want := range map[string]bool{
		"404: Not Found": true, "403: Forbidden": true, "410: Gone": true, "451: Unavailable For Legal Reasons": true,
		"408: Request Timeout": false, "425: Too Early": false, "429: Too Many Requests": false, "503: Service Unavailable": false,
	} {
		err := exitError(UPID{}, "download failed: exit code 8", []string{"2026-11-15 04:00:01 ERROR " + said + "."})
		if errors.Is(err, ErrURL) != want || !errors.Is(err, ErrDownload) {
			t.Errorf("%s: wrong URL %v, failed download %v", said, errors.Is(err, ErrURL), errors.Is(err, ErrDownload))
		}
	}
	for said, want := range map[string]bool{
		"invalid server response: '404 Not Found'":                                           true,
		"invalid server response: '500 Can't connect to a.example:443 (Connection refused)'": false,
		"invalid server response: '405 Method Not Allowed'":                                  false,
	} {
		err := &Error{Text: said, Status: 500}
		err.Kind = err.classifyText(said)
		if errors.Is(err, ErrURL) != want || !errors.Is(err, ErrDownload) {
			t.Errorf("%s: wrong URL %v, failed download %v", said, errors.Is(err, ErrURL), errors.Is(err, ErrDownload))
		}
	}
	if errors.Is(exitError(UPID{}, "download failed: wget: unable to resolve host address 'x'", nil), ErrURL) {
		t.Error("a name that can't be resolved now is a wrong URL")
	}
}
