package guest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/test/kit/image"
	"github.com/proxplane/proxplane/test/kit/need"
)

// folder makes a directory of this host to be shared, with a file in it.
func (l *lab) folder(name string) string {
	l.t.Helper()
	dir := filepath.Join(l.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		l.t.Fatal(err)
	}
	l.write(filepath.Join(dir, "from-host"), "host of "+name)
	return dir
}

func (l *lab) write(path, text string) {
	l.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// bothWays makes sure that a share can be read and written from both sides.
func (l *lab) bothWays(vm pve.VM, mounted, dir string) {
	l.t.Helper()
	l.has(vm, "cat "+mounted+"/from-host", "host of "+filepath.Base(dir))
	l.sh(vm, "echo guest > "+mounted+"/from-guest && sync")
	if got, err := os.ReadFile(filepath.Join(dir, "from-guest")); err != nil || string(got) != "guest\n" {
		l.t.Errorf("%s: the host reads %q, %v", mounted, got, err)
	}
	l.write(filepath.Join(dir, "later"), "later")
	l.has(vm, "cat "+mounted+"/later", "later")
}

// onlyRead makes sure that a guest can't write to a share.
func (l *lab) onlyRead(vm pve.VM, mounted, dir string) {
	l.t.Helper()
	l.has(vm, "cat "+mounted+"/from-host", "host of "+filepath.Base(dir))
	l.has(vm, "touch "+mounted+"/from-guest 2>&1 || true", fmt.Sprintf("touch: %s/from-guest: Read-only file system", mounted))
	if _, err := os.Stat(filepath.Join(dir, "from-guest")); err == nil {
		l.t.Errorf("%s: the guest has written to the host", mounted)
	}
}

func TestDirectoriesAreShared(t *testing.T) {
	t.Parallel()
	l := newLab(t, tinyWorld(t))
	data, nine, fixed := l.folder("data"), l.folder("nine, and a comma"), l.folder("fixed")
	l.apply(fmt.Sprintf(`apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: shares}
spec:
  classRef: {name: small}
  imageRef: {name: tiny}
  networks: [{name: lan, bridge: vmbr0}]
  filesystems:
  - {type: virtiofs, source: %q, tag: data}
  - {type: 9p, source: %q, tag: nine}
  - {type: 9p, source: %q, tag: fixed, readOnly: true}
  userData:
    cloudInit:
      inline: |
        #cloud-config
        mounts:
        - [data, /mnt/data, virtiofs]
        - [nine, /mnt/nine, 9p, "trans=virtio,version=9p2000.L"]
        - [fixed, /mnt/fixed, 9p, "trans=virtio,version=9p2000.L"]
  agent: {waitForAddress: true}
`, data, nine, fixed))
	vm := l.vm("shares")
	l.shows(vm, "ls /run/tiny.done", "/run/tiny.done")
	l.bothWays(vm, "/mnt/data", data)
	l.bothWays(vm, "/mnt/nine", nine)
	l.onlyRead(vm, "/mnt/fixed", fixed)
}

// hookVolume is the hook, on a storage.
func hookVolume(t *testing.T) pvesim.WorldVolume {
	t.Helper()
	program, err := os.Executable() // see TestMain
	if err != nil {
		t.Fatal(err)
	}
	return pvesim.WorldVolume{Name: "snippets/proxplane-hook", File: program}
}

// allow says on the node what the hook may do.
func (l *lab) allow(policy string) {
	l.t.Helper()
	l.write(filepath.Join(l.dir, "qemu", "nodes", "pve1", "etc", "proxplane", "hook.yaml"), policy)
}

func TestTheHookDoesWhatTheManifestAsksFor(t *testing.T) {
	t.Parallel()
	t.Run("with the distribution's virtiofsd", func(t *testing.T) {
		t.Parallel()
		hookDoesWhatTheManifestAsksFor(t, "")
	})
	t.Run("with the virtiofsd in Rust", func(t *testing.T) {
		t.Parallel()
		program, err := image.Virtiofsd(t.Context())
		need.None(t, err)
		hookDoesWhatTheManifestAsksFor(t, "virtiofsd: "+program+"\n")
	})
}

// hookLab is a lab with our hook and three hookscripts, which write down in a file when they were called.
func hookLab(t *testing.T) (l *lab, calls string) {
	t.Helper()
	w := tinyWorld(t)
	calls = filepath.Join(t.TempDir(), "calls")
	volumes := []pvesim.WorldVolume{hookVolume(t)}
	for _, name := range []string{"a", "b", "c"} {
		volumes = append(volumes, pvesim.WorldVolume{Name: "snippets/" + name + ".sh", Text: fmt.Sprintf("#!/bin/sh\necho %s $2 >> %s\n", name, calls)})
	}
	w.Storages[0].Volumes = append(w.Storages[0].Volumes, volumes...)
	return newLab(t, w), calls
}

func hookDoesWhatTheManifestAsksFor(t *testing.T, daemon string) {
	t.Helper()
	l, calls := hookLab(t)
	data, fixed := l.folder("data"), l.folder("fixed")
	l.allow(daemon + fmt.Sprintf(`rules:
- vms: [all]
  shares: [{path: %q}, {path: %q, readOnly: true}]
  scripts: ["local:snippets/a.sh", "local:snippets/b.sh", "local:snippets/c.sh"]
  seeds: ["local:iso/proxplane-*.iso"]
`, data, fixed))
	l.apply(fmt.Sprintf(`apiVersion: infra.virtrigaud.io/v1beta1
kind: VirtualMachine
metadata: {name: hooked}
spec:
  classRef: {name: small}
  imageRef: {name: tiny}
  networks: [{name: lan, bridge: vmbr0}]
  filesystems:
  - {type: virtiofs, source: %q, tag: data, via: hook}
  - {type: virtiofs, source: %q, tag: fixed, readOnly: true}
  hookscripts: ["local:snippets/b.sh", "local:snippets/a.sh", "local:snippets/c.sh"]
  userData:
    delivery: fwcfg
    butane:
      inline: |
        variant: flatcar
        version: 1.1.0
        storage: {files: [{path: /etc/hello, contents: {inline: "from ${vm_name}"}}]}
  agent: {waitForAddress: true}
`, data, fixed))
	vm := l.vm("hooked")
	config := l.sh(vm, "cat /run/fw_cfg/opt/org.flatcar-linux/config")
	if !strings.Contains(config, `"path":"/etc/hello"`) || !strings.Contains(config, "from%20hooked") {
		t.Errorf("the guest's Ignition config is %s", config)
	}
	for _, tag := range []string{"data", "fixed"} {
		l.sh(vm, fmt.Sprintf("mkdir -p /mnt/%[1]s; grep -q '^%[1]s ' /proc/mounts || mount -t virtiofs %[1]s /mnt/%[1]s", tag))
	}
	l.bothWays(vm, "/mnt/data", data)
	l.onlyRead(vm, "/mnt/fixed", fixed)

	l.power("shutdown", "hooked")
	l.eventually("the last call", func(context.Context) error {
		got, err := os.ReadFile(calls)
		if err == nil && !strings.HasSuffix(string(got), "c post-stop\n") {
			err = fmt.Errorf("calls so far:\n%s", got)
		}
		return err
	})
	var want []string
	for _, phase := range []string{"pre-start", "post-start", "pre-stop", "post-stop"} {
		for _, name := range []string{"b", "a", "c"} {
			want = append(want, name+" "+phase)
		}
	}
	got, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(string(got)), "\n")); diff != "" {
		t.Errorf("calls of the hookscripts (-want +got):\n%s", diff)
	}
}
