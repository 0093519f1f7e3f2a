package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	backend "github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/fat32"
	"github.com/diskfs/go-diskfs/partition/gpt"
)

// UEFIDisk is a disk that a UEFI boots the tiny guest from: Debian's boot loader
// and kernel, which are signed, so that it does with Secure Boot as well.
func UEFIDisk(ctx context.Context, commandLine string) (path string, err error) {
	initrd, err := TinyInitrd(ctx)
	if err != nil {
		return "", err
	}
	from := []string{initrd}
	for _, get := range []func() (string, error){
		func() (string, error) { return kernelPackage(ctx) },
		func() (string, error) { return Package(ctx, "shim-signed") },
		func() (string, error) { return Package(ctx, "grub-efi-amd64-signed") },
	} {
		deb, err := get()
		if err != nil {
			return "", err
		}
		from = append(from, deb)
	}
	keys := []string{commandLine}
	for _, file := range from {
		k, err := fileKey(file)
		if err != nil {
			return "", err
		}
		keys = append(keys, k)
	}
	return once("uefi-"+key(keys...)+".raw", func(path string) error {
		all, err := bootFiles(ctx, commandLine, from[0], from[1], from[2], from[3])
		if err != nil {
			return err
		}
		return writeESP(path, all)
	})
}

// bootFiles are those of the partition that a UEFI boots from. The first boot
// loader is where every UEFI looks; it starts the second, which is beside it and
// looks where Debian has its settings.
func bootFiles(ctx context.Context, commandLine, initrd, kernelDeb, shimDeb, grubDeb string) (map[string][]byte, error) {
	all := map[string][]byte{
		"/EFI/debian/grub.cfg": fmt.Appendf(nil, "linux /vmlinuz %s\ninitrd /initrd\nboot\n", commandLine),
	}
	for name, take := range map[string]struct{ deb, file string }{
		"/EFI/BOOT/BOOTX64.EFI": {shimDeb, "shimx64.efi.signed"},
		"/EFI/BOOT/grubx64.efi": {grubDeb, "x86_64-efi-signed/grubx64.efi.signed"},
	} {
		found, err := files(ctx, take.deb, func(name string) bool { return strings.HasSuffix(name, "/"+take.file) })
		if err != nil {
			return nil, err
		}
		for _, data := range found {
			all[name] = data
		}
		if all[name] == nil {
			return nil, fmt.Errorf("no %s in %s", take.file, take.deb)
		}
	}
	var err error
	if all["/vmlinuz"], err = kernelFile(ctx, kernelDeb); err != nil {
		return nil, err
	}
	all["/initrd"], err = os.ReadFile(initrd)
	return all, err
}

// writeESP writes a disk with one partition, for a UEFI to boot from.
func writeESP(file string, all map[string][]byte) (err error) {
	const size, sector, first, last = 96 << 20, 512, 2048, 96<<20/512 - 2048
	d, err := backend.CreateFromPath(file, size)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	raw, err := d.Writable()
	if err != nil {
		return err
	}
	table := &gpt.Table{
		LogicalSectorSize: sector, ProtectiveMBR: true,
		Partitions: []*gpt.Partition{{Index: 1, Start: first, End: last, Type: gpt.EFISystemPartition, Name: "EFI"}},
	}
	if err := table.Write(raw, size); err != nil {
		return err
	}
	esp, err := fat32.Create(d, (last-first+1)*sector, first*sector, sector, "EFI", true)
	if err != nil {
		return err
	}
	for name, data := range all {
		if err := esp.Mkdir(path.Dir(name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		f, err := esp.OpenFile(name, os.O_CREATE|os.O_RDWR)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, err := f.Write(data); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}
