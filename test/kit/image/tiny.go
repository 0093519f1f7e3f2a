package image

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// tinyInit is the program that is all of the tiny guest.
const tinyInit = "github.com/proxplane/proxplane/test/kit/image/tiny"

// applets are the names under which busybox is called.
var applets = strings.Fields(`sh ip mount umount cat ls ping sleep dmesg sync mkdir rm touch grep udhcpc id uname hostname free poweroff
	stty date wc head tail dd tr cut sed test echo printf stat find true false nslookup nc`)

// dhcpScript is what busybox' DHCP client runs.
const dhcpScript = `#!/bin/sh
case "$1" in
bound|renew)
	ip addr add "$ip/$mask" dev "$interface"
	[ -n "$router" ] && ip route add default via "$router" dev "$interface"
	;;
esac
exit 0
`

// TinyInitrd builds the tiny guest: the file system that its kernel unpacks.
func TinyInitrd(ctx context.Context) (path string, err error) {
	deb, err := kernelPackage(ctx)
	if err != nil {
		return "", err
	}
	box, err := Package(ctx, "busybox-static")
	if err != nil {
		return "", err
	}
	init, err := buildInit(ctx)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(filepath.Dir(init))
	var keys []string
	for _, f := range []string{deb, box, init} {
		k, err := fileKey(f)
		if err != nil {
			return "", err
		}
		keys = append(keys, k)
	}
	id := key(append(slices.Concat(keys, applets, modules), dhcpScript, "3")...)
	return once("tiny-"+id+".cpio", func(path string) error { return writeTiny(ctx, path, deb, box, init) })
}

// buildInit compiles the guest's program, into a folder of its own.
func buildInit(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "tiny-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "init")
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", path, tinyInit)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the tiny guest: %w: %s", err, out)
	}
	return path, nil
}

// TinyDisk makes what the tiny guest has for a disk: nothing, of a small size.
func TinyDisk() (path string, err error) {
	const size = 64 << 20
	return once("tiny.raw", func(path string) error {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			return err
		}
		return os.Truncate(path, size)
	})
}

func writeTiny(ctx context.Context, path, deb, box, init string) error {
	k, err := readKernel(ctx, deb, modules)
	if err != nil {
		return err
	}
	const busybox = "bin/busybox"
	programs, err := files(ctx, box, func(name string) bool { return name == busybox || name == "usr/"+busybox })
	if err != nil {
		return err
	}
	program, err := os.ReadFile(init)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	a := &archive{out: &out}
	for _, dir := range strings.Fields("bin dev proc sys run tmp etc lib lib/modules mnt sysroot root var") {
		a.entry(dir, modeDir, nil)
	}
	a.entry("init", modeFile, program)
	for _, data := range programs {
		a.entry(busybox, modeFile, data)
	}
	for _, name := range applets {
		a.entry("bin/"+name, modeLink, []byte("busybox"))
	}
	a.entry("bin/udhcpc.script", modeFile, []byte(dhcpScript))
	for _, name := range k.order {
		a.entry("lib/modules/"+name, modeFile, k.modules[name])
	}
	a.entry("lib/modules/order", modeFile, []byte(strings.Join(k.order, "\n")))
	if err := a.close(); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
