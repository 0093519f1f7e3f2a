package image

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// debianPackages are those that are asked for; others come with them. There is
// no kernel: the tiny guest's starts it, with its modules.
var debianPackages = strings.Fields(`systemd-sysv udev dbus kmod iproute2 procps sudo
	cloud-init cloud-guest-utils qemu-guest-agent openssh-server e2fsprogs fdisk gdisk`)

// unwanted is what of packages is left away.
var unwanted = strings.Fields(`/usr/share/man/* /usr/share/locale/* /usr/share/doc/* /usr/share/info/*`)

// debianFiles is what is changed in Debian: files that are added, and a script.
//
//go:embed debian
var debianFiles embed.FS

// debianMiB is the size of the disk. The rest of it is for guests that have no
// more.
const debianMiB = 1024

// Debian builds a disk with this machine's Debian release: systemd, cloud-init,
// QEMU's guest agent and an SSH server from its packages, and Ignition. The tiny
// guest starts it when the kernel is told tiny.root=/dev/sda1. Only root can
// build it.
func Debian(ctx context.Context, ignition string, say io.Writer) (path string, err error) {
	if os.Geteuid() != 0 {
		return "", errors.New("only root can build a Debian guest")
	}
	system, err := debianSystem(ctx, say)
	if err != nil {
		return "", err
	}
	parts := []string{filepath.Base(system), fmt.Sprint(debianMiB)}
	id, err := fileKey(ignition)
	if err != nil {
		return "", err
	}
	parts = append(parts, id)
	err = fs.WalkDir(debianFiles, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := debianFiles.ReadFile(path)
		parts = append(parts, path, string(data))
		return err
	})
	if err != nil {
		return "", err
	}
	return once("debian-"+key(parts...)+".qcow2", func(path string) error {
		work, err := os.MkdirTemp("", "debian-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(work)
		return debianDisk(ctx, work, system, ignition, path)
	})
}

// debianSystem is an archive of the installed packages.
func debianSystem(ctx context.Context, say io.Writer) (string, error) {
	release, err := debianRelease()
	if err != nil {
		return "", err
	}
	parts := append([]string{release}, unwanted...)
	for _, name := range debianPackages {
		sum, err := checksum(ctx, name)
		if err != nil {
			return "", err
		}
		parts = append(parts, name, sum)
	}
	return once("debian-"+key(parts...)+".tar", func(path string) error {
		fmt.Fprintf(say, "installing Debian %s for guests from its packages: some minutes, once\n", release)
		began := time.Now()
		if err := bootstrap(ctx, release, path); err != nil {
			return err
		}
		fmt.Fprintf(say, "  installed in %s\n", time.Since(began).Round(time.Second))
		return nil
	})
}

// bootstrap installs the packages, which come from where this machine's come
// from.
func bootstrap(ctx context.Context, release, path string) error {
	sources := "/etc/apt/sources.list.d/debian.sources"
	if _, err := os.Stat(sources); err != nil {
		sources = "/etc/apt/sources.list"
	}
	settings, err := output(ctx, "", "apt-config", "dump", "Acquire")
	if err != nil {
		return err
	}
	options, err := os.CreateTemp("", "apt-")
	if err != nil {
		return err
	}
	defer os.Remove(options.Name())
	_, err = options.Write(settings)
	if err := errors.Join(err, options.Close()); err != nil {
		return err
	}
	args := []string{
		"--quiet", "--mode=root", "--variant=apt", "--format=tar", "--include=" + strings.Join(debianPackages, ","), "--aptopt=" + options.Name(),
	}
	for _, files := range unwanted {
		args = append(args, "--dpkgopt=path-exclude="+files)
	}
	_, err = output(ctx, "", "mmdebstrap", append(args, release, path, sources)...)
	return err
}

// debianRelease is the name of this machine's.
func debianRelease() (string, error) {
	f, err := os.Open("/etc/os-release")
	if err != nil {
		return "", err
	}
	defer f.Close()
	said := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "=")
		said[name] = strings.Trim(value, `"`)
	}
	if said["ID"] != "debian" || said["VERSION_CODENAME"] == "" {
		return "", errors.New("Debian guests are built on Debian only")
	}
	return said["VERSION_CODENAME"], nil
}

// debianDisk makes the disk: the system with our changes, in one partition. No
// mount is needed for it.
func debianDisk(ctx context.Context, work, system, ignition, path string) error {
	root, ours, raw := filepath.Join(work, "root"), filepath.Join(work, "ours"), filepath.Join(work, "disk")
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	if err := os.CopyFS(ours, debianFiles); err != nil {
		return err
	}
	const firstSector, sector = 2048, 512
	layout := filepath.Join(work, "layout")
	if err := os.WriteFile(layout, []byte(fmt.Sprintf("label: gpt\n1 : start=%d, type=linux, name=root\n", firstSector)), 0o600); err != nil {
		return err
	}
	for _, step := range [][]string{
		{"tar", "--extract", "--numeric-owner", "--preserve-permissions", "--file=" + system, "--directory=" + root},
		{"cp", "--recursive", filepath.Join(ours, "debian", "overlay") + "/.", root},
		{"install", "--mode=755", ignition, filepath.Join(root, "usr/local/bin/ignition")},
		{"sh", filepath.Join(ours, "debian", "setup.sh"), root},
		{"truncate", fmt.Sprintf("--size=%dM", debianMiB), raw},
		{"sh", "-c", `exec sfdisk --quiet "$1" <"$2"`, "sh", raw, layout},
		// The last MiB has the other copy of the partition table.
		{"mke2fs", "-q", "-t", "ext4", "-L", "root", "-d", root, "-E", fmt.Sprintf("offset=%d,root_owner=0:0", firstSector*sector), raw, fmt.Sprintf("%dM", debianMiB-2)},
		{"qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, path},
	} {
		if _, err := output(ctx, "", step[0], step[1:]...); err != nil {
			return err
		}
	}
	return nil
}
