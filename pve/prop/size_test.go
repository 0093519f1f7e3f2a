package prop_test

import (
	"testing"

	"github.com/proxplane/proxplane/pve/prop"
)

func TestSizesAreReadAndWrittenInTheUnitsOfProxmox(t *testing.T) {
	cases := []struct {
		text  string
		bytes prop.Size
		print string
	}{
		{"32G", 32 * prop.GiB, "32G"},
		{"528K", 528 * prop.KiB, "528K"},
		{"1088M", 1088 * prop.MiB, "1088M"},
		{"1024M", prop.GiB, "1G"},
		{"1024G", prop.TiB, "1T"},
		{"1.5G", prop.GiB * 3 / 2, "1536M"},
		{"0.1G", 107374182, "107374182"},
		{"1GiB", prop.GiB, "1G"},
		{"1023", 1023, "1023"},
		{"1024", 1024, "1K"},
		{"0", 0, "0T"},
		{"0G", 0, "0T"},
		{"8388607T", 8388607 * prop.TiB, "8388607T"},
		{"9223372036854775807", 1<<63 - 1, "9223372036854775807"},
	}
	for _, c := range cases {
		got, err := prop.ParseSize(c.text)
		if err != nil || got != c.bytes || got.String() != c.print {
			t.Errorf("%s: got %d, %s, %v; want %d, %s", c.text, int64(got), got, err, int64(c.bytes), c.print)
		}
	}
	for _, bad := range []string{"", "G", "1g", "1B", "1iB", "1P", "-1G", "+1G", "1,5G", " 1G", "1G ", "1e3", ".5G", "5.G", "8388608T", "9223372036854775808", "99999999999.9T", "1G\n"} {
		if got, err := prop.ParseSize(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}

func TestNewVolumesAreAskedForInGiB(t *testing.T) {
	for size, want := range map[prop.Size]string{
		0:                    "nfs:0",
		32 * prop.GiB:        "nfs:32",
		prop.GiB * 9 / 2:     "nfs:4.5",
		4 * prop.MiB:         "nfs:0.00390625",
		2 * prop.TiB:         "nfs:2048",
		prop.TiB + 512:       "nfs:1024.0000004768372",
		100*prop.GiB + 1<<20: "nfs:100.0009765625",
	} {
		file := prop.NewVolume("nfs", size)
		if file != want {
			t.Errorf("%v: got %s, want %s", size, file, want)
		}
		storage, got, ok := prop.Disk{File: file}.New()
		if !ok || storage != "nfs" || got != size {
			t.Errorf("%s: got %v on %s, %v; want %v", file, got, storage, ok, size)
		}
	}
}
