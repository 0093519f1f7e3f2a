package pvesim

import (
	"archive/tar"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"testing"
)

// qcow2Image describes an image with nothing but a first cluster in it.
type qcow2Image struct {
	size       int64
	version    uint32
	backing    bool
	dataFile   bool
	first      []byte // the disk's first bytes
	compressed bool
}

// bytes writes the image: header, L1 table, L2 table and data, a cluster of
// 64 KiB each.
func (q qcow2Image) bytes() []byte {
	const cluster = 64 << 10
	be := binary.BigEndian
	b := make([]byte, 4*cluster)
	copy(b, "QFI\xfb")
	be.PutUint32(b[4:], max(q.version, 3))
	if q.backing {
		be.PutUint64(b[8:], 104)
		be.PutUint32(b[16:], 4)
		copy(b[104:], "base")
	}
	be.PutUint32(b[20:], 16)
	be.PutUint64(b[24:], uint64(q.size))
	be.PutUint32(b[36:], 1)
	be.PutUint64(b[40:], cluster)
	if q.dataFile {
		be.PutUint64(b[72:], 4)
	}
	if q.first == nil {
		return b
	}
	be.PutUint64(b[cluster:], 2*cluster|1<<63)
	if !q.compressed {
		be.PutUint64(b[2*cluster:], 3*cluster|1<<63)
		copy(b[3*cluster:], q.first)
		return b
	}
	var z bytes.Buffer
	w, _ := flate.NewWriter(&z, flate.BestCompression)
	w.Write(append(q.first, make([]byte, cluster-len(q.first))...))
	w.Close()
	be.PutUint64(b[2*cluster:], 3*cluster|1<<62)
	copy(b[3*cluster:], z.Bytes())
	return b
}

// bootable is a first sector that boots.
func bootable() []byte {
	sector := make([]byte, 512)
	sector[510], sector[511] = 0x55, 0xaa
	return sector
}

// tarball writes an archive of name, content pairs.
func tarball(files ...string) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w.WriteHeader(&tar.Header{Name: files[i], Size: int64(len(files[i+1])), Mode: 0o644})
		w.Write([]byte(files[i+1]))
	}
	w.Close()
	return b.Bytes()
}

func TestImagesTellWhatIsInThem(t *testing.T) {
	vmdk := make([]byte, 1024)
	copy(vmdk, "KDMV")
	binary.LittleEndian.PutUint64(vmdk[12:], 8<<20)
	descriptor := []byte("# Disk DescriptorFile\ncreateType=\"twoGbMaxExtentFlat\"\nRW 100 FLAT \"a\" 0\nRW 28 FLAT \"b\" 0\n")
	for _, c := range []struct {
		reason, format string
		data           []byte
		want           imageInfo
	}{
		{"an empty qcow2", "", qcow2Image{size: 1 << 30}.bytes(), imageInfo{format: "qcow2", size: 1 << 30}},
		{"a qcow2 with a boot sector", "qcow2", qcow2Image{size: 1 << 30, first: bootable()}.bytes(), imageInfo{format: "qcow2", size: 1 << 30, bootable: true}},
		{"a compressed one", "qcow2", qcow2Image{size: 1 << 30, first: bootable(), compressed: true}.bytes(), imageInfo{format: "qcow2", size: 1 << 30, bootable: true}},
		{"data that doesn't boot", "qcow2", qcow2Image{size: 1 << 30, first: []byte("x")}.bytes(), imageInfo{format: "qcow2", size: 1 << 30}},
		{"raw", "raw", append(bootable(), 1), imageInfo{format: "raw", size: 1024, bootable: true}},
		{"qcow2 taken for raw", "raw", qcow2Image{size: 1}.bytes(), imageInfo{format: "raw", size: 256 << 10}},
		{"nothing", "", nil, imageInfo{format: "raw"}},
		{"a VMDK", "", vmdk, imageInfo{format: "vmdk", size: 4 << 30, extents: 1, bootable: true}},
		{"a VMDK of two files", "vmdk", descriptor, imageInfo{format: "vmdk", size: 64 << 10, extents: 2, bootable: true}},
	} {
		got, err := probeImage(bytes.NewReader(c.data), int64(len(c.data)), c.format)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v %v, want %+v", c.reason, got, err, c.want)
		}
	}
}
