package image

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// debianPackages are those that are asked for; others come with them. There is
// no kernel: the tiny guest's starts it, with its modules.
var debianPackages = strings.Fields(`systemd-sysv udev dbus kmod iproute2 procps sudo
	cloud-init cloud-guest-utils qemu-guest-agent openssh-server e2fsprogs fdisk gdisk`)

// unwanted is what of packages is left out.
var unwanted = strings.Fields(`/usr/share/man/* /usr/share/locale/* /usr/share/doc/* /usr/share/info/*`)

// debianFiles is what is changed in Debian: files that are added, and a script.
//
//go:embed debian node
var debianFiles embed.FS

// debianMiB is the size of the disk. The rest of it is for guests that have no
// more.
const debianMiB = 1024

// Debian builds a disk with this machine's Debian release: systemd, cloud-init,
// QEMU's guest agent and an SSH server from its packages, and Ignition. The tiny
// guest starts it when the kernel is told tiny.root=/dev/sda1. Only root can
// build it.
func Debian(ctx context.Context, ignition string, say io.Writer) (path string, err error) {
	return system{
		name: "debian", packages: debianPackages, overlays: []string{"debian"}, mib: debianMiB,
		programs: map[string]string{ignition: "usr/local/bin/ignition"},
	}.build(ctx, say)
}

// system is a Debian that is built.
type system struct {
	name     string // of the file
	packages []string
	overlays []string          // folders beside this file: each has an overlay and a setup.sh
	programs map[string]string // where they are in the guest, by where they are here
	files    map[string]string // further files by where they are in the guest
	modules  []string          // of the kernel
	mib      int
}

// build makes its disk.
func (s system) build(ctx context.Context, say io.Writer) (path string, err error) {
	if os.Geteuid() != 0 {
		return "", errors.New("only root can build a Debian guest")
	}
	archive, err := debianSystem(ctx, s.name, s.packages, say)
	if err != nil {
		return "", err
	}
	parts := []string{filepath.Base(archive), fmt.Sprint(s.mib)}
	for _, program := range slices.Sorted(maps.Keys(s.programs)) {
		id, err := fileKey(program)
		if err != nil {
			return "", err
		}
		parts = append(parts, id, s.programs[program])
	}
	for _, file := range slices.Sorted(maps.Keys(s.files)) {
		parts = append(parts, file, s.files[file])
	}
	var kernel string
	if len(s.modules) > 0 {
		if kernel, err = kernelPackage(ctx); err != nil {
			return "", err
		}
		parts = append(parts, append(s.modules, filepath.Base(kernel))...)
	}
	for _, folder := range s.overlays {
		err = fs.WalkDir(debianFiles, folder, func(path string, d fs.DirEntry, err error) error {
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
	}
	return once(s.name+"-"+key(parts...)+".qcow2", func(path string) error {
		work, err := os.MkdirTemp("", s.name+"-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(work)
		return s.disk(ctx, work, archive, kernel, path)
	})
}

// debianSystem is an archive of the installed packages.
func debianSystem(ctx context.Context, name string, packages []string, say io.Writer) (string, error) {
	release, err := debianRelease()
	if err != nil {
		return "", err
	}
	parts := append([]string{release}, unwanted...)
	sums, err := checksums(ctx, packages...)
	if err != nil {
		return "", err
	}
	for _, one := range packages {
		parts = append(parts, one, sums[one])
	}
	return once(name+"-"+key(parts...)+".tar", func(path string) error {
		fmt.Fprintf(say, "installing Debian %s for guests from its packages: some minutes, once\n", release)
		began := time.Now()
		if err := bootstrap(ctx, release, packages, path); err != nil {
			return err
		}
		fmt.Fprintf(say, "  installed in %s\n", time.Since(began).Round(time.Second))
		return nil
	})
}

// bootstrap installs the packages, which come from where this machine's come
// from.
func bootstrap(ctx context.Context, release string, packages []string, path string) error {
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
		"--quiet", "--mode=root", "--variant=apt", "--format=tar", "--include=" + strings.Join(packages, ","), "--aptopt=" + options.Name(),
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

// disk makes the disk: the system with our changes, in one partition. No mount is needed for it.
func (s system) disk(ctx context.Context, work, archive, kernel, path string) error {
	root, ours, raw := filepath.Join(work, "root"), filepath.Join(work, "ours"), filepath.Join(work, "disk")
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	if err := os.CopyFS(ours, debianFiles); err != nil {
		return err
	}
	if _, err := output(ctx, "", "tar", "--extract", "--numeric-owner", "--preserve-permissions", "--file="+archive, "--directory="+root); err != nil {
		return err
	}
	for file, text := range s.files {
		file = filepath.Join(root, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	if err := s.installModules(ctx, root, kernel); err != nil {
		return err
	}
	var steps [][]string
	for from, to := range s.programs {
		steps = append(steps, []string{"install", "--mode=755", "-D", from, filepath.Join(root, to)})
	}
	for _, folder := range s.overlays {
		steps = append(steps,
			[]string{"cp", "--recursive", filepath.Join(ours, folder, "overlay") + "/.", root},
			[]string{"sh", filepath.Join(ours, folder, "setup.sh"), root})
	}
	const firstSector, sector = 2048, 512
	layout := filepath.Join(work, "layout")
	if err := os.WriteFile(layout, []byte(fmt.Sprintf("label: gpt\n1 : start=%d, type=linux, name=root\n", firstSector)), 0o600); err != nil {
		return err
	}
	steps = append(steps,
		[]string{"truncate", fmt.Sprintf("--size=%dM", s.mib), raw},
		[]string{"sh", "-c", `exec sfdisk --quiet "$1" <"$2"`, "sh", raw, layout},
		// The last MiB has the other copy of the partition table.
		[]string{"mke2fs", "-q", "-t", "ext4", "-L", "root", "-d", root, "-E", fmt.Sprintf("offset=%d,root_owner=0:0", firstSector*sector), raw, fmt.Sprintf("%dM", s.mib-2)},
		[]string{"qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, path})
	for _, step := range steps {
		if _, err := output(ctx, "", step[0], step[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// installModules puts modules where the system looks for them when it needs them.
func (s system) installModules(ctx context.Context, root, deb string) error {
	if len(s.modules) == 0 {
		return nil
	}
	k, err := readKernel(ctx, deb, s.modules)
	if err != nil {
		return err
	}
	name, err := depends(ctx, "linux-image-amd64", "linux-image-")
	if err != nil {
		return err
	}
	release := strings.TrimPrefix(name, "linux-image-")
	folder := filepath.Join(root, "lib/modules", release)
	if err := os.MkdirAll(filepath.Join(folder, "kernel"), 0o755); err != nil {
		return err
	}
	for file, data := range k.modules {
		if err := os.WriteFile(filepath.Join(folder, "kernel", file), data, 0o644); err != nil {
			return err
		}
	}
	_, err = output(ctx, "", "chroot", root, "depmod", release)
	return err
}
