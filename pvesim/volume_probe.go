package pvesim

import (
	"archive/tar"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
	"regexp"
	"strings"
)

// imageInfo is what qemu-img tells of a disk image.
type imageInfo struct {
	format   string
	size     int64 // of the disk inside
	backing  bool  // it stands on another file
	dataFile bool  // its data is in another file
	extents  int   // of a VMDK
	bootable bool  // the disk's first sector is a boot sector
}

// probeImage reads the head of an image as qemu-img info does; format ""
// finds out what it is.
func probeImage(r io.ReaderAt, fileSize int64, format string) (imageInfo, error) {
	head := make([]byte, 4096)
	n, err := r.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return imageInfo{}, err
	}
	clear(head[n:])
	isQcow2 := bytes.HasPrefix(head, []byte("QFI\xfb"))
	isVMDK := bytes.HasPrefix(head, []byte("KDMV")) || bytes.HasPrefix(head, []byte("COWD")) || bytes.HasPrefix(head, []byte("# Disk DescriptorFile"))
	switch {
	case format == "qcow2", format == "" && isQcow2:
		return probeQcow2(r, head)
	case format == "vmdk", format == "" && isVMDK:
		return probeVMDK(head)
	}
	info := imageInfo{format: "raw", size: (fileSize + 511) / 512 * 512}
	info.bootable = bootSector(head[:512])
	return info, nil
}

// bootSector reports whether a disk that begins like this can boot.
func bootSector(sector []byte) bool {
	return len(sector) == 512 && sector[510] == 0x55 && sector[511] == 0xaa
}

func probeQcow2(r io.ReaderAt, head []byte) (imageInfo, error) {
	be := binary.BigEndian
	info := imageInfo{format: "qcow2"}
	version := be.Uint32(head[4:])
	switch bits := be.Uint32(head[20:]); {
	case !bytes.HasPrefix(head, []byte("QFI\xfb")):
		return info, errors.New("Image is not in qcow2 format")
	case version < 2 || version > 3:
		return info, errors.New("Unsupported qcow2 version " + itoa(int(version)))
	case bits < 9 || bits > 21:
		return info, errors.New("Unsupported cluster size: 2^" + itoa(int(bits)))
	}
	info.size = int64(be.Uint64(head[24:]))
	info.backing = be.Uint64(head[8:]) != 0
	info.dataFile = version == 3 && be.Uint64(head[72:])&4 != 0
	info.bootable = bootSector(qcow2FirstSector(r, head))
	return info, nil
}

// qcow2FirstSector reads the disk's first sector out of a qcow2 image, nil
// when there is none.
func qcow2FirstSector(r io.ReaderAt, head []byte) []byte {
	be := binary.BigEndian
	clusterBits := be.Uint32(head[20:])
	const offsetMask = 0x00fffffffffffe00
	entry := make([]byte, 8)
	if _, err := r.ReadAt(entry, int64(be.Uint64(head[40:]))); err != nil {
		return nil
	}
	l2 := int64(be.Uint64(entry) & offsetMask)
	if l2 == 0 {
		return nil
	}
	if _, err := r.ReadAt(entry, l2); err != nil {
		return nil
	}
	desc := be.Uint64(entry)
	sector := make([]byte, 512)
	if desc&(1<<62) != 0 {
		// Compressed: an offset of 62 - (cluster bits - 8) bits, deflated.
		at := int64(desc & (1<<(62-(clusterBits-8)) - 1))
		_, err := io.ReadFull(flate.NewReader(io.NewSectionReader(r, at, 1<<clusterBits+512)), sector)
		if err != nil {
			return nil
		}
		return sector
	}
	at := int64(desc & offsetMask)
	if at == 0 || desc&1 != 0 {
		return nil
	}
	if n, _ := r.ReadAt(sector, at); n < 512 {
		return nil
	}
	return sector
}

var (
	vmdkType   = regexp.MustCompile(`(?m)^\s*createType\s*=`)
	vmdkExtent = regexp.MustCompile(`(?m)^\s*RW\s+(\d+)\s`)
)

func probeVMDK(head []byte) (imageInfo, error) {
	le := binary.LittleEndian
	// People bring VMDKs from elsewhere, with something on them.
	info := imageInfo{format: "vmdk", extents: 1, bootable: true}
	switch {
	case bytes.HasPrefix(head, []byte("KDMV")):
		info.size = int64(le.Uint64(head[12:])) * 512
		return info, nil
	case bytes.HasPrefix(head, []byte("COWD")):
		info.size = int64(le.Uint32(head[12:])) * 512
		return info, nil
	case !vmdkType.Match(head):
		return info, errors.New("invalid VMDK image descriptor")
	}
	extents := vmdkExtent.FindAllSubmatch(head, -1)
	info.extents = len(extents)
	for _, e := range extents {
		info.size += int64(atoi(string(e[1]))) * 512
	}
	return info, nil
}

// checkImage is what Proxmox makes of a file that somebody sends as a disk
// image: readable as what its name says, and in need of no other file.
func checkImage(path string, r io.ReaderAt, fileSize int64, format string, logf func(string, ...any)) (imageInfo, error) {
	info, err := probeImage(r, fileSize, format)
	if err != nil {
		arg := ""
		if format != "" {
			arg = " -f " + format
		}
		logf("command '/usr/bin/qemu-img info '--output=json' %s%s' failed: exit code 1", path, arg)
		return info, die("qemu-img: Could not open '%s': %v", path, err)
	}
	switch {
	case info.dataFile:
		return info, die("%s: 'data-file' references are not allowed!", path)
	case info.extents > 1:
		return info, die("%s: multiple children or extents are not allowed!", path)
	case info.backing:
		return info, die("backing file not allowed for untrusted image '%s'!", path)
	}
	return info, nil
}

// checkOVA makes sure that a file is an archive with a description inside.
func checkOVA(path string, r io.Reader, logf func(string, ...any)) error {
	archive := tar.NewReader(r)
	found, empty := false, true
	for {
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			if empty {
				logf("tar: This does not look like a tar archive")
			}
			logf("tar: Exiting with failure status due to previous errors")
			return die("command 'tar -t -f %s' failed: exit code 2", path)
		}
		empty = false
		found = found || strings.HasSuffix(h.Name, ".ovf")
	}
	if !found {
		return die("ova archive has no .ovf file inside")
	}
	return nil
}

// packedImage looks at an image inside an OVA.
func packedImage(r io.Reader, name, format string) (imageInfo, error) {
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if err != nil {
			return imageInfo{}, err
		}
		if h.Name != name {
			continue
		}
		head, err := io.ReadAll(io.LimitReader(archive, 1<<20))
		if err != nil {
			return imageInfo{}, err
		}
		return probeImage(bytes.NewReader(head), h.Size, format)
	}
}
