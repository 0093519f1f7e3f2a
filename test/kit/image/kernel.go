package image

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"
)

// modules are what guests need that isn't built into Debian's kernel.
var modules = strings.Fields(`virtio_pci virtio_console virtio_blk virtio_scsi sd_mod sr_mod sym53c8xx virtio_net virtio_balloon
	ata_piix ahci isofs 9pnet_virtio 9p virtiofs qemu_fw_cfg ext4 crc32c_generic af_packet button evdev`)

// kernel is Debian's, with the modules in the order to load them.
type kernel struct {
	vmlinuz []byte
	order   []string          // file names
	modules map[string][]byte // by file name
}

// readKernel takes a kernel out of its package, with some of its modules.
func readKernel(ctx context.Context, deb string, modules []string) (*kernel, error) {
	all, err := files(ctx, deb, func(name string) bool {
		return strings.HasPrefix(name, "boot/vmlinuz") || strings.Contains(name, "lib/modules/") && strings.Contains(name, ".ko")
	})
	if err != nil {
		return nil, err
	}
	k := &kernel{modules: map[string][]byte{}}
	byName := map[string]string{} // of modules: where they are
	for name, data := range all {
		base := path.Base(name)
		if strings.HasPrefix(base, "vmlinuz") {
			k.vmlinuz = data
			continue
		}
		module, _, _ := strings.Cut(base, ".ko")
		byName[strings.ReplaceAll(module, "-", "_")] = name
	}
	if k.vmlinuz == nil {
		return nil, fmt.Errorf("no kernel in %s", deb)
	}
	for _, name := range modules {
		if err := k.add(ctx, name, byName, all); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// add adds a module after those that it depends on.
func (k *kernel) add(ctx context.Context, name string, byName map[string]string, all map[string][]byte) error {
	file := name + ".ko"
	if _, done := k.modules[file]; done {
		return nil
	}
	where, ok := byName[name]
	if !ok {
		return nil // built in
	}
	data, err := unpack(ctx, all[where])
	if err != nil {
		return fmt.Errorf("module %s: %w", name, err)
	}
	k.modules[file] = data
	needs, err := dependencies(data)
	if err != nil {
		return fmt.Errorf("module %s: %w", name, err)
	}
	for _, dep := range needs {
		if err := k.add(ctx, dep, byName, all); err != nil {
			return err
		}
	}
	k.order = append(k.order, file)
	return nil
}

// dependencies are the modules that a module names.
func dependencies(module []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(module))
	if err != nil {
		return nil, err
	}
	section := f.Section(".modinfo")
	if section == nil {
		return nil, errors.New("no .modinfo")
	}
	info, err := section.Data()
	if err != nil {
		return nil, err
	}
	var list []string
	for _, entry := range strings.Split(string(info), "\x00") {
		// "softdep" names what is looked for by name while it runs.
		if names, ok := strings.CutPrefix(entry, "depends="); ok {
			for _, n := range strings.Split(names, ",") {
				if n != "" {
					list = append(list, strings.ReplaceAll(n, "-", "_"))
				}
			}
		}
	}
	return list, nil
}

// packers are the programs that undo a compression, by its first bytes.
var packers = []struct{ magic, program string }{
	{"\xfd7zXZ\x00", "xz"}, {"\x28\xb5\x2f\xfd", "zstd"}, {"\x02\x21\x4c\x18", "lz4"}, {"\x1f\x8b\x08", "gzip"},
}

// unpack undoes whatever compression data have.
func unpack(ctx context.Context, data []byte) ([]byte, error) {
	for _, p := range packers {
		if bytes.HasPrefix(data, []byte(p.magic)) {
			return decompress(ctx, p.program, data)
		}
	}
	return data, nil
}

// decompress runs a program on data. What comes after the end of the packed
// part makes it fail, and is no matter here.
func decompress(ctx context.Context, program string, data []byte) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, "-dc")
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.Output()
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	return out, nil
}

// vmlinux is the kernel without its compression: a guest that is emulated
// takes long to undo it.
func (k *kernel) vmlinux(ctx context.Context) ([]byte, error) {
	for _, p := range packers {
		for rest := k.vmlinuz; ; {
			at := bytes.Index(rest, []byte(p.magic))
			if at < 0 {
				break
			}
			out, err := decompress(ctx, p.program, rest[at:])
			if err == nil && bytes.HasPrefix(out, []byte(elf.ELFMAG)) {
				return out, nil
			}
			rest = rest[at+1:]
		}
	}
	return nil, errors.New("no ELF file found in the kernel's image")
}

// Kernel builds the uncompressed kernel of this machine's Debian release.
func Kernel(ctx context.Context) (path string, err error) {
	deb, err := kernelPackage(ctx)
	if err != nil {
		return "", err
	}
	id, err := fileKey(deb)
	if err != nil {
		return "", err
	}
	return once("vmlinux-"+id, func(path string) error {
		k, err := readKernel(ctx, deb, nil)
		if err != nil {
			return err
		}
		data, err := k.vmlinux(ctx)
		if err != nil {
			return err
		}
		return os.WriteFile(path, data, 0o644)
	})
}

// kernelFile is the kernel as its package has it.
func kernelFile(ctx context.Context, deb string) ([]byte, error) {
	found, err := files(ctx, deb, func(name string) bool { return strings.HasPrefix(name, "boot/vmlinuz") })
	if err != nil {
		return nil, err
	}
	for _, data := range found {
		return data, nil
	}
	return nil, fmt.Errorf("no kernel in %s", deb)
}

// KernelConfig returns what Debian's kernel was built with, as its package has it in /boot, and the name of that file.
func KernelConfig(ctx context.Context) (name string, text []byte, err error) {
	deb, err := kernelPackage(ctx)
	if err != nil {
		return "", nil, err
	}
	found, err := files(ctx, deb, func(name string) bool { return strings.HasPrefix(name, "boot/config-") })
	if err != nil {
		return "", nil, err
	}
	for name, text := range found {
		return path.Base(name), text, nil
	}
	return "", nil, fmt.Errorf("no config in %s", deb)
}

func kernelPackage(ctx context.Context) (string, error) {
	name, err := depends(ctx, "linux-image-amd64", "linux-image-")
	if err != nil {
		return "", err
	}
	return Package(ctx, name)
}
